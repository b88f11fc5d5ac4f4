package cli

import (
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/object"
)

// traceLevel is the verbosity from which requests are shown, as in kubectl.
const traceLevel = 6

// Kube finds the cluster by kubectl's rules: the flags, else KUBECONFIG, else the file in the home folder.
type Kube struct {
	env       *Env
	flags     clusterFlags
	loader    clientcmd.ClientConfig // what the flags or Load make of the kubeconfig; nil until it is needed
	failing   string                 // begins errors of what was loaded; empty if the flags are obeyed
	verbosity int
	sources   map[object.Ref]string // of the objects that are written, as far as they are known
}

func newKube(env *Env) *Kube { return &Kube{env: env} }

func (k *Kube) addFlags(flags *pflag.FlagSet) {
	k.flags.add(flags)
	flags.IntVarP(&k.verbosity, "v", "v", 0, "verbosity; from 6 on every request is shown on stderr")
}

// SetConfig has the cluster found as a configuration says, instead of by the flags. Errors of it begin with failing.
func (k *Kube) SetConfig(config clientcmd.ClientConfig, failing string) {
	k.loader, k.failing = config, failing
}

func (k *Kube) config() clientcmd.ClientConfig {
	if k.loader == nil {
		k.loader = k.flags.loader()
	}
	return k.loader
}

// Namespace is the namespace of the flags or else of the context, and whether it was given by flag. What can be the name of
// no namespace is an error.
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
		return "", false, fmt.Errorf("the context of the kubeconfig has the namespace %q: %s", namespace, problems[0])
	}
	return namespace, explicit, nil
}

// Client gives a client for the cluster that shows the server's warnings on the standard error. It sends nothing.
func (k *Kube) Client() (*cluster.Client, error) { return k.Connect(cluster.Options{Warn: k.warn()}) }

// Connect gives a client for the cluster with the options, but for its name. It sends nothing. What the options do not trace is
// shown on the standard error where -v asks for it.
func (k *Kube) Connect(options cluster.Options) (*cluster.Client, error) {
	config, err := k.config().ClientConfig()
	if err == nil {
		err = k.checkFound()
	}
	if err != nil {
		return nil, k.unreadable(err)
	}
	options.UserAgent, options.CacheDir = "muster/"+Version(), k.flags.keep()
	if options.Trace == nil && k.verbosity >= traceLevel {
		options.Trace = trace(k.env.Err)
	}
	return cluster.New(config, options)
}

// unreadable is the error of a kubeconfig that cannot be used. The library has several texts for a context that is not there.
func (k *Kube) unreadable(err error) error {
	if k.failing != "" && clientcmd.IsEmptyConfig(err) {
		err = fmt.Errorf("%w (hint: looked in %s; set KUBECONFIG, or give --kubeconfig)", err, k.lookedIn())
	}
	if k.failing != "" {
		return fmt.Errorf("%s: %w", k.failing, err)
	}
	if clientcmd.IsContextNotFound(err) && k.flags.overrides.CurrentContext != "" {
		err = fmt.Errorf("context %q does not exist", k.flags.overrides.CurrentContext)
	}
	return fmt.Errorf("read the kubeconfig: %w", err)
}

// checkFound refuses to go on with the library's last resort, a server on this machine, when nothing names a cluster.
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
	return fmt.Errorf("it names no cluster (looked in %s); set KUBECONFIG, or give --kubeconfig or --server", k.lookedIn())
}

// lookedIn are the files in which the cluster is looked for.
func (k *Kube) lookedIn() string {
	return strings.Join(k.config().ConfigAccess().GetLoadingPrecedence(), ", ")
}

// SetSources has warnings about objects name the file and document that describe them, as sources has it. It is called before
// anything is written.
func (k *Kube) SetSources(sources map[object.Ref]string) { k.sources = sources }

// warn shows each warning of the server once for each object that it is about.
func (k *Kube) warn() cluster.Warn {
	var mu sync.Mutex
	shown := map[string]bool{}
	return func(about object.Ref, text string) {
		line := "Warning: " + text
		if about != (object.Ref{}) {
			line = fmt.Sprintf("Warning: %s: %s", about, text)
		}
		if source := k.sources[about]; source != "" {
			line = fmt.Sprintf("Warning: %s (%s): %s", about, source, text)
		}
		mu.Lock()
		defer mu.Unlock()
		if !shown[line] {
			shown[line] = true
			fmt.Fprintln(k.env.Err, line)
		}
	}
}

// trace writes a line per request.
func trace(out io.Writer) func(cluster.Request) {
	var mu sync.Mutex
	return func(r cluster.Request) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintln(out, r)
	}
}
