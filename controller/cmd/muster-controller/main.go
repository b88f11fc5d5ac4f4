// The program muster-controller keeps Sets in a cluster.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"
	_ "time/tzdata" // for windows: images without a system have no time zones

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/selection"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/muster-deploy/muster/controller/api/v1alpha1"
	"github.com/muster-deploy/muster/controller/internal/clusters"
	"github.com/muster-deploy/muster/controller/internal/gate"
	"github.com/muster-deploy/muster/controller/internal/members"
	"github.com/muster-deploy/muster/controller/internal/metrics"
	"github.com/muster-deploy/muster/controller/internal/reconcile"
	"github.com/muster-deploy/muster/controller/internal/run"
	"github.com/muster-deploy/muster/controller/internal/source"
)

// version is set when a release is built.
var version = "dev"

// shutdownTime is how long runs have to end when the process is asked to.
const shutdownTime = 35 * time.Second

// gcPercent lets garbage be collected twice as often as Go would, unless GOGC says otherwise: many
// runs at once make much of it.
const gcPercent = 50

// options are the flags.
type options struct {
	leaderElect           bool
	leaderNamespace       string
	metricsAddress        string
	probeAddress          string
	shard                 string
	defaultServiceAccount string
	namespaces            names
	artifactKinds         names
	concurrent            int
	perNamespace          int
	workDir               string
	memory                int64        // limit of the process, in bytes
	journal               *run.Journal // nil before it is opened
	log                   zap.Options
}

// fluxKinds are the kinds of sources of Flux.
var fluxKinds = names{
	"GitRepository.source.toolkit.fluxcd.io", "OCIRepository.source.toolkit.fluxcd.io",
	"Bucket.source.toolkit.fluxcd.io", "ExternalArtifact.source.toolkit.fluxcd.io",
}

// names is a flag that can be repeated.
type names []string

// String returns the names.
func (n *names) String() string { return strings.Join(*n, ",") }

// Set adds a name.
func (n *names) Set(name string) error {
	*n = append(*n, name)
	return nil
}

// add adds the flags to a set.
func (o *options) add(flags *flag.FlagSet) {
	flags.BoolVar(&o.leaderElect, "leader-elect", true,
		"Let one of several replicas work, by a Lease")
	flags.StringVar(&o.leaderNamespace, "leader-election-namespace", "",
		"Namespace of the Lease; default: that of the pod")
	flags.StringVar(&o.metricsAddress, "metrics-bind-address", ":8080",
		"Address of the metrics; 0 serves none")
	flags.StringVar(&o.probeAddress, "health-probe-bind-address", ":8081",
		"Address of /healthz and /readyz")
	flags.StringVar(&o.shard, "shard", "",
		"Keep the Sets with this value of the label "+v1alpha1.LabelShard+"; default: those without it")
	flags.StringVar(&o.defaultServiceAccount, "default-service-account", "",
		"Service account of Sets that name none, in their namespace")
	flags.Var(&o.namespaces, "namespace",
		"Namespace of the Sets that are kept (can repeat); default: all")
	flags.Var(&o.artifactKinds, "artifact-kind", "Kind of sources with an artifact, as KIND.GROUP "+
		"(can repeat); default: those of Flux")
	flags.IntVar(&o.concurrent, "concurrent", 16, "Number of Sets that plan or write at once")
	flags.IntVar(&o.perNamespace, "concurrent-per-namespace", 8, "The same of one namespace")
	flags.StringVar(&o.workDir, "work-dir", filepath.Join(os.TempDir(), "muster"),
		"Folder for the files of sources, and for the list of runs that are under way")
	o.log.BindFlags(flags)
}

func main() {
	o := options{}
	o.add(flag.CommandLine)
	show := flag.Bool("version", false, "Print the version")
	flag.Parse()
	if *show {
		fmt.Println("muster-controller " + version)
		return
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	o.memory = limitMemory(os.Getenv, cgroupFiles)
	ctrl.SetLogger(zap.New(zap.UseFlagOptions(&o.log)))
	err := o.run(ctrl.SetupSignalHandler())
	if o.journal != nil {
		err = errors.Join(err, o.journal.Close()) // the process has not crashed
	}
	if err != nil {
		ctrl.Log.Error(err, "muster-controller ends")
		os.Exit(1)
	}
}

// run runs the controller until the context ends.
func (o *options) run(ctx context.Context) error {
	mgr, err := o.manager()
	if err != nil {
		return err
	}
	if err := o.setUp(ctx, mgr); err != nil {
		return err
	}
	return mgr.Start(ctx)
}

// manager returns the manager, which has the clients, the caches and the election.
func (o *options) manager() (manager.Manager, error) {
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return nil, err
	}
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	config, err := ctrl.GetConfig()
	if err != nil {
		return nil, err
	}
	config.QPS, config.Burst = -1, -1 // the server has priorities and fairness of its own
	config.UserAgent = "muster-controller/" + version
	wait, election := shutdownTime, "muster-controller"
	if o.shard != "" {
		election += "-" + o.shard
	}
	cached := cache.Options{DefaultTransform: reconcile.Stripped}
	if len(o.namespaces) > 0 {
		cached.DefaultNamespaces = map[string]cache.Config{}
		for _, name := range o.namespaces {
			cached.DefaultNamespaces[name] = cache.Config{}
		}
	}
	selector, err := o.selector()
	if err != nil {
		return nil, err
	}
	cached.ByObject = map[client.Object]cache.ByObject{&v1alpha1.Set{}: {Label: selector}}
	return ctrl.NewManager(config, manager.Options{
		Scheme: scheme, Cache: cached,
		Client:                        client.Options{Cache: &client.CacheOptions{Unstructured: true}},
		Metrics:                       server.Options{BindAddress: o.metricsAddress},
		HealthProbeBindAddress:        o.probeAddress,
		LeaderElection:                o.leaderElect,
		LeaderElectionID:              election,
		LeaderElectionNamespace:       o.leaderNamespace,
		LeaderElectionReleaseOnCancel: true,
		GracefulShutdownTimeout:       &wait,
	})
}

// selector returns which Sets belong to the shard.
func (o *options) selector() (labels.Selector, error) {
	operator, values := selection.DoesNotExist, []string(nil)
	if o.shard != "" {
		operator, values = selection.Equals, []string{o.shard}
	}
	requirement, err := labels.NewRequirement(v1alpha1.LabelShard, operator, values)
	if err != nil {
		return nil, fmt.Errorf("invalid --shard: %w", err)
	}
	return labels.NewSelector().Add(*requirement), nil
}

// setUp adds the controller and the probes to a manager.
func (o *options) setUp(ctx context.Context, mgr manager.Manager) error {
	host, err := os.Hostname()
	if err != nil {
		return err
	}
	tool := "muster-controller " + version
	if len(o.artifactKinds) == 0 {
		o.artifactKinds = fluxKinds
	}
	counts := metrics.New(mgr.GetClient())
	r := &reconcile.Reconciler{
		Client: mgr.GetClient(), Reader: mgr.GetAPIReader(),
		Recorder: mgr.GetEventRecorder("muster-controller"),
		Shard:    o.shard, ArtifactKinds: o.artifactKinds, Counts: counts,
	}
	r.Members = members.New(r.Touched)
	r.Sources = &source.Fetcher{
		Reader: mgr.GetAPIReader(), Dir: filepath.Join(o.workDir, "sources"),
		UserAgent: "muster-controller/" + version,
	}
	journal, crashed, err := run.OpenJournal(filepath.Join(o.workDir, "running"))
	if err != nil {
		return err
	}
	o.journal = journal
	r.NoteCrashes(ctx, crashed)
	r.Runner = &run.Runner{
		Pool: clusters.NewPool(mgr.GetConfig(), mgr.GetAPIReader(), "muster-controller/"+version,
			counts.Request),
		Gate:    gate.New(o.concurrent, o.perNamespace, counts.Waited),
		Sources: r.Sources, Members: r.Members, Name: host, Tool: tool,
		BeforeWrite: r.BeforeWrite, BeforeDelete: r.BeforeDelete, Changed: r.Changed,
		DefaultServiceAccount: o.defaultServiceAccount,
		Bytes:                 gate.NewBytes(o.memory / 2), Journal: journal,
	}
	if err := r.SetUp(ctx, mgr); err != nil {
		return err
	}
	if err := mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
		<-ctx.Done()
		r.Runner.Wait()
		r.Members.Stop()
		return nil
	})); err != nil {
		return err
	}
	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return err
	}
	return mgr.AddReadyzCheck("caches", r.Ready(mgr))
}
