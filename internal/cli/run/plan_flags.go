package run

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/cli/setflags"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/sets"
	"github.com/muster-deploy/muster/internal/sets/operation"
)

// planFlagNames are the flags that shape a plan.
var planFlagNames = []string{
	"server-side",
	"force-conflicts",
	"conflicts",
	"field-manager",
	"prune-after-failure",
	"ordering",
	"inventory-policy",
	"adopt",
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
	"selector",
}

func changedPlanFlags(cmd *cobra.Command) []string {
	return slices.DeleteFunc(
		slices.Clone(planFlagNames), func(name string) bool { return !cmd.Flags().Changed(name) },
	)
}

// planFile reads the saved plan to apply, if any, and sets the flags that it was made with.
func (f *applyFlags) planFile(ctx context.Context) (*operation.SavedPlan, error) {
	if f.plan == "" {
		return nil, nil
	}
	if len(f.changed) > 0 {
		return nil, fmt.Errorf(
			"--%s is fixed by the plan; omit it, or create the plan again with it", f.changed[0],
		)
	}
	saved, err := operation.ReadPlan(ctx, f.plan)
	if err != nil {
		return nil, err
	}
	f.SetOptions(saved.Options)
	f.recreate, f.held.allow = saved.Options.Recreate, saved.Options.AllowDelete
	f.noPrune, f.allowEmpty = saved.Options.NoPrune, saved.Options.AllowEmpty
	f.filter = saved.Options.Filter
	if f.conflicts.Value = ""; saved.Options.Conflicts != plan.NoteConflicts {
		f.conflicts.Value = string(saved.Options.Conflicts)
	}
	return saved, nil
}

// kindNames is the value of a flag that takes names of kinds. A flag that follows one without its
// value is no name: the run would begin without that flag.
type kindNames []string

// kindName matches KIND, KIND.GROUP, and * for all kinds.
var kindName = regexp.MustCompile(`^(\*|[A-Za-z][A-Za-z0-9]*(\.[A-Za-z0-9.-]+)?)$`)

// Set adds a name.
func (k *kindNames) Set(name string) error {
	if !kindName.MatchString(name) {
		return errors.New("must be KIND, KIND.GROUP, or * for all kinds")
	}
	*k = append(*k, name)
	return nil
}

// String returns the names.
func (k *kindNames) String() string { return "[" + strings.Join(*k, ",") + "]" }

// Type returns the word for the value in help.
func (k *kindNames) Type() string { return "stringArray" }

// addPlanned adds the native flags that apply and plan have in common.
func (f *applyFlags) addPlanned(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.Var((*kindNames)(&f.recreate), "recreate",
		"Delete and create again objects of this KIND[.GROUP], or of all kinds (*) but those that "+
			"hold data, if a field that changes is immutable (can repeat)")
	cli.CompleteFlag(cmd, "recreate", func(*cobra.Command) []string {
		return []string{"*", "ConfigMap", "DaemonSet.apps", "Deployment.apps", "Job.batch", "Secret",
			"Service", "StatefulSet.apps"}
	})
	f.conflicts.AddTo(cmd, "conflicts",
		"What to do with fields that others have changed or own (default: overwrite and print them; "+
			"with --server-side fail)")
	flags.BoolVar(&f.noPrune, "no-prune", false,
		"Prune nothing: objects that are no longer described stay in the cluster and in the record")
	flags.BoolVar(&f.allowEmpty, "allow-empty", false,
		"Prune everything if no object is described, instead of failing")
	f.validation.add(cmd)
	f.filter.Add(flags)
	setflags.AddSelector(cmd)
	f.held.add(cmd, false)
	f.differences.Add(cmd)
	f.adopt = cli.Choice{
		Meaning: "adopt", Allowed: []string{"none", "unowned", "all"}, Default: "none",
	}
	f.adopt.AddTo(cmd, "adopt", "Which existing objects the set may adopt: none, those without an "+
		"owner, or those of other owners too")
	flags.Var(&f.maxPrune, "max-prune",
		"Fail before the first write if more objects than this number, or than this percentage of "+
			"the recorded objects, would be pruned (default: no limit)")
}

// policies are the inventory policies of the values of --adopt.
var policies = map[string]string{"none": "strict", "unowned": "adopt", "all": "force-adopt"}

// noteUnselected prints a note if the filters of a command select no object: they may have a typing
// error.
func noteUnselected(cmd *cobra.Command, env *cli.Env, op *sets.Operation) {
	filters := slices.DeleteFunc(changedPlanFlags(cmd), func(name string) bool {
		return !isFilter(name)
	})
	if len(filters) == 0 || slices.ContainsFunc(op.Plan.Steps, func(step plan.Step) bool {
		return step.Op.IsObject() && step.ReasonCode != plan.ReasonExcluded
	}) {
		return
	}
	env.Notice("note: no object of the set matches --" + strings.Join(filters, " and --"))
}

// checkMoved returns an error if objects of a package would go from one namespace to another
// because of -n or of the context's namespace: they would be written there and deleted where they
// are.
func (f *applyFlags) checkMoved(kube *cli.Kube, op *sets.Operation) error {
	namespace, explicit, err := kube.Namespace()
	if err != nil {
		return err
	}
	recorded, arriving := object.NewSet(op.Plan.Recorded...), object.NewSet()
	for _, d := range op.Manifests {
		ref := object.RefOf(d.Object)
		if d.Placed && ref.Namespace == namespace && !recorded.Has(ref) {
			arriving.Insert(ref)
		}
	}
	for _, step := range op.Plan.Steps {
		moved := step.Ref
		moved.Namespace = namespace
		if step.Op != plan.Delete || step.Ref.Namespace == "" || !arriving.Has(moved) {
			continue
		}
		if explicit {
			return fmt.Errorf("-n %s would move objects of the set, as %s, to another namespace, and "+
				"delete them where they are; omit -n, or give --no-prune to have them in both",
				namespace, step.Ref)
		}
		return fmt.Errorf("the namespace of the context, %s, would move objects of the set, as %s, to "+
			"another namespace, and delete them where they are; give -n %s, or --no-prune to have them "+
			"in both", namespace, step.Ref, step.Ref.Namespace)
	}
	return nil
}

// checkPruned returns an error if a plan prunes all objects without --allow-empty, or more than
// --max-prune allows.
func (f *applyFlags) checkPruned(op *sets.Operation) error {
	if err := op.CheckEmpty(); err != nil {
		return err
	}
	return f.maxPrune.Check(op.Plan.Pruned(), len(op.Plan.Recorded))
}

// conflictChoice returns the choice of what happens with fields that others own; empty is the
// default.
func conflictChoice() cli.Choice {
	c := cli.Choice{Meaning: "conflicts"}
	for _, mode := range plan.ConflictModes {
		c.Allowed = append(c.Allowed, string(mode))
	}
	return c
}

// checkConflicts returns an error for an invalid --conflicts.
func (f *applyFlags) checkConflicts() error {
	switch {
	case f.conflicts.Value == "":
		return nil
	case f.ForceConflicts:
		return errors.New("--force-conflicts is the same as --conflicts=take-all; omit one of them")
	default:
		return f.conflicts.Check()
	}
}
