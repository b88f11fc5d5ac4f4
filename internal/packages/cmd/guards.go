package cmd

import (
	"context"

	"github.com/spf13/pflag"

	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/packages"
	"github.com/muster-deploy/muster/internal/packages/inventory"
	"github.com/muster-deploy/muster/internal/plan"
)

// addGuards adds the flags that refuse another cluster, or to prune more, than the user expects.
// Only the native commands have them.
func (f *applyFlags) addGuards(flags *pflag.FlagSet, v variant) {
	if v.strict {
		f.cluster.Add(flags)
		flags.Var(&f.maxPrune, "max-prune",
			"Fail before the first write if more objects than this number, or than this percentage of "+
				"the recorded objects, would be pruned (default: no limit)")
	}
}

// checkPruned returns an error if a plan prunes more than --max-prune allows.
func (f applyFlags) checkPruned(p *plan.Plan) error {
	return f.maxPrune.Check(p.Pruned(), len(p.Recorded))
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
