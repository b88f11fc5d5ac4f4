package kpt

import (
	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/lock"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/show/view"
)

// printing is how a run is printed.
type printing struct {
	view.RunOptions
	Lock *lock.Lock // of the run; may be nil
}

// runOptions returns how runs are printed with the given columns of tables.
func runOptions(env *cli.Env, adoption plan.Adoption, table columns, output string) printing {
	reason := liveReasons(adoption)
	return printing{RunOptions: view.RunOptions{
		Output: output, Out: env.Out, Now: env.Now, Terminal: env.Terminal(),
		RunForm: view.RunForm{
			Lines: func(p *plan.Plan, o view.PhaseOptions) view.Printer {
				return liveLines(env.Out, p, o, reason)
			},
			Columns: table, Reason: reason, ErrorText: liveMessage,
		},
	}}
}
