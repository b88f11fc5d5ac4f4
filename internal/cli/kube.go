package cli

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/muster-deploy/muster/internal/base/plaintext"
	"github.com/muster-deploy/muster/internal/base/suggest"
	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/object"
)

// traceLevel is the verbosity that shows requests, as in kubectl.
const traceLevel = 6

// Kube connects to the cluster that kubectl's rules select: the flags, else KUBECONFIG, else the
// file in the home folder.
type Kube struct {
	env       *Env
	flags     clusterFlags
	loader    clientcmd.ClientConfig // nil until first used
	failing   string                 // prefix of errors of SetConfig's configuration
	verbosity int
	given     bool                  // parseLeading found flags for the cluster
	sources   map[object.Ref]string // files and documents of objects

	omitted map[string]bool // warnings that are not printed

	warning sync.Mutex
	warned  map[string]bool // lines that were printed
}

func newKube(env *Env) *Kube {
	k := &Kube{env: env}
	env.kube = k
	return k
}

func (k *Kube) addFlags(flags *pflag.FlagSet) {
	k.flags.add(flags)
	flags.IntVarP(
		&k.verbosity, "v", "v", 0, "log level verbosity; 6 and above print every request on stderr",
	)
}

// parseLeading parses the flags before the first other argument, and returns the rest.
func (k *Kube) parseLeading(args []string) ([]string, error) {
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.SetInterspersed(false)
	k.addFlags(flags)
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	flags.Visit(func(flag *pflag.Flag) { k.given = k.given || flag.Name != "v" })
	return flags.Args(), nil
}

// UseFlags reports whether flags before the name of a program say which cluster is used. If so,
// errors about the configuration begin with failing.
func (k *Kube) UseFlags(failing string) bool {
	if k.given {
		k.failing = failing
	}
	return k.given
}

// SetConfig replaces the configuration of the flags. Its errors begin with failing.
func (k *Kube) SetConfig(config clientcmd.ClientConfig, failing string) {
	k.loader, k.failing = config, failing
}

func (k *Kube) config() clientcmd.ClientConfig {
	if k.loader == nil {
		k.loader = k.flags.loader()
	}
	return k.loader
}

// Namespace returns the namespace of the flags or else of the context, and whether a flag set it.
// An invalid name is an error.
func (k *Kube) Namespace() (namespace string, explicit bool, err error) {
	namespace, _, err = k.config().Namespace()
	if err != nil {
		return "", false, k.unreadable(err)
	}
	explicit = k.flags.overrides.Context.Namespace != ""
	problems := validation.IsDNS1123Label(namespace)
	switch {
	case len(problems) > 0 && explicit:
		return "", false, fmt.Errorf("--namespace %q: %s", namespace, problems[0])
	case len(problems) > 0:
		return "", false, fmt.Errorf(
			"the context of the kubeconfig has the namespace %q: %s", namespace, problems[0],
		)
	}
	return namespace, explicit, nil
}

// NamespaceFlag returns the value of --namespace, or an empty string.
func (k *Kube) NamespaceFlag() (string, error) {
	namespace, explicit, err := k.Namespace()
	if err != nil || !explicit {
		return "", err
	}
	return namespace, nil
}

// GivenFlags returns the flags of the command that choose the cluster, the user and the namespace,
// for another command. A token is omitted: it is a secret.
func (k *Kube) GivenFlags() (words []string) {
	if k.flags.overrides.Context.Namespace != "" {
		words = []string{"-n", k.flags.overrides.Context.Namespace}
	}
	return append(words, k.clusterFlags()...)
}

// clusterFlags returns the flags that choose the cluster and the user. Kubectl has them too.
func (k *Kube) clusterFlags() (words []string) {
	o := k.flags.overrides
	for _, flag := range []struct{ name, value string }{
		{"--context", o.CurrentContext}, {"--kubeconfig", k.flags.path},
		{"--cluster", o.Context.Cluster}, {"--user", o.Context.AuthInfo},
		{"--server", o.ClusterInfo.Server},
		{"--certificate-authority", o.ClusterInfo.CertificateAuthority},
		{"--tls-server-name", o.ClusterInfo.TLSServerName},
		{"--client-certificate", o.AuthInfo.ClientCertificate}, {"--client-key", o.AuthInfo.ClientKey},
		{"--as", o.AuthInfo.Impersonate}, {"--as-uid", o.AuthInfo.ImpersonateUID},
	} {
		if flag.value != "" {
			words = append(words, flag.name, flag.value)
		}
	}
	for _, group := range o.AuthInfo.ImpersonateGroups {
		words = append(words, "--as-group", group)
	}
	for _, extra := range k.flags.extra {
		words = append(words, "--as-user-extra", extra)
	}
	if o.ClusterInfo.InsecureSkipTLSVerify {
		words = append(words, "--insecure-skip-tls-verify")
	}
	return words
}

// Command returns a command of this program that users are advised to run: in the cluster and, if
// it names no other, in the namespace of this one.
func (e *Env) Command(words ...string) string {
	words = append([]string{e.Name()}, words...)
	if e.kube != nil {
		given := e.kube.GivenFlags()
		if slices.Contains(words, "-n") {
			given = e.kube.clusterFlags()
		}
		words = append(words, given...)
	}
	return shellCommand(words)
}

// Kubectl returns a command of kubectl that users are advised to run, in the cluster of this one.
func (e *Env) Kubectl(words ...string) string {
	return shellCommand(append([]string{"kubectl"}, append(words, e.ClusterFlags()...)...))
}

// ClusterFlags returns the flags of the command that choose the cluster and the user.
func (e *Env) ClusterFlags() []string {
	if e.kube == nil {
		return nil
	}
	return e.kube.clusterFlags()
}

// shellCommand returns a command as a shell reads it.
func shellCommand(words []string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = plaintext.ShellWord(word)
	}
	return strings.Join(quoted, " ")
}

// Client returns a client that prints the server's warnings on standard error. It sends no request.
func (k *Kube) Client() (*cluster.Client, error) {
	return k.Connect(cluster.Options{Warn: k.warn()})
}

// WriteClient returns a client like Client that prints only warnings about objects which are
// written. The search for the objects of an app lists all kinds, deprecated ones too.
func (k *Kube) WriteClient() (*cluster.Client, error) {
	warn := k.warn()
	return k.Connect(cluster.Options{Warn: func(about object.Ref, text string) {
		if about != (object.Ref{}) {
			warn(about, text)
		}
	}})
}

// Connect returns a client with the options and the user agent and cache of this program. With -v
// it prints requests on standard error, unless the options trace them. It sends no request.
func (k *Kube) Connect(options cluster.Options) (*cluster.Client, error) {
	config, err := k.config().ClientConfig()
	if err == nil {
		err = k.checkFound()
	}
	if err != nil {
		return nil, k.unreadable(err)
	}
	options.UserAgent, options.CacheDir = "muster/"+Version(), k.flags.cacheDir()
	options.AnswerTime = k.env.AnswerTime
	if options.Trace == nil && k.verbosity >= traceLevel {
		options.Trace = trace(k.env.Err)
	}
	return cluster.New(config, options)
}

// unreadable wraps the error of an unusable kubeconfig. The library has several texts for a missing
// context.
func (k *Kube) unreadable(err error) error {
	err = plaintext.HideYAML(err)
	if k.failing != "" && clientcmd.IsEmptyConfig(err) {
		if files := k.lookedIn(); files != "" {
			err = fmt.Errorf("%w (hint: looked in %s; set KUBECONFIG, or give --kubeconfig)", err, files)
		}
	}
	if k.failing != "" {
		return fmt.Errorf("%s: %w", k.failing, err)
	}
	if clientcmd.IsContextNotFound(err) && k.flags.overrides.CurrentContext != "" {
		err = k.noContext(k.flags.overrides.CurrentContext)
	}
	return fmt.Errorf("read the kubeconfig: %w", err)
}

// noContext returns the error for a context that does not exist, with those that do.
func (k *Kube) noContext(name string) error {
	text, files := fmt.Sprintf("context %q does not exist", name), k.lookedIn()
	raw, err := k.config().RawConfig()
	if err != nil || files == "" {
		return errors.New(text)
	}
	contexts, names := "none", slices.Sorted(maps.Keys(raw.Contexts))
	if len(names) > 0 {
		contexts = strings.Join(names, ", ")
	}
	return fmt.Errorf("%s (looked in %s, which has: %s)%s", text, files, contexts,
		suggest.Hint(name, names, ""))
}

// checkFound returns an error if nothing names a cluster. The library would then try a server on
// this machine.
func (k *Kube) checkFound() error {
	loader := k.config()
	raw, err := loader.RawConfig()
	if err != nil {
		return err
	}
	named := len(raw.Clusters) > 0 || k.flags.overrides.ClusterInfo.Server != ""
	if _, err := rest.InClusterConfig(); named || err == nil {
		return nil
	}
	return fmt.Errorf(
		"it names no cluster (looked in %s); set KUBECONFIG, or give --kubeconfig or --server",
		k.lookedIn(),
	)
}

// lookedIn returns the kubeconfig files that are read; empty if the configuration is not in files.
func (k *Kube) lookedIn() string {
	access := k.config().ConfigAccess()
	if access == nil {
		return ""
	}
	return strings.Join(access.GetLoadingPrecedence(), ", ")
}

// SetSources sets the file and document of objects, which warnings name. Call it before the first
// write.
func (k *Kube) SetSources(sources map[object.Ref]string) { k.sources = sources }

// OmitWarning omits a warning of the server about an object: another one says the same. Call it
// before the first write.
func (k *Kube) OmitWarning(about object.Ref, text string) {
	if k.omitted == nil {
		k.omitted = map[string]bool{}
	}
	k.omitted[about.String()+": "+text] = true
}

// warn prints each warning of the server once per object.
func (k *Kube) warn() cluster.Warn {
	return func(about object.Ref, text string) {
		if !k.omitted[about.String()+": "+text] {
			k.warnOnce(k.warningLine(about, k.sources[about], text))
		}
	}
}

// warningLine returns a warning about an object; that may be empty, and so may be its source.
func (k *Kube) warningLine(about object.Ref, source, text string) string {
	switch {
	case about == object.Ref{}:
		return "Warning: " + text
	case source != "":
		return fmt.Sprintf("Warning: %s (%s): %s", about, source, text)
	default:
		return fmt.Sprintf("Warning: %s: %s", about, text)
	}
}

// warnOnce prints a line unless it was printed before.
func (k *Kube) warnOnce(line string) {
	k.warning.Lock()
	defer k.warning.Unlock()
	if !k.warned[line] {
		if k.warned == nil {
			k.warned = map[string]bool{}
		}
		k.warned[line] = true
		fmt.Fprintln(k.env.Err, plaintext.Message(line))
	}
}

// WarnUnstored prints that the server does not store values of an object, by their paths, unless a
// warning of the server or of the validation has said so.
func (e *Env) WarnUnstored(about object.Ref, source string, paths []string) {
	k := e.kube
	if k == nil {
		return
	}
	paths = slices.DeleteFunc(slices.Clone(paths), func(path string) bool {
		text := fmt.Sprintf("unknown field %q", path)
		k.warning.Lock()
		defer k.warning.Unlock()
		return k.omitted[about.String()+": "+text] ||
			k.warned[k.warningLine(about, k.sources[about], text)]
	})
	if len(paths) > 0 {
		text := "the server does not store " + strings.Join(paths, ", ")
		k.warnOnce(k.warningLine(about, source, text))
	}
}

// Warn prints a warning about an object once.
func (e *Env) Warn(about object.Ref, source, text string) {
	if k := e.kube; k != nil {
		k.warnOnce(k.warningLine(about, source, text))
	}
}

// trace prints a line per request.
func trace(out io.Writer) func(cluster.Request) {
	var mu sync.Mutex
	return func(r cluster.Request) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintln(out, plaintext.Message(fmt.Sprint(r)))
	}
}
