package run

import (
	"context"

	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/cli/setflags"
	"github.com/muster-deploy/muster/internal/sets"
)

// preview prints what a run with a review would do, and changes nothing. Its result is that of the
// plan; if the plan has none, the error of the review.
func (f *applyFlags) preview(
	ctx context.Context, env *cli.Env, r run,
	prepare func(context.Context) (setflags.Target, *sets.Operation, error),
) error {
	defer r.outputs.Discard() // unless they are printed
	t, op, err := prepare(ctx)
	if err == nil {
		err = op.MakePlan(ctx)
	}
	if err != nil {
		return err
	}
	r.follow(op)
	t.Print(env, r.show.Output, op)
	if err := r.check(ctx, op); err != nil {
		return err
	}
	refused := (*sets.ValidationError)(nil)
	if r.validation != nil {
		if refused, err = r.validation.check(ctx, env, t.Cluster, op, false); err != nil {
			return err
		}
	}
	outlooks, err := r.outlooks(ctx, op, r.options.DryRun)
	if err != nil {
		return err
	}
	invalid := refuse(outlooks, r.command, refused)
	p := planFlags{applyFlags: *f}
	if err := p.printAll(ctx, env, r.outputs, planned{t, op, "", outlooks}); err != nil {
		return err
	}
	notes, unfit := r.review(ctx, outlooks)
	for _, note := range notes {
		env.Notice(note)
	}
	if invalid != nil {
		return invalid
	}
	result := p.result(outlooks)
	if text := shortfall(outlooks, op.Plan.Owner); text != "" {
		env.Notice("error: " + text)
	}
	if result != nil {
		return result
	}
	return unfit
}
