package engine

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
)

// wouldRecreate returns the result, in a dry run, of a step whose object is deleted and recreated.
func wouldRecreate(p *plan.Plan, step *plan.Step, because error) *result {
	if held := heldBack(p, step, because); held != nil {
		return held
	}
	return &result{
		op: step.Op, outcome: event.Succeeded, recreates: true, would: recreateStep(step).Want,
		reason: "to be recreated" + lossOf(step),
	}
}

// tryRecreation returns what wouldRecreate does, or the failure if the server would refuse the new
// object: the live one is not deleted then.
func tryRecreation(
	ctx context.Context, c cluster.Writer, p *plan.Plan, step *plan.Step, because error, o *Options,
) *result {
	would := wouldRecreate(p, step, because)
	if would.outcome == event.Failed || step.Have.GetDeletionTimestamp() != nil {
		return would
	}
	if err := tryCreation(ctx, c, p, step, o); refusesCreation(err, o) {
		return &result{op: step.Op, outcome: event.Failed, err: err}
	}
	return would
}

// refusesCreation reports whether the server would also refuse the object once the live one is
// gone. A quota does not count, which the live object uses up as long as it exists, nor does a
// webhook in a dry run, which may answer otherwise in the run.
func refusesCreation(err error, o *Options) bool {
	switch cluster.RefusalOf(err) {
	case "", cluster.ByQuota:
		return false
	case cluster.ByWebhook:
		return o.DryRun == DryRunNone
	}
	return true
}

// tryCreation returns the answer of the server to a dry run of the creation of an object in place
// of the live one of a step.
func tryCreation(
	ctx context.Context, c cluster.Writer, p *plan.Plan, step *plan.Step, o *Options,
) error {
	obj := withoutAllocations(recreateStep(step).Want)
	_, err := c.Write(ctx, cluster.Write{
		Object: obj, Method: cluster.Create, Manager: p.Manager, DryRun: true,
		FieldValidation: o.validation(obj),
	})
	return err
}

// withoutAllocations returns a Service without the addresses and ports that the live one holds as
// long as it exists, and other objects unchanged.
func withoutAllocations(obj *unstructured.Unstructured) *unstructured.Unstructured {
	if object.RefOf(obj).GroupKind() != serviceKind {
		return obj
	}
	obj = obj.DeepCopy()
	spec, _ := obj.Object["spec"].(map[string]any)
	if spec["clusterIP"] != "None" {
		delete(spec, "clusterIP")
		delete(spec, "clusterIPs")
	}
	delete(spec, "healthCheckNodePort")
	ports, _ := spec["ports"].([]any)
	for _, port := range ports {
		if fields, isMap := port.(map[string]any); isMap {
			delete(fields, "nodePort")
		}
	}
	return obj
}

var serviceKind = schema.GroupKind{Kind: "Service"}

// lossOf returns what is lost when the object of a step is deleted, after a colon; empty for none.
func lossOf(step *plan.Step) string {
	if lost, _ := plan.LostWith(step); lost != "" {
		return ": " + lost + " would be lost"
	}
	return ""
}
