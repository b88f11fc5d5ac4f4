package sets

import (
	"context"

	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/plan"
)

// runner runs a plan.
type runner interface {
	Plan() *plan.Plan
	Run(context.Context, engine.Options, event.Sink) (event.Summary, error)
}

// countRefused runs an operation. Objects that are not applied, or not destroyed, because they do
// not belong to the set count as refused. An object that is not pruned for this reason does not:
// another set has taken it over. What is not deleted because others have their records in it counts
// always.
func countRefused(
	ctx context.Context, op runner, o engine.Options, sink event.Sink,
) (event.Summary, error) {
	refused, destroys := 0, op.Plan().Destroys
	summary, err := op.Run(ctx, o, func(e event.Event) {
		others := e.ReasonCode == plan.ReasonForeign || e.ReasonCode == plan.ReasonUnowned
		protected := e.ReasonCode == plan.ReasonProtected && e.Op == plan.Keep
		if e.Kind == event.Acted && (protected || others && (e.Op == plan.Skip || destroys)) {
			refused++
		}
		sink(e)
	})
	summary.Refused = refused
	return summary, err
}
