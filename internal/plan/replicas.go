package plan

import (
	"maps"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/diff"
	"github.com/muster-deploy/muster/internal/object"
)

// AutoscalerKind is the kind of the objects that set the replicas of workloads.
var AutoscalerKind = schema.GroupKind{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"}

// scaledObjectKind is the kind of KEDA, whose controller makes an autoscaler of each object.
var scaledObjectKind = schema.GroupKind{Group: "keda.sh", Kind: "ScaledObject"}

// autoscalerKinds are the kinds of desired objects that count as autoscalers. Of existing ones
// AutoscalerKind suffices.
var autoscalerKinds = []schema.GroupKind{AutoscalerKind, scaledObjectKind}

// scalableKinds are the built-in kinds whose replicas an autoscaler may set.
var scalableKinds = []schema.GroupKind{
	{Group: "apps", Kind: "Deployment"},
	{Group: "apps", Kind: "StatefulSet"},
	{Group: "apps", Kind: "ReplicaSet"},
}

// ScaledNamespaces returns the namespaces, sorted, of the workloads whose replicas would change
// unless an autoscaler sets them. There are none if the policy does not leave replicas to
// autoscalers.
func (in Input) ScaledNamespaces() []string {
	found := map[string]bool{}
	for _, d := range in.Desired {
		if live := in.Live[object.RefOf(d.Object)]; in.changesReplicas(d.Object, live) {
			found[live.GetNamespace()] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// changesReplicas reports whether an apply would set the replicas of a workload to another value,
// or remove them because they were applied before.
func (in Input) changesReplicas(want, live *unstructured.Unstructured) bool {
	if !in.Policy.LeaveReplicas || live == nil ||
		!slices.Contains(scalableKinds, want.GroupVersionKind().GroupKind()) {
		return false
	}
	wanted, isWanted := replicasOf(want)
	if isWanted {
		current, _ := replicasOf(live)
		return !reflect.DeepEqual(wanted, current)
	}
	if applied := readLastApplied(live, in.Policy.LastApplied); applied != nil {
		if _, ok := replicasOf(applied); ok {
			return true
		}
	}
	return in.Policy.ServerSide && slices.Contains(ownersOfReplicas(live), in.Policy.Manager)
}

// autoscalersByTarget returns the autoscalers by the objects that they scale. Live ones that are
// desired otherwise, or that the run would delete, do not count.
func (in Input) autoscalersByTarget() map[object.Ref]*unstructured.Unstructured {
	if !in.Policy.LeaveReplicas {
		return nil
	}
	targets := map[object.Ref]*unstructured.Unstructured{}
	ignored := object.NewSet(in.Recorded...)
	for _, d := range in.Desired {
		if ref := object.RefOf(d.Object); slices.Contains(autoscalerKinds, ref.GroupKind()) {
			targets[targetOf(d.Object)] = d.Object
			ignored.Insert(ref)
		}
	}
	for _, live := range in.Autoscalers {
		retained := in.Policy.retains(live)
		if target := targetOf(live); targets[target] == nil &&
			(retained || !ignored.Has(object.RefOf(live))) {
			targets[target] = live
		}
	}
	return targets
}

// ReplicasBesideAutoscalers returns the autoscalers of the desired objects that set their replicas
// themselves, by these objects.
func ReplicasBesideAutoscalers(desired []Desired) map[object.Ref]object.Ref {
	scaled := Input{Desired: desired, Policy: Policy{LeaveReplicas: true}}.autoscalersByTarget()
	found := map[object.Ref]object.Ref{}
	for _, d := range desired {
		ref := object.RefOf(d.Object)
		if _, set := replicasOf(d.Object); set && scaled[ref] != nil {
			found[ref] = object.RefOf(scaled[ref])
		}
	}
	return found
}

// targetOf returns the object that an autoscaler scales.
func targetOf(autoscaler *unstructured.Unstructured) object.Ref {
	target, _, _ := unstructured.NestedStringMap(autoscaler.Object, "spec", "scaleTargetRef")
	if object.RefOf(autoscaler).GroupKind() == scaledObjectKind { // the others have no defaults
		defaults := map[string]string{"apiVersion": "apps/v1", "kind": "Deployment"}
		maps.Copy(defaults, target)
		target = defaults
	}
	return object.Ref{
		Group: schema.FromAPIVersionAndKind(target["apiVersion"], "").Group, Kind: target["kind"],
		Namespace: autoscaler.GetNamespace(), Name: target["name"],
	}
}

// leaveReplicas marks a step whose object keeps its replicas, because an autoscaler sets them. An
// autoscaler does nothing about an object with 0 replicas, unless 0 is its own minimum.
func (s *Step) leaveReplicas(want, autoscaler *unstructured.Unstructured) {
	wanted, isWanted := replicasOf(want)
	current, isSet := replicasOf(s.Have)
	least, hasLeast, _ := unstructured.NestedInt64(autoscaler.Object, "spec", "minReplicas")
	if object.RefOf(autoscaler).GroupKind() == scaledObjectKind {
		least, _, _ = unstructured.NestedInt64(autoscaler.Object, "spec", "minReplicaCount")
		hasLeast = true // its default is 0
	}
	paused := current == int64(0) && !(hasLeast && least == 0)
	if !isSet || paused || isWanted && wanted == int64(0) {
		return
	}
	s.ReasonCode, s.ReasonRef = ReasonAutoscaled, object.RefOf(autoscaler)
	s.Reason = "spec.replicas is left to " + s.ReasonRef.Short()
}

// keepReplicas sets the replicas of a wanted object, in place, to those of the live one, if they
// are left to an autoscaler.
func (s *Step) keepReplicas(want *unstructured.Unstructured) {
	if s.ReasonCode != ReasonAutoscaled || s.Have == nil {
		return
	}
	if current, ok := replicasOf(s.Have); ok {
		setReplicas(want, current)
	}
}

// withoutReplicas returns what a server-side apply sends: replicas that are left to an autoscaler
// are not applied if another manager owns them. If none does, the server would remove them, so that
// the live value is applied.
func (w writeMode) withoutReplicas(
	step *Step, want *unstructured.Unstructured,
) *unstructured.Unstructured {
	if step.ReasonCode != ReasonAutoscaled || step.Have == nil {
		return want
	}
	want = want.DeepCopy()
	others := slices.DeleteFunc(ownersOfReplicas(step.Have), func(manager string) bool {
		return manager == w.manager
	})
	migrates := w.lastApplied != "" && diff.ClientSideManagers(step.Have, w.lastApplied).Len() > 0
	if len(others) == 0 || migrates {
		step.keepReplicas(want)
	} else {
		unstructured.RemoveNestedField(want.Object, "spec", "replicas")
	}
	return want
}

// ownersOfReplicas returns the managers that own the replicas of a live object; none if its managed
// fields cannot be read.
func ownersOfReplicas(live *unstructured.Unstructured) []string {
	owners, err := diff.Owners(live, ".spec.replicas")
	if err != nil {
		return nil
	}
	var managers []string
	for _, owner := range owners {
		managers = append(managers, owner.Manager)
	}
	return managers
}

func replicasOf(obj *unstructured.Unstructured) (any, bool) {
	value, ok, err := unstructured.NestedFieldNoCopy(obj.Object, "spec", "replicas")
	return value, ok && err == nil && value != nil
}

// setReplicas sets the replicas of an object, in place, without changing maps that it shares.
func setReplicas(obj *unstructured.Unstructured, replicas any) {
	if spec, ok := obj.Object["spec"].(map[string]any); ok {
		spec = maps.Clone(spec)
		spec["replicas"] = replicas
		obj.Object["spec"] = spec
	}
}
