package cmd

import (
	"fmt"
	"net"
	"os"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/muster-deploy/muster/internal/cli"
)

// globalFlags are those of every command.
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

// clusterFlags find the cluster for the program that is called kapp; muster's own commands have kubectl's flags.
type clusterFlags struct {
	path, context, text string
}

func (f *clusterFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.path, "kubeconfig", "", "Path to the kubeconfig file ($KAPP_KUBECONFIG)")
	flags.StringVar(&f.context, "kubeconfig-context", "", "Kubeconfig context override ($KAPP_KUBECONFIG_CONTEXT)")
	flags.StringVar(&f.text, "kubeconfig-yaml", "", "Kubeconfig contents as YAML ($KAPP_KUBECONFIG_YAML)")
}

// addPassedOver gives the flags of kapp that mean nothing here, so that commands that have them work.
func addPassedOver(flags *pflag.FlagSet) {
	flags.Float32("kube-api-qps", 1000, "Set Kubernetes API client QPS limit")
	flags.Int("kube-api-burst", 1000, "Set Kubernetes API client burst limit")
}

// unbuilt begins errors about the cluster's configuration.
const unbuilt = "Building Kubernetes config"

// apply has the cluster found as the flags say, or else the variables of the environment, or else kubectl's rules.
func (f *clusterFlags) apply(kube *cli.Kube) error {
	path, context, text := or(f.path, "KAPP_KUBECONFIG"), or(f.context, "KAPP_KUBECONFIG_CONTEXT"), or(f.text, "KAPP_KUBECONFIG_YAML")
	if text != "" {
		config, err := clientcmd.NewClientConfigFromBytes([]byte(withService(text)))
		if err != nil {
			return fmt.Errorf("Parsing kubeconfig YAML: %w", err)
		}
		kube.SetConfig(config, unbuilt)
		return nil
	}
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = path
	kube.SetConfig(clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: context}), unbuilt)
	return nil
}

// or gives a flag's value or, if it has none, that of a variable of the environment.
func or(value, variable string) string {
	if value != "" {
		return value
	}
	return os.Getenv(variable)
}

// withService puts the address of the cluster in which the program runs into a kubeconfig that asks for it.
func withService(text string) string {
	address := os.Getenv("KUBERNETES_SERVICE_HOST")
	if port := os.Getenv("KUBERNETES_SERVICE_PORT"); port != "" {
		address = net.JoinHostPort(address, port)
	}
	return strings.ReplaceAll(text, "${KAPP_KUBERNETES_SERVICE_HOST_PORT}", address)
}
