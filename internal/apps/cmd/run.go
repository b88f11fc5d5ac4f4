package cmd

import (
	"context"

	"github.com/muster-deploy/muster/internal/apps"
	"github.com/muster-deploy/muster/internal/apps/change"
)

// review returns how the changes of a command are calculated and printed.
func (s *session) review(diff diffFlags, apply applyFlags, kinds kindFlags) apps.Review {
	review := apps.Review{
		NewRun: func(o apps.RunOptions) apps.Run {
			return &rollout{
				session: s, diff: diff, apply: apply, kinds: kinds, config: o.Config, target: o.App,
				deletes: o.Deletes, adopted: o.Adopted, owned: o.CheckOwner,
			}
		},
		ChangeFilter: diff.filter, ManagedFields: diff.changes, DryRun: diff.run,
		Print: func(r apps.Run) error { return r.(*rollout).present() },
	}
	if diff.page {
		review.Serve = func(ctx context.Context,
			r apps.Run) error {
			return r.(*rollout).serve(ctx)
		}
	}
	return review
}

var _ apps.Run = (*rollout)(nil)

// Calculate decides the changes and their order.
func (r *rollout) Calculate(existing, inputs []live) error { return r.decide(existing, inputs) }

// Changes returns the changes in the order in which they are printed.
func (r *rollout) Changes() []*change.Change { return r.changes }

// Excluded reports whether a filter has excluded changes.
func (r *rollout) Excluded() bool { return r.excluded }

// Plan builds the plan of the changes.
func (r *rollout) Plan(ctx context.Context) error { return r.lay(ctx) }

// Execute runs the plan and prints its progress.
func (r *rollout) Execute(ctx context.Context) error { return r.run(ctx) }
