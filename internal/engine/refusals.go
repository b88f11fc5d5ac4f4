package engine

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/builtin"
	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/ready"
)

// refused returns the result of a client dry run that the server has refused. Planned is the result
// of the plan, which stays if the refusal says nothing about a run: that depends on what the same
// run writes, has other rights, and meets webhooks when they know more.
func (r *run) refused(step *plan.Step, err error, planned *result) *result {
	if needed := r.dependsOn(step, err); needed != nil {
		planned.reason = unvalidated(needed)
		return planned
	}
	if refusesContent(err) {
		return &result{op: step.Op, outcome: event.Failed, err: err}
	}
	switch cluster.RefusalOf(err) {
	case cluster.ByWebhook, cluster.ByGrant:
		planned.reason = fmt.Sprintf("at present, the server would refuse it: %v",
			cluster.Redact(err, step.HoldsSecret()))
	}
	return planned
}

// refusesContent reports whether the server refuses what was sent as such, so that a run fails in
// the same way: as invalid or unreadable, or by a policy.
func refusesContent(err error) bool {
	refusal := cluster.RefusalOf(err)
	return refusal == cluster.ByContent || refusal.ByAdmission()
}

// dependsOn returns the step on which it depends whether a run is refused as its dry run was: it
// creates what the refusal says is missing, or writes what objects are admitted by. It returns nil
// if there is none.
func (r *run) dependsOn(step *plan.Step, refused error) *plan.Step {
	if r.options.DryRun == DryRunNone || refused == nil {
		return nil
	}
	missing := ready.MissingIn(refused.Error(), step.Ref.Namespace)
	if i, ok := r.index[missing]; ok && r.plan.Steps[i].Op == plan.Create {
		return &r.plan.Steps[i]
	}
	if !cluster.RefusalOf(refused).ByAdmission() {
		return nil
	}
	for i := range r.plan.Steps {
		other := &r.plan.Steps[i]
		if other != step && (other.Op == plan.Create || other.Op == plan.Update) &&
			admits(other.Ref, step.Ref) {
			return other
		}
	}
	return nil
}

// admits reports whether the server admits an object by another one: its namespace, or a policy, a
// quota or a limit that may apply to it.
func admits(by, ref object.Ref) bool {
	switch by.GroupKind() {
	case plan.NamespaceKind:
		return by.Name == ref.Namespace
	case schema.GroupKind{Kind: "ResourceQuota"}, schema.GroupKind{Kind: "LimitRange"}:
		return by.Namespace == ref.Namespace
	case schema.GroupKind{Group: "storage.k8s.io", Kind: "StorageClass"}:
		return ref.Kind == "PersistentVolumeClaim" && ref.Group == ""
	}
	return by.Group == "admissionregistration.k8s.io"
}

// explainUndeclared adds to a refusal of a field that the definition of the kind does not have what
// helps.
func explainUndeclared(p *plan.Plan, step *plan.Step, err error) error {
	if p.RecreateHint == "" || !cluster.FieldsUndeclared(err) {
		return err
	}
	kind := step.Ref.GroupKind()
	if _, isBuiltin := builtin.TypeMeta(step.Want.GroupVersionKind()); isBuiltin {
		return fmt.Errorf("%w\nthis server has no such field of the kind %s: take it out of the "+
			"manifest, or update the server", err, kind)
	}
	return fmt.Errorf("%w\nthe cluster's definition of the kind %s has no such field: update the "+
		"definition first, or take the field out of the manifest", err, kind)
}
