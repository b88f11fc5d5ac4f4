package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/diff"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
)

// fallbackNamespace is the namespace in which objects are tried whose own does not exist yet. Every
// cluster has it.
const fallbackNamespace = "default"

// definitionSteps returns the steps of the definitions in a plan by the kinds that these define.
func definitionSteps(p *plan.Plan) map[schema.GroupKind]*plan.Step {
	found := map[schema.GroupKind]*plan.Step{}
	for i := range p.Steps {
		step := &p.Steps[i]
		if step.Ref.GroupKind() != plan.DefinitionKind {
			continue
		}
		if gk, ok := plan.DefinedKind(step.Want); ok {
			found[gk] = step
		}
	}
	return found
}

// missingPrerequisite returns the step that would create the definition or namespace without which
// the server cannot validate an object in a server dry run; nil if it can, and in other runs.
func (r *run) missingPrerequisite(step *plan.Step) *plan.Step {
	if r.options.DryRun != DryRunServer {
		return nil
	}
	return r.prerequisite(step)
}

// prerequisite returns the step that creates the definition or namespace without which the object
// of a step cannot exist, or changes the definition for it; nil if there is none.
func (r *run) prerequisite(step *plan.Step) *plan.Step {
	if needed := r.definitions[step.Ref.GroupKind()]; needed != nil {
		if needed.Op == plan.Create ||
			needed.Op == plan.Update && step.Op.Applies() && step.Want != nil &&
				changesVersions(needed) {
			return needed
		}
	}
	i, ok := r.index[object.Ref{Kind: plan.NamespaceKind.Kind, Name: step.Ref.Namespace}]
	if ok && step.Ref.Namespace != "" && r.plan.Steps[i].Op == plan.Create {
		return &r.plan.Steps[i]
	}
	return nil
}

// changesVersions reports whether an update of a definition changes a version of its kind: the
// server validates objects by the versions that it has now.
func changesVersions(definition *plan.Step) bool {
	versions := func(crd *unstructured.Unstructured) any {
		list, _, _ := unstructured.NestedFieldNoCopy(crd.Object, "spec", "versions")
		return list
	}
	return !reflect.DeepEqual(versions(definition.Have), versions(definition.Want))
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
func (r *run) dryRunElsewhere(ctx context.Context, step, home *plan.Step) *result {
	obj := step.Want.DeepCopy()
	obj.SetNamespace(fallbackNamespace)
	answer, err := r.engine.Cluster.Write(ctx, cluster.Write{
		Object: obj, Method: cluster.Create, Manager: r.plan.Manager, DryRun: true,
		FieldValidation: r.options.FieldValidation,
	})
	done := &result{op: step.Op, outcome: event.Succeeded, unstored: unstored(r.plan, step, answer)}
	switch {
	case err == nil || apierrors.IsAlreadyExists(err):
		done.reason = fmt.Sprintf("validated in namespace %s: %s would be created by the same run",
			fallbackNamespace, home.Ref)
	case cluster.RefusalOf(err) == cluster.ByContent:
		done.outcome = event.Failed
		done.err = fmt.Errorf("tried in namespace %s, because %s would be created by the same run: %w",
			fallbackNamespace, home.Ref, err)
	default:
		done.reason = unvalidated(home)
	}
	return done
}

// mustConfirm reports whether a client dry run asks the server about a step: an update, or a
// creation if there are few, unless it depends on a namespace or a definition that the same run
// would create or change.
func (r *run) mustConfirm(step *plan.Step) bool {
	if r.options.DryRun != DryRunClient {
		return false
	}
	switch step.Op {
	case plan.Create:
		return r.triesCreations && step.Draft == nil && r.prerequisite(step) == nil
	case plan.Update:
		sends := len(step.Patch.Data) > 0 || step.FullReplace || step.ServerSide
		return sends && r.prerequisite(step) == nil
	default:
		return false
	}
}

// confirm sends the write of a step as a server dry run. As to refusals, see refused. An updated
// object is unchanged if the server would not change it, such as after a quantity that is only
// spelled differently. The result is that of the plan if the server cannot tell, as its webhooks
// cannot be called; it says so. Of an update that the server merges, its answer is the result:
// nothing else is known of that.
func (r *run) confirm(ctx context.Context, step *plan.Step) *result {
	if replaces(step, plan.ReplaceAlways) {
		return tryRecreation(ctx, r.engine.Cluster, r.plan, step, nil, &r.options)
	}
	if step.Op == plan.Update && step.ServerSide {
		return r.tryWrite(ctx, step,
			&Options{DryRun: DryRunServer, FieldValidation: r.options.FieldValidation})
	}
	done := r.withoutWriting(step)
	if done.err != nil {
		return done
	}
	w := request(r.plan, step, step.Want,
		&Options{DryRun: DryRunServer, FieldValidation: r.options.FieldValidation})
	answer, err := r.engine.Cluster.Write(ctx, w)
	if cluster.Unanswered(err) && ctx.Err() == nil {
		done.reason = "the server could not be asked about it: " +
			cluster.Redact(err, step.HoldsSecret()).Error()
		return done
	}
	if step.Op == plan.Create {
		if err != nil {
			return r.refused(step, err, done)
		}
		done.unstored = unstored(r.plan, step, answer)
		return done
	}
	if apierrors.IsInvalid(err) {
		next, why := exclude(ctx, r.engine.Cluster, r.plan, step, err)
		if next != nil {
			return r.confirm(ctx, next)
		}
		err = why
	}
	if err != nil {
		return r.refusedConfirmation(ctx, step, err, done)
	}
	answer = diff.Converted(answer, step.Have, r.plan.Manager, r.plan.LastApplied)
	done.unstored = unstored(r.plan, step, answer)
	kept := keptBy(r.plan, step, answer)
	again := recreateKept(ctx, r.engine.Cluster, r.plan, step, answer, kept, &r.options)
	if again != nil {
		return again
	}
	done.reason = cmp.Or(done.reason, kept.reason(r.plan, step))
	if unaltered(r.plan, step, answer) ||
		len(done.unstored) > 0 && sameContent(answer, step.Have) {
		done.op = plan.Unchanged
	}
	answer.SetManagedFields(nil)
	done.would = answer
	return done
}

// unaltered reports whether an update leaves the object of a step as it was read, by the answer.
// What others may have written since then does not count: the status, unless the update has one,
// and who owns fields, but for those that the manager of a server-side apply owns.
func unaltered(p *plan.Plan, step *plan.Step, answer *unstructured.Unstructured) bool {
	if step.ServerSide {
		// The server takes equal metrics of an autoscaler for others, and makes the manager of each
		// update their owner.
		same, err := diff.OwnsSame(p.Manager, step.Have, answer, adoptsUpdates(p, step))
		if err != nil || !same {
			return false
		}
	}
	fields := func(obj *unstructured.Unstructured) map[string]any {
		kept := reheaded(obj, func(metadata map[string]any) { delete(metadata, "resourceVersion") })
		if !sendsStatus(step) {
			delete(kept.Object, "status")
		}
		return kept.Object
	}
	return reflect.DeepEqual(fields(step.Have), fields(answer))
}

// sendsStatus reports whether an update has a status, which the server may ignore.
func sendsStatus(step *plan.Step) bool {
	if len(step.Patch.Data) == 0 {
		return step.Want.Object["status"] != nil
	}
	var fields map[string]json.RawMessage
	err := json.Unmarshal(step.Patch.Data, &fields)
	return err != nil || fields["status"] != nil
}
