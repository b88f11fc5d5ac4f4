package engine

import (
	"context"
	"reflect"

	"github.com/muster-deploy/muster/internal/plan"
)

// mustConfirm reports whether a client-side dry run asks the server about a step: an update,
// unless it depends on a definition that the same run would change.
func (r *run) mustConfirm(step *plan.Step) bool {
	return r.options.DryRun == DryRunClient && step.Op == plan.Update && len(step.Patch.Data) > 0 &&
		missingPrerequisite(r.plan, step, DryRunServer) == nil
}

// confirm sends the patch of a step as a server dry run. The object is unchanged if the server
// would not change it, such as after a quantity that is only spelled differently. If the server
// refuses the request, the result is that of the plan, unless fields are immutable.
func (r *run) confirm(ctx context.Context, step *plan.Step) *result {
	done := r.withoutWriting(step)
	w := request(r.plan, step, step.Want, &Options{DryRun: DryRunServer})
	answer, err := r.engine.Cluster.Write(ctx, w)
	if err != nil {
		return r.refusedConfirmation(ctx, step, err, done)
	}
	answer.SetManagedFields(nil)
	done.would = answer
	have := reheaded(step.Have, func(map[string]any) {})
	if reflect.DeepEqual(answer.Object, have.Object) {
		done.op = plan.Unchanged
	}
	return done
}
