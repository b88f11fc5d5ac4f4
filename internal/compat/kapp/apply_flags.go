package kapp

import (
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/muster-deploy/muster/internal/sets/app"
)

// applyFlags are the flags for making changes and waiting for them.
type applyFlags struct {
	applyIgnored    bool
	applyTimeout    time.Duration
	applyInterval   time.Duration
	applyAtOnce     int
	updateStrategy  string
	earlyApplyError bool

	wait            bool
	waitIgnored     bool
	waitTimeout     time.Duration
	resourceTimeout time.Duration
	waitInterval    time.Duration
	waitAtOnce      int
	earlyWaitError  bool

	holdUnready bool
	mode        string
	exitStatus  bool

	prefix string // of the names of all flags
}

// add adds the flags, with a prefix that ends with a hyphen or is empty. A deletion waits for
// ignored changes by default.
func (f *applyFlags) add(cmd *cobra.Command, prefix string, deletes bool) {
	f.prefix = prefix
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	f.addChanges(flags, deletes)
	f.addWaiting(flags, deletes)
	flags.VisitAll(func(flag *pflag.Flag) {
		flag.Name = prefix + flag.Name
		cmd.Flags().AddFlag(flag)
	})
}

// addChanges adds the flags for making changes.
func (f *applyFlags) addChanges(flags *pflag.FlagSet, deletes bool) {
	flags.BoolVar(&f.applyIgnored, "apply-ignored", false, "Set to apply ignored changes")
	flags.DurationVar(
		&f.applyTimeout, "apply-timeout", 15*time.Minute,
		"Maximum amount of time to wait in apply phase",
	)
	flags.DurationVar(
		&f.applyInterval, "apply-check-interval", time.Second, "Amount of time to sleep between applies",
	)
	flags.IntVar(
		&f.applyAtOnce, "apply-concurrency", 0,
		"Maximum number of concurrent apply operations; 0 leaves it to the program",
	)
	flags.StringVar(
		&f.updateStrategy, "apply-default-update-strategy", "", "Change default update strategy",
	)
	flags.BoolVar(
		&f.earlyApplyError, "exit-early-on-apply-error", true, "Exit quickly on apply failure",
	)
	if !deletes {
		flags.StringVar(
			&f.mode, "apply-mode", modeUpdate, "How resources are written: update, or server-side (apply)",
		)
	}
	flags.BoolVar(
		&f.exitStatus, "apply-exit-status", false,
		"Return specific exit status based on number of changes",
	)
}

// addWaiting adds the flags for waiting until objects are ready or gone.
func (f *applyFlags) addWaiting(flags *pflag.FlagSet, deletes bool) {
	flags.BoolVar(&f.wait, "wait", true, "Set to wait for changes to be applied")
	flags.BoolVar(
		&f.waitIgnored, "wait-ignored", deletes, "Set to wait for ignored changes to be applied",
	)
	flags.DurationVar(
		&f.waitTimeout, "wait-timeout", 15*time.Minute, "Maximum amount of time to wait in wait phase",
	)
	flags.DurationVar(
		&f.resourceTimeout, "wait-resource-timeout", 0,
		"Maximum amount of time to wait for a resource in wait phase (0s means no timeout)",
	)
	flags.DurationVar(
		&f.waitInterval, "wait-check-interval", 3*time.Second, "Ignored: what is waited for is watched",
	)
	flags.IntVar(&f.waitAtOnce, "wait-concurrency", 5, "Ignored: watching takes no turns")
	flags.BoolVar(
		&f.earlyWaitError, "exit-early-on-wait-error", true, "Exit quickly on wait failure",
	)
	flags.BoolVar(
		&f.holdUnready, "wait-unchanged-dependencies", false,
		"Set to have unchanged resources that are not ready hold back what comes after them",
	)
}

// The values of --apply-mode.
const (
	modeUpdate     = "update"
	modeServerSide = "server-side"
)

// merges reports whether changes are made by server-side apply.
func (f *applyFlags) merges() bool { return f.mode == modeServerSide }

// deployFlags are the flags of deploy alone.
type deployFlags struct {
	allowCheck, allowAllNs, allowCluster bool
	allowNs                              []string
	intoNs                               string
	mapNs                                []string

	patch, allowEmpty bool
	adopts            bool
	adoptsAtOnce      int
	overrides         bool
	adoptFrom         []string
	defaultScoping    bool
	changesToKeep     int
	logs, logsAll     bool
	metadataFile      string
	allKinds          bool
}

func (f *deployFlags) add(cmd *cobra.Command) {
	f.addNamespaces(cmd.Flags())
	f.addObjects(cmd.Flags())
	f.addRecord(cmd.Flags())
}

// addNamespaces adds the flags for the namespaces that resources may have and get.
func (f *deployFlags) addNamespaces(flags *pflag.FlagSet) {
	flags.BoolVar(&f.allowCheck, "allow-check", false, "Enable client-side allowing")
	flags.StringSliceVar(
		&f.allowNs, "allow-ns", nil,
		"Set allowed namespace for resources (does not apply to the app itself)",
	)
	flags.BoolVar(
		&f.allowAllNs, "allow-all-ns", false,
		"Set to allow all namespaces for resources (does not apply to the app itself)",
	)
	flags.BoolVar(
		&f.allowCluster, "allow-cluster", false,
		"Set to allow cluster level for resources (does not apply to the app itself)",
	)
	flags.StringVar(&f.intoNs, "into-ns", "", "Place resources into namespace")
	flags.StringSliceVar(
		&f.mapNs, "map-ns", nil,
		"Map resources from one namespace into another (could be specified multiple times)",
	)
}

// addObjects adds the flags for the objects that a deployment finds, adopts and deletes.
func (f *deployFlags) addObjects(flags *pflag.FlagSet) {
	flags.BoolVarP(
		&f.patch, "patch", "p", false, "Add or update existing resources only, never delete any",
	)
	flags.BoolVar(
		&f.allowEmpty, "dangerous-allow-empty-list-of-resources", false,
		"Allow to apply empty set of resources (same as running kapp delete)",
	)
	flags.BoolVar(
		&f.adopts, "existing-non-labeled-resources-check", true,
		"Find and consider existing non-labeled resources in diff",
	)
	flags.IntVar(
		&f.adoptsAtOnce, "existing-non-labeled-resources-check-concurrency", 100,
		"Ignored: they are read by kind and namespace",
	)
	flags.BoolVar(
		&f.overrides, "dangerous-override-ownership-of-existing-resources", false,
		"Steal existing resources from another app",
	)
	flags.StringSliceVar(
		&f.adoptFrom, "dangerous-ownership-override-allowed-apps", nil,
		"Specify existing apps in the same namespace that existing resources can be stolen from",
	)
	flags.BoolVar(
		&f.defaultScoping, "default-label-scoping-rules", true, "Use default label scoping rules",
	)
	flags.BoolVar(
		&f.allKinds, "dangerous-disable-gk-scoping", false,
		"Disable scoping of resource searching to used GroupKinds",
	)
}

// addRecord adds the flags for the records of deployments and for logs.
func (f *deployFlags) addRecord(flags *pflag.FlagSet) {
	flags.IntVar(
		&f.changesToKeep, "app-changes-max-to-keep", app.ChangesToKeep,
		"Maximum number of app changes to keep",
	)
	flags.BoolVar(&f.logs, "logs", true, "Show logs from Pods annotated as "+
		"'kapp.k14s.io/deploy-logs'")
	flags.BoolVar(&f.logsAll, "logs-all", false, "Show logs from all Pods")
	flags.StringVar(
		&f.metadataFile, "app-metadata-file-output", "", "Set filename to write app metadata",
	)
}
