package cmd

import (
	"github.com/spf13/pflag"

	"github.com/muster-deploy/muster/internal/plan"
)

// addGuards adds the flags that refuse to prune more than the user expects. Only the native
// commands have them.
func (f *applyFlags) addGuards(flags *pflag.FlagSet, v variant) {
	if v.strict {
		flags.Var(&f.maxPrune, "max-prune",
			"Fail before the first write if more objects than this number, or than this percentage of "+
				"the recorded objects, would be pruned (default: no limit)")
	}
}

// checkPruned returns an error if a plan prunes more than --max-prune allows.
func (f applyFlags) checkPruned(p *plan.Plan) error {
	return f.maxPrune.Check(p.Pruned(), len(p.Recorded))
}
