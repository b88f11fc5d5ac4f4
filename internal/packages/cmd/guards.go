package cmd

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/packages"
	"github.com/muster-deploy/muster/internal/packages/inventory"
	"github.com/muster-deploy/muster/internal/plaintext"
	"github.com/muster-deploy/muster/internal/plan"
)

// heldFlags are the flags about objects that hold other objects or data. Only the native commands
// hold them back.
type heldFlags struct {
	hold  bool
	allow plan.AllowDelete
	yes   bool // all may be deleted
}

// add adds the flags to a native command. A destroy may be confirmed beforehand.
func (h *heldFlags) add(cmd *cobra.Command, v variant, destroys bool) {
	if h.hold = v.strict; !h.hold {
		return
	}
	flags := cmd.Flags()
	flags.Var(&h.allow, "allow-delete",
		"Delete objects of this KIND[.GROUP], or of all kinds (*), although they hold other objects or "+
			"data: "+strings.Join(plan.HeldKindNames(), ", ")+" (can repeat)")
	// The only error is a flag that does not exist or has a completion already.
	_ = cmd.RegisterFlagCompletionFunc("allow-delete", cobra.FixedCompletions(
		append(plan.HeldKindNames(), "*"), cobra.ShellCompDirectiveNoFileComp))
	if destroys {
		flags.BoolVarP(&h.yes, "yes", "y", false,
			"Do not ask before objects that hold other objects or data are deleted")
	}
}

// allowed returns the names of the kinds that may be deleted.
func (h *heldFlags) allowed() plan.AllowDelete {
	if h.yes {
		return plan.AllowDelete{"*"}
	}
	return h.allow
}

// confirm asks on a terminal whether objects that the plan holds back may be deleted, and makes the
// plan again if so.
func (h *heldFlags) confirm(ctx context.Context, env *cli.Env, op *packages.Operation) error {
	held := op.Plan.HeldBack()
	if len(held) == 0 || !env.IsInteractive() {
		return nil
	}
	fmt.Fprintln(env.Err, "These objects hold other objects or data, which would be lost:")
	for _, ref := range held {
		fmt.Fprintln(env.Err, "- "+plaintext.Printable(ref.String()))
	}
	if ok, err := env.Confirm(ctx, "Delete them?"); err != nil || !ok {
		return err
	}
	return op.AllowDelete(ctx)
}

// heldResult returns the error for the exit code of a run that succeeded but held objects back.
func heldResult(op *packages.Operation) error {
	if len(op.Plan.HeldBack()) > 0 {
		return &cli.ResultError{}
	}
	return nil
}

// addGuards adds the flags that refuse another cluster, or to prune more, than the user expects.
// Only the native commands have them.
func (f *applyFlags) addGuards(flags *pflag.FlagSet, v variant) {
	f.allowEmpty = !v.strict
	if f.appAnnotations = v.strict; v.strict {
		f.filter.Add(flags)
		flags.BoolVar(&f.noPrune, "no-prune", false,
			"Prune nothing: objects that are no longer described stay in the cluster and in the record")
		flags.BoolVar(&f.allowEmpty, "allow-empty", false,
			"Prune everything if no object is described, instead of failing")
		f.cluster.Add(flags)
		flags.Var(&f.maxPrune, "max-prune",
			"Fail before the first write if more objects than this number, or than this percentage of "+
				"the recorded objects, would be pruned (default: no limit)")
	}
}

// checkPruned returns an error if a plan prunes all objects without --allow-empty, or more than
// --max-prune allows.
func (f applyFlags) checkPruned(op *packages.Operation) error {
	if err := op.CheckEmpty(); err != nil {
		return err
	}
	return f.maxPrune.Check(op.Plan.Pruned(), len(op.Plan.Recorded))
}

// checkCluster returns an error if the user expects another cluster than the one in use, or a
// package belongs to another one. The inventory is nil if there is none.
func checkCluster(
	ctx context.Context, env *cli.Env, kube *cli.Kube, g cli.ClusterGuard, c packages.Cluster,
	inv *inventory.Inventory,
) error {
	expected := cli.ExpectedCluster{}
	if inv != nil {
		expected.Value = inv.Cluster
		expected.Where = "the annotation " + inventory.ClusterKey + " in " + inv.Source
	}
	return g.Check(ctx, env, kube, c, expected)
}
