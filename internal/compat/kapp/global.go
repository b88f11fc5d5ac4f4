package kapp

import (
	"fmt"
	"net"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/muster-deploy/muster/internal/base/plaintext"
)

// globalFlags are the flags of every command.
type globalFlags struct {
	color, json, yes, debug, warnings bool
	columns                           []string
}

func (f *globalFlags) add(flags *pflag.FlagSet) {
	flags.BoolVar(&f.color, "color", true, "Set color output")
	flags.BoolVar(&f.json, "json", false, "Output as JSON")
	flags.BoolVarP(&f.yes, "yes", "y", false, "Assume yes for any prompt")
	flags.StringSliceVar(&f.columns, "column", nil, "Filter to show only given columns")
	flags.BoolVar(&f.debug, "debug", false, "Include debug output")
	flags.BoolVar(&f.warnings, "warnings", true, "Show warnings")
}

// clusterFlags are the flags that find the cluster for the program called kapp. The native
// commands have kubectl's flags.
type clusterFlags struct {
	path, context, text string
}

func (f *clusterFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.path, "kubeconfig", "", "Path to the kubeconfig file ($KAPP_KUBECONFIG)")
	flags.StringVar(
		&f.context,
		"kubeconfig-context",
		"",
		"Kubeconfig context override ($KAPP_KUBECONFIG_CONTEXT)",
	)
	flags.StringVar(
		&f.text,
		"kubeconfig-yaml",
		"",
		"Kubeconfig contents as YAML ($KAPP_KUBECONFIG_YAML)",
	)
}

// addIgnored adds the flags of kapp that have no effect, so that its command lines work.
func addIgnored(flags *pflag.FlagSet) {
	flags.Float32("kube-api-qps", 1000, "Set Kubernetes API client QPS limit")
	flags.Int("kube-api-burst", 1000, "Set Kubernetes API client burst limit")
}

// configError begins errors about the configuration of the cluster.
const configError = "Building Kubernetes config"

// apply configures how the cluster is found: by the flags, else by the environment, else by
// kubectl's rules.
func (f *clusterFlags) apply(p *program) error {
	path, context := p.flagOrEnv(
		f.path,
		"KAPP_KUBECONFIG",
	), p.flagOrEnv(
		f.context,
		"KAPP_KUBECONFIG_CONTEXT",
	)
	text := p.flagOrEnv(f.text, "KAPP_KUBECONFIG_YAML")
	if text != "" {
		config, err := clientcmd.NewClientConfigFromBytes([]byte(p.expandService(text)))
		if err != nil {
			return fmt.Errorf("Parsing kubeconfig YAML: %w", plaintext.HideYAML(err))
		}
		p.kube.SetConfig(config, configError+" (explicit config given)")
		return nil
	}
	if path == "" && context == "" && p.kube.UseFlags(configError) {
		return nil
	}
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = path
	p.kube.SetConfig(
		clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
			rules,
			&clientcmd.ConfigOverrides{CurrentContext: context},
		),
		configError,
	)
	return nil
}

// flagOrEnv returns the value of a flag or, if it is empty, of a variable of the environment.
func (p *program) flagOrEnv(value, variable string) string {
	if value != "" {
		return value
	}
	return p.env.Getenv(variable)
}

// expandService replaces the variable of a kubeconfig for the address of the cluster in which the
// program runs.
func (p *program) expandService(text string) string {
	address := p.env.Getenv("KUBERNETES_SERVICE_HOST")
	if port := p.env.Getenv("KUBERNETES_SERVICE_PORT"); port != "" {
		address = net.JoinHostPort(address, port)
	}
	return strings.ReplaceAll(text, "${KAPP_KUBERNETES_SERVICE_HOST_PORT}", address)
}
