package engine

import (
	"context"
	"fmt"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
)

// fallbackNamespace is the namespace in which objects are tried whose own does not exist yet. Every
// cluster has it.
const fallbackNamespace = "default"

// missingPrerequisite returns, in a server dry run, the step that would create the definition or
// namespace without which the server cannot validate an object; nil if the server can.
func missingPrerequisite(p *plan.Plan, step *plan.Step, dryRun DryRun) *plan.Step {
	var namespace *plan.Step
	if dryRun != DryRunServer {
		return nil
	}
	for _, j := range step.Needs {
		needed := &p.Steps[j]
		switch {
		case needed.Ref.GroupKind() == plan.DefinitionKind:
			if needed.Op == plan.Create ||
				needed.Op == plan.Update && step.Op.Applies() && !cluster.Defines(needed.Have, step.Want) {
				return needed
			}
		case needed.Op == plan.Create && needed.Ref.GroupKind() == plan.NamespaceKind:
			namespace = needed
		}
	}
	return namespace
}

// isPrerequisite reports whether other objects cannot exist without an object of this kind.
func isPrerequisite(ref object.Ref) bool {
	return ref.GroupKind() == plan.NamespaceKind || ref.GroupKind() == plan.DefinitionKind
}

func isNamespaceStep(home *plan.Step) bool { return home.Ref.GroupKind() == plan.NamespaceKind }

func unvalidated(home *plan.Step) string {
	made := "created"
	if home.Op == plan.Update {
		made = "changed"
	}
	return fmt.Sprintf("not validated by the server: %s would be %s by the same run", home.Ref, made)
}

// dryRunElsewhere asks the server to validate an object in the fallback namespace, because the run
// would create its own. Errors that depend on the namespace are ignored.
func dryRunElsewhere(ctx context.Context, c Cluster, p *plan.Plan, step, home *plan.Step) *result {
	obj := step.Want.DeepCopy()
	obj.SetNamespace(fallbackNamespace)
	_, err := c.Write(ctx,
		cluster.Write{Object: obj, Method: cluster.Create, Manager: p.Manager, DryRun: true})
	done := &result{op: step.Op, outcome: event.Succeeded}
	switch {
	case err == nil || apierrors.IsAlreadyExists(err):
		done.reason = fmt.Sprintf("validated in namespace %s: %s would be created by the same run",
			fallbackNamespace, home.Ref)
	case apierrors.IsInvalid(err) || apierrors.IsBadRequest(err):
		done.outcome = event.Failed
		done.err = fmt.Errorf("tried in namespace %s, because %s would be created by the same run: %w",
			fallbackNamespace, home.Ref, err)
	default:
		done.reason = unvalidated(home)
	}
	return done
}

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
