package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/lock"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/show/view"
)

// Runner runs a plan.
type Runner func(context.Context, engine.Options, event.Sink) (event.Summary, error)

// RunPlan runs a plan and prints it; held is the lock of the run, or nil. The run continues if
// the output cannot be written, which is an *OutputError; a closed pipe is not an error. A terminal
// that disappears interrupts the run, so that its output is missing.
func RunPlan(
	ctx context.Context, p *plan.Plan, run Runner, o engine.Options, show view.RunOptions,
	held *lock.Lock,
) error {
	if o.DryRun != engine.DryRunNone && show.Output != view.OutputJSON && !show.Silent {
		fmt.Fprintf(show.Out, "Dry-run strategy: %s\n", o.DryRun)
	}
	show.DryRun = o.DryRun != engine.DryRunNone
	printer := show.Printer(p)
	summary, err := run(ctx, o, held.Count(len(p.Refs()), printer.Event))
	closed := printer.Close(err)
	if err == nil {
		err = RunError(summary)
	}
	if closed != nil && !IsBrokenPipe(closed) && !summary.Interrupted {
		return &OutputError{Err: closed, Result: err}
	}
	return err
}

// TryCreations is the number of creations up to which a plan asks the server about them. A plan
// that has more would take several times as long.
const TryCreations = 100

// Outlooks runs a plan dry and returns the outlook for each object, in the order of the plan.
// Fields is what the server does about unknown fields: see cluster.Write.
func Outlooks(
	ctx context.Context, env *Env, p *plan.Plan, run Runner, mode engine.DryRun, fields string,
) ([]view.Outlook, error) {
	return view.Outlooks(p, env.Notice, func(sink event.Sink) error {
		options := engine.Options{
			DryRun: mode, TryCreations: TryCreations, FieldValidation: fields,
		}
		if _, err := run(ctx, options, sink); err != nil {
			return err
		}
		return ctx.Err()
	})
}

// UnreachableLine formats the event that the cluster cannot be reached, or that an interrupted run
// waits for its answer; empty for other events.
func UnreachableLine(e event.Event) string {
	if e.Kind != event.Observed || e.Err == nil {
		return ""
	}
	if unanswered := (*engine.UnansweredError)(nil); errors.As(e.Err, &unanswered) {
		return "interrupted: " + e.Err.Error()
	}
	return "still trying: " + e.Err.Error()
}
