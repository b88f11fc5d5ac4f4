// Package packageflags holds what the native commands of packages and those of kpt live have in
// common: flags and what they mean, and the commands that are the same in both.
package packageflags

import (
	"errors"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-deploy/muster/internal/base/limit"
	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/sets/operation"
	"github.com/muster-deploy/muster/internal/sets/packages"
	"github.com/muster-deploy/muster/internal/sets/policy"
)

// PlanFlags are the flags that shape the plan of a package.
type PlanFlags struct {
	ServerSide        bool
	ForceConflicts    bool
	FieldManager      string
	PruneAfterFailure bool
	Adoption          cli.Choice
	Propagation       cli.Choice
	Ordering          cli.Choice
}

// NewPlanFlags returns the flags with defaults.
func NewPlanFlags(ordering string, pruneAfterFailure bool) PlanFlags {
	return PlanFlags{
		FieldManager: policy.DefaultManager, PruneAfterFailure: pruneAfterFailure,
		Adoption: Adoptions(), Propagation: Propagations("prune propagation policy"),
		Ordering: Orderings(ordering),
	}
}

// Add adds the flags to a command.
func (f *PlanFlags) Add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&f.ServerSide, "server-side", false,
		"If true, apply runs in the server instead of the client")
	flags.BoolVar(&f.ForceConflicts, "force-conflicts", false,
		"If true, server-side apply will force the changes against conflicts")
	flags.StringVar(&f.FieldManager, "field-manager", f.FieldManager,
		"Name of the manager used to track field ownership")
	flags.BoolVar(&f.PruneAfterFailure, "prune-after-failure", f.PruneAfterFailure,
		"Prune even if an object failed or was not ready in time")
	f.Ordering.AddTo(cmd, "ordering",
		"When to write objects: as soon as their dependencies are ready, or in waves")
	f.Adoption.AddTo(cmd, "inventory-policy", "Which existing objects may be adopted")
	f.Propagation.AddTo(cmd, "prune-propagation-policy",
		"Deletion propagation policy of pruned objects")
}

// Waves reports whether objects are written in waves.
func (f *PlanFlags) Waves() bool { return f.Ordering.Value == "waves" }

// Options returns the options that shape the plan.
func (f *PlanFlags) Options() policy.Options {
	return policy.Options{
		ServerSide: f.ServerSide, ForceConflicts: f.ForceConflicts, FieldManager: f.FieldManager,
		InventoryPolicy: f.Adoption.Value, Propagation: metav1.DeletionPropagation(f.Propagation.Value),
		PruneAfterFailure: f.PruneAfterFailure, Ordering: f.Ordering.Value,
	}
}

// SetOptions sets the flags to the options of a saved plan.
func (f *PlanFlags) SetOptions(o policy.Options) {
	f.ServerSide, f.ForceConflicts, f.FieldManager = o.ServerSide, o.ForceConflicts, o.FieldManager
	f.Adoption.Value, f.Propagation.Value = o.InventoryPolicy, string(o.Propagation)
	f.PruneAfterFailure, f.Ordering.Value = o.PruneAfterFailure, o.Ordering
}

// ApplyFlags are the flags of apply, beside those that shape the plan.
type ApplyFlags struct {
	PlanFlags
	Install          bool
	InstallGiven     bool // the user typed --install-resource-group
	FailFast         bool
	LogLines         int
	RuleFiles        []string
	Lock             cli.LockFlags
	ReconcileTimeout time.Duration
	PruneTimeout     time.Duration
	Statuses         bool
	StatusPolicy     cli.Choice
}

// Add adds the flags to a command.
func (f *ApplyFlags) Add(cmd *cobra.Command) {
	f.PlanFlags.Add(cmd)
	f.StatusPolicy = StatusPolicies()
	flags := cmd.Flags()
	flags.BoolVar(&f.Install, "install-resource-group", true,
		"Install the ResourceGroup CRD if it is missing; in a dry run only if set")
	flags.DurationVar(&f.ReconcileTimeout, "reconcile-timeout", 0,
		"Time to wait for an applied object to become ready; 0 means no limit")
	flags.DurationVar(&f.PruneTimeout, "prune-timeout", 0,
		"Time to wait for a pruned object to be deleted; 0 means no limit")
	flags.BoolVar(&f.FailFast, "fail-fast", false,
		"Stop at the first object that fails or cannot start (bad image, crash loop, unschedulable)")
	f.Lock.Add(flags)
	cli.AddLogLines(cmd, &f.LogLines)
	cli.AddRules(cmd, &f.RuleFiles)
	flags.BoolVar(&f.Statuses, "show-status-events", false,
		"Print every status change of an object")
	f.StatusPolicy.AddTo(cmd, "status-policy",
		"Whether to store the status of each object in the inventory")
}

// Check returns an error for invalid flags; output is the choice of the output format.
func (f *ApplyFlags) Check(output ...*cli.Choice) error {
	err := cli.CheckChoices(append(append([]*cli.Choice{
		&f.Propagation, &f.Adoption, &f.StatusPolicy}, output...), &f.Ordering)...)
	if err != nil {
		return err
	}
	return errors.Join(
		cli.CheckTimeout("reconcile-timeout", f.ReconcileTimeout),
		cli.CheckTimeout("prune-timeout", f.PruneTimeout), cli.CheckLogLines(f.LogLines),
	)
}

// Definition returns the policy for the definition of records. A dry run installs it only if the
// flag was set.
func (f *ApplyFlags) Definition(dryRun bool) operation.DefinitionPolicy {
	switch {
	case dryRun && (!f.Install || !f.InstallGiven):
		return operation.SkipDefinition
	case f.Install:
		return operation.InstallDefinition
	default:
		return operation.RequireDefinition
	}
}

// ApplyOptions returns the options of a package; notice receives lines for the user.
func (f *ApplyFlags) ApplyOptions(dryRun bool, notice func(string)) operation.ApplyOptions {
	return operation.ApplyOptions{
		Options: f.Options(), Definition: f.Definition(dryRun),
		NoStatuses: f.StatusPolicy.Value == "none", Notice: notice,
	}
}

// RunOptions returns how the flags want the plan to be run. Without causes they are looked for only
// if they end the run. A flag that is 0 is without limit, as kpt live has it.
func (f *ApplyFlags) RunOptions(mode engine.DryRun, causes bool) engine.Options {
	return engine.Options{
		DryRun: mode,
		Limits: engine.Limits{
			Apply: limit.OfFlag(f.ReconcileTimeout), Delete: limit.OfFlag(f.PruneTimeout),
			Stall: limit.None(), PerWave: f.Waves(),
		},
		StopOn:   engine.StopOn{WriteError: f.FailFast, WaitError: f.FailFast, Stuck: f.FailFast},
		NoCauses: !causes && !f.FailFast,
		GiveUp:   causes,
		LogLines: f.LogLines,
	}
}

// AddRoot adds the flag for the folder that confines the bases of kustomizations.
func AddRoot(flags *pflag.FlagSet, root *string) {
	flags.StringVar(root, "root", "", "Folder that bases of kustomizations may not leave (default: "+
		"the git work tree of the package; without one the working folder if it holds the package, "+
		"else the package)")
}

// Input returns the package that an argument of kpt live names, whose kustomization does not leave
// a root.
func Input(env *cli.Env, arg, root string) packages.Input {
	return packages.Input{
		Folder: arg, Stream: env.In, Notice: env.Notice, AsKpt: true, Root: packages.Root{Dir: root},
	}
}

// Adoptions returns the choice of --inventory-policy. The functions below return the choices that
// several commands have.
func Adoptions() cli.Choice {
	return cli.Choice{
		Value: "strict", Meaning: "inventory policy",
		Allowed: []string{"strict", "adopt", "force-adopt"},
	}
}

// StatusPolicies returns the choice of --status-policy.
func StatusPolicies() cli.Choice {
	return cli.Choice{Value: "all", Meaning: "status policy", Allowed: []string{"none", "all"}}
}

// Propagations returns the choice of a deletion propagation policy; what names it in errors. No
// value is that of policy.Options.
func Propagations(what string) cli.Choice {
	return cli.Choice{
		Meaning: what, Allowed: []string{"Background", "Foreground", "Orphan"},
		Default: "Background, but Foreground for workloads, to wait for their pods",
	}
}

// Orderings returns the choice of --ordering.
func Orderings(value string) cli.Choice {
	return cli.Choice{Value: value, Meaning: "ordering", Allowed: []string{"graph", "waves"}}
}
