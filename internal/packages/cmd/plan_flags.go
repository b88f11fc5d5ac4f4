package cmd

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/muster-deploy/muster/internal/packages"
)

// planFlagNames are the flags that shape a plan.
var planFlagNames = []string{
	"server-side",
	"force-conflicts",
	"field-manager",
	"prune-after-failure",
	"ordering",
	"inventory-policy",
	"prune-propagation-policy",
	"recreate",
	"allow-delete",
	"no-prune",
	"allow-empty",
	"filter",
	"filter-age",
	"filter-kind",
	"filter-ns",
	"filter-name",
	"filter-kind-name",
	"filter-kind-ns",
	"filter-kind-ns-name",
	"filter-labels",
}

func changedPlanFlags(cmd *cobra.Command) []string {
	return slices.DeleteFunc(
		slices.Clone(planFlagNames), func(name string) bool { return !cmd.Flags().Changed(name) },
	)
}

// planFile reads the saved plan to apply, if any, and sets the flags that it was made with.
func (f *applyFlags) planFile(ctx context.Context) (*packages.SavedPlan, error) {
	if f.plan == "" {
		return nil, nil
	}
	if len(f.changed) > 0 {
		return nil, fmt.Errorf(
			"--%s is fixed by the plan; omit it, or create the plan again with it", f.changed[0],
		)
	}
	saved, err := packages.ReadPlan(ctx, f.plan)
	if err != nil {
		return nil, err
	}
	f.setOptions(saved.Options)
	return saved, nil
}

// addPlanFlags adds the flags that shape the plan.
func (f *applyFlags) addPlanFlags(cmd *cobra.Command, v variant) {
	flags := cmd.Flags()
	f.onlyInventories = v.onlyInventories
	if f.leaveReplicas, f.recreation = v.leavesReplicas, v.recreates; f.recreation {
		flags.StringArrayVar(&f.recreate, "recreate", nil,
			"Delete and create again objects of this KIND[.GROUP], or of all kinds (*) but those that "+
				"hold data, if a field that changes is immutable (can repeat)")
	}
	flags.BoolVar(&f.serverSide, "server-side", false,
		"If true, apply runs in the server instead of the client")
	flags.BoolVar(&f.forceConflicts, "force-conflicts", false,
		"If true, server-side apply will force the changes against conflicts")
	flags.StringVar(&f.fieldManager, "field-manager", packages.DefaultManager,
		"Name of the manager used to track field ownership")
	flags.BoolVar(&f.pruneAfterFailure, "prune-after-failure", v.pruneAfterFailure,
		"Prune even if an object failed or was not ready in time")
	f.addGuards(flags, v)
	f.held.add(cmd, v, false)
	f.ordering.addTo(cmd, v, "ordering",
		"When to write objects: as soon as their dependencies are ready, or in waves")
	f.adoption.addTo(cmd, v, "inventory-policy", "Which existing objects may be adopted")
	f.propagation.addTo(cmd, v, "prune-propagation-policy",
		"Deletion propagation policy of pruned objects")
}
