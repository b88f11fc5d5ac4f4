package cmd

import (
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/muster-deploy/muster/internal/apps"
	"github.com/muster-deploy/muster/internal/apps/filter"
	"github.com/muster-deploy/muster/internal/ready"
)

// appFlags name an app and the namespaces that matter to it.
type appFlags struct {
	namespace    string
	name         string
	appNamespace string
}

func (f *appFlags) add(cmd *cobra.Command) {
	addNamespace(cmd, &f.namespace)
	cmd.Flags().StringVarP(&f.name, "app", "a", "", "Set app name (or label selector) (format: name, label:key=val, !key)")
	addAppNamespace(cmd, &f.appNamespace)
}

func addNamespace(cmd *cobra.Command, namespace *string) {
	cmd.Flags().StringVarP(namespace, "namespace", "n", "", "Specified namespace ($KAPP_NAMESPACE or default from kubeconfig)")
}

func addAppNamespace(cmd *cobra.Command, namespace *string) {
	cmd.Flags().StringVar(namespace, "app-namespace", "", "Set app namespace (to store app state)")
}

// fileFlags name the manifests.
type fileFlags struct {
	files []string
	sort  bool
}

func (f *fileFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringSliceVarP(&f.files, "file", "f", nil, "Set file (format: /tmp/foo, https://..., -) (can be specified multiple times)")
	cmd.Flags().BoolVar(&f.sort, "sort", true, "Sort by namespace, name, etc.")
}

// diffFlags say how changes are shown, and what comes after.
type diffFlags struct {
	run, exitStatus, page      bool
	summary, changes, asYAML   bool
	context                    int
	numbers, mask, lastApplied bool
	filter                     string
	anchored                   bool
}

// add gives a command the flags, with a prefix that ends with a hyphen, or none.
func (f *diffFlags) add(cmd *cobra.Command, prefix string) {
	flags := cmd.Flags()
	flags.BoolVar(&f.run, prefix+"run", false, "Show diff and exit successfully without any further action")
	flags.BoolVar(&f.exitStatus, prefix+"exit-status", false, "Return specific exit status based on number of changes")
	flags.BoolVar(&f.page, prefix+"ui-alpha", false, "Serve the graph of changes to a browser, and wait")
	flags.BoolVar(&f.summary, prefix+"summary", true, "Show diff summary")
	flags.BoolVarP(&f.changes, prefix+"changes", "c", false, "Show changes")
	flags.BoolVar(&f.asYAML, prefix+"changes-yaml", false, "Print YAML to be applied")
	flags.IntVar(&f.context, prefix+"context", 2, "Show number of lines around changed lines; negative for all")
	flags.BoolVar(&f.numbers, prefix+"line-numbers", true, "Show line numbers")
	flags.BoolVar(&f.mask, prefix+"mask", true, "Apply masking rules")
	flags.BoolVar(&f.lastApplied, prefix+"against-last-applied", true, "Show changes against last applied copy when possible")
	flags.StringVar(&f.filter, prefix+"filter", "", `Set changes filter (example: {"and":[{"ops":["update"]},{"existingResource":{"kinds":["Deployment"]}}]})`)
	flags.BoolVar(&f.anchored, prefix+"anchored", false, "Show changes by anchored diff if there are more than 500 lines")
}

// filterFlags narrow the resources that are looked at.
type filterFlags struct{ filter.Flags }

func (f *filterFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.Age, "filter-age", "", "Set age filter (example: 5m+, 500h-, 10m-)")
	for _, list := range []struct {
		to         *[]string
		name, help string
	}{
		{&f.Kinds, "kind", "Set kinds filter (example: Pod) (can repeat)"},
		{&f.Namespaces, "ns", "Set namespace filter (example: knative-serving) (can repeat)"},
		{&f.Names, "name", "Set name filter (example: controller) (can repeat)"},
		{&f.KindNames, "kind-name", "Set kind-name filter (example: Pod/controller) (can repeat)"},
		{&f.KindNamespaces, "kind-ns", "Set kind-namespace filter (example: Pod/, Pod/knative-serving) (can repeat)"},
		{&f.KindNsNames, "kind-ns-name", "Set kind-namespace-name filter (example: Deployment/knative-serving/controller) (can repeat)"},
		{&f.Labels, "labels", "Set label filter (example: x=y)"},
	} {
		flags.StringSliceVar(list.to, "filter-"+list.name, nil, list.help)
	}
	flags.StringVar(&f.JSON, "filter", "", `Set filter (example: {"and":[{"not":{"resource":{"kinds":["Secret"]}}},{"resource":{"kinds":["ConfigMap"]}}]})`)
}

// applyFlags say how changes are carried out and waited for.
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

	// of the native commands alone
	failFast  bool
	logLines  int
	ruleFiles []string
	userRules *ready.RuleSet // read from the files by check

	prefix string // of the names of all
}

// add gives a command the flags, with a prefix that ends with a hyphen, or none. On a deletion ignored changes are waited for.
func (f *applyFlags) add(cmd *cobra.Command, prefix string, deletes bool) {
	f.prefix = prefix
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.BoolVar(&f.applyIgnored, "apply-ignored", false, "Set to apply ignored changes")
	flags.DurationVar(&f.applyTimeout, "apply-timeout", 15*time.Minute, "Maximum amount of time to wait in apply phase")
	flags.DurationVar(&f.applyInterval, "apply-check-interval", time.Second, "Amount of time to sleep between applies")
	flags.IntVar(&f.applyAtOnce, "apply-concurrency", 0, "Maximum number of concurrent apply operations; 0 leaves it to the program")
	flags.StringVar(&f.updateStrategy, "apply-default-update-strategy", "", "Change default update strategy")
	flags.BoolVar(&f.earlyApplyError, "exit-early-on-apply-error", true, "Exit quickly on apply failure")

	flags.BoolVar(&f.wait, "wait", true, "Set to wait for changes to be applied")
	flags.BoolVar(&f.waitIgnored, "wait-ignored", deletes, "Set to wait for ignored changes to be applied")
	flags.DurationVar(&f.waitTimeout, "wait-timeout", 15*time.Minute, "Maximum amount of time to wait in wait phase")
	flags.DurationVar(&f.resourceTimeout, "wait-resource-timeout", 0, "Maximum amount of time to wait for a resource in wait phase (0s means no timeout)")
	flags.DurationVar(&f.waitInterval, "wait-check-interval", 3*time.Second, "Passed over: what is waited for is watched")
	flags.IntVar(&f.waitAtOnce, "wait-concurrency", 5, "Passed over: watching takes no turns")
	flags.BoolVar(&f.earlyWaitError, "exit-early-on-wait-error", true, "Exit quickly on wait failure")

	flags.BoolVar(&f.holdUnready, "wait-unchanged-dependencies", false, "Set to have unchanged resources that are not ready hold back what comes after them")
	if !deletes {
		flags.StringVar(&f.mode, "apply-mode", modeUpdate, "How resources are written: update, or server-side (apply)")
	}
	flags.BoolVar(&f.exitStatus, "apply-exit-status", false, "Return specific exit status based on number of changes")
	flags.VisitAll(func(flag *pflag.Flag) {
		flag.Name = prefix + flag.Name
		cmd.Flags().AddFlag(flag)
	})
}

// addNative adds the flags that only the native commands have, in the words of the commands of packages.
func (f *applyFlags) addNative(p *program, cmd *cobra.Command) {
	if !p.native {
		return
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.failFast, "fail-fast", false, "Stop at the first object that fails or cannot start (bad image, crash loop, unschedulable)")
	flags.IntVar(&f.logLines, "log-lines", defaultLogLines, "Number of lines to print from the log of a container that failed")
	flags.StringArrayVar(&f.ruleFiles, "ready-rules", nil, "File with rules that say when objects are ready (can repeat)")
}

// defaultLogLines is the default of --log-lines.
const defaultLogLines = 3

// The values of --apply-mode.
const (
	modeUpdate     = "update"
	modeServerSide = "server-side"
)

// merges reports whether the server merges what is sent into what there is.
func (f *applyFlags) merges() bool { return f.mode == modeServerSide }

// deployFlags are those of deploy alone.
type deployFlags struct {
	allowCheck, allowAllNs, allowCluster bool
	allowNs                              []string
	intoNs                               string
	mapNs                                []string

	patch, allowEmpty bool
	adopts            bool
	adoptsAtOnce      int
	overrides         bool
	defaultScoping    bool
	changesToKeep     int
	logs, logsAll     bool
	metadataFile      string
	allKinds          bool
}

func (f *deployFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&f.allowCheck, "allow-check", false, "Enable client-side allowing")
	flags.StringSliceVar(&f.allowNs, "allow-ns", nil, "Set allowed namespace for resources (does not apply to the app itself)")
	flags.BoolVar(&f.allowAllNs, "allow-all-ns", false, "Set to allow all namespaces for resources (does not apply to the app itself)")
	flags.BoolVar(&f.allowCluster, "allow-cluster", false, "Set to allow cluster level for resources (does not apply to the app itself)")
	flags.StringVar(&f.intoNs, "into-ns", "", "Place resources into namespace")
	flags.StringSliceVar(&f.mapNs, "map-ns", nil, "Map resources from one namespace into another (could be specified multiple times)")
	flags.BoolVarP(&f.patch, "patch", "p", false, "Add or update existing resources only, never delete any")
	flags.BoolVar(&f.allowEmpty, "dangerous-allow-empty-list-of-resources", false, "Allow to apply empty set of resources (same as running kapp delete)")
	flags.BoolVar(&f.adopts, "existing-non-labeled-resources-check", true, "Find and consider existing non-labeled resources in diff")
	flags.IntVar(&f.adoptsAtOnce, "existing-non-labeled-resources-check-concurrency", 100, "Passed over: they are read by kind and namespace")
	flags.BoolVar(&f.overrides, "dangerous-override-ownership-of-existing-resources", false, "Steal existing resources from another app")
	flags.BoolVar(&f.defaultScoping, "default-label-scoping-rules", true, "Use default label scoping rules")
	flags.IntVar(&f.changesToKeep, "app-changes-max-to-keep", apps.ChangesToKeep, "Maximum number of app changes to keep")
	flags.BoolVar(&f.logs, "logs", true, "Show logs from Pods annotated as 'kapp.k14s.io/deploy-logs'")
	flags.BoolVar(&f.logsAll, "logs-all", false, "Show logs from all Pods")
	flags.StringVar(&f.metadataFile, "app-metadata-file-output", "", "Set filename to write app metadata")
	flags.BoolVar(&f.allKinds, "dangerous-disable-gk-scoping", false, "Disable scoping of resource searching to used GroupKinds")
}

// kindFlags say how kinds and namespaces are found.
type kindFlags struct {
	ignoreFailing bool // broken API services
	onlyFallback  bool // resources are looked for in the namespaces of the last change alone
}

func (f *kindFlags) options() apps.SearchOptions {
	return apps.SearchOptions{IgnoreFailing: f.ignoreFailing, OnlyFallback: f.onlyFallback}
}

func (f *kindFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&f.ignoreFailing, "dangerous-ignore-failing-api-services", false, "Allow to ignore failing APIServices")
	flags.BoolVar(&f.onlyFallback, "dangerous-scope-to-fallback-allowed-namespaces", false, "Scope resource searching to fallback allowed namespaces")
}
