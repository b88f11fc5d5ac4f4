package packageflags

import (
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-deploy/muster/internal/base/limit"
	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/sets/operation"
	"github.com/muster-deploy/muster/internal/sets/policy"
)

// DestroyFlags are the flags of destroy.
type DestroyFlags struct {
	Lock          cli.LockFlags
	Statuses      bool
	DeleteTimeout time.Duration
	Adoption      cli.Choice
	StatusPolicy  cli.Choice
	Propagation   cli.Choice
	Ordering      cli.Choice
}

// NewDestroyFlags returns the flags with defaults.
func NewDestroyFlags(ordering string) DestroyFlags {
	return DestroyFlags{
		Adoption: Adoptions(), StatusPolicy: StatusPolicies(),
		Propagation: Propagations("delete propagation policy"), Ordering: Orderings(ordering),
	}
}

// Add adds the flags to a command.
func (f *DestroyFlags) Add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.DurationVar(&f.DeleteTimeout, "delete-timeout", 0,
		"Time to wait for an object to be deleted; 0 means no limit")
	f.Lock.Add(flags)
	flags.BoolVar(&f.Statuses, "show-status-events", false,
		"Print every status change of an object")
	f.Ordering.AddTo(cmd, "ordering",
		"When to delete objects: as soon as their dependents are gone, or in waves")
	f.Adoption.AddTo(cmd, "inventory-policy", "Which objects may be deleted")
	f.StatusPolicy.AddTo(cmd, "status-policy",
		"Whether to store the status of each object in the inventory")
	f.Propagation.AddTo(cmd, "delete-propagation-policy", "Deletion propagation policy")
}

// Check returns an error for invalid flags; output is the choice of the output format.
func (f *DestroyFlags) Check(output ...*cli.Choice) error {
	err := cli.CheckChoices(append(append([]*cli.Choice{
		&f.Adoption, &f.StatusPolicy, &f.Propagation}, output...), &f.Ordering)...)
	if err != nil {
		return err
	}
	return cli.CheckTimeout("delete-timeout", f.DeleteTimeout)
}

// Options returns the options of a package; notice receives lines for the user.
func (f *DestroyFlags) Options(notice func(string)) operation.DestroyOptions {
	return operation.DestroyOptions{
		NoStatuses: f.StatusPolicy.Value == "none", Notice: notice,
		Options: policy.Options{
			InventoryPolicy: f.Adoption.Value, Ordering: f.Ordering.Value,
			Propagation: metav1.DeletionPropagation(f.Propagation.Value),
		},
	}
}

// RunOptions returns how the flags want the plan to be run. 0 is without limit, as kpt live has it.
func (f *DestroyFlags) RunOptions(mode engine.DryRun, causes bool) engine.Options {
	return engine.Options{
		DryRun: mode,
		Limits: engine.Limits{
			Delete: limit.OfFlag(f.DeleteTimeout), Stall: limit.None(),
			PerWave: f.Ordering.Value == "waves",
		},
		NoCauses: !causes,
	}
}
