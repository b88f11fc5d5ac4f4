package ready

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-deploy/muster/internal/object"
)

// Evidence is what one object has to say in an explanation: of itself, of an object that it was made for or, as an event, of
// the object that it is about. It keeps nothing of the object besides, so that thousands of them take little room.
type Evidence struct {
	Ref object.Ref
	UID types.UID

	owners     []types.UID
	causes     []Cause  // what its own state says
	weak       []Cause  // what is said when nothing else can be
	event      *warning // nil for all but Warning events
	healthy    bool     // there is nothing to explain by it
	unobserved bool     // its status is about an earlier generation

	revision  string   // of a Deployment and of each of its ReplicaSets
	updated   string   // the mark that pods of the present template carry, for workloads that mark them
	marks     []string // of a pod
	fronts    string   // the labels of the pods behind a Service
	endpoints int      // of an EndpointSlice, those that are ready

	kinds []RelatedKind
}

// warning is a Warning event.
type warning struct{ reason, message, time string }

// RelatedKind is a kind of object by which another one may be explained, and labels that they have in common; none if that is not
// known.
type RelatedKind struct {
	schema.GroupKind
	Labels map[string]string
}

// RelatedKinds are the kinds that explain the object besides events: those that controllers make for it.
func (r *Evidence) RelatedKinds() []RelatedKind { return r.kinds }

// Observed reports that the status of the object is about its present generation, as far as it tells. That of a workload has
// to tell.
func (r *Evidence) Observed() bool { return !r.unobserved }

// EvidenceOf reduces an object that was judged, which is not kept.
func EvidenceOf(obj *unstructured.Unstructured, s Status) *Evidence {
	r := &Evidence{Ref: object.RefOf(obj), UID: obj.GetUID()}
	kind := obj.GroupVersionKind().GroupKind()
	if kind.Kind == "Event" {
		r.owners = []types.UID{types.UID(text(obj, "involvedObject", "uid"))}
		r.event = &warning{reason: text(obj, "reason"), message: oneLine(text(obj, "message")), time: eventTime(obj)}
		r.healthy = text(obj, "type") != "Warning"
		return r
	}
	for _, owner := range obj.GetOwnerReferences() {
		r.owners = append(r.owners, owner.UID)
	}
	if obj.GetDeletionTimestamp() != nil {
		r.causes = leavingCauses(obj)
		return r
	}
	r.unobserved = s.Reason == NotObserved || kind.Group == "apps" && !observed(obj)
	r.kinds = relatedKinds(kind, obj)
	if read := readers[kind]; read != nil {
		read(r, obj, s)
	} else {
		r.causes = conditionCauses(obj)
	}
	if !keepsPods(r) && (s.State == InProgress || s.State == Failed) {
		r.weak = append(r.weak, cause(obj, "%s", oneLine(s.Message)))
	}
	return r
}

// keepsPods says whether an object is a pod or is explained by pods, which say more than its own message.
func keepsPods(r *Evidence) bool {
	return r.Ref.GroupKind() == podKind || slices.ContainsFunc(r.kinds, func(k RelatedKind) bool { return k.GroupKind == podKind })
}

// outdated reports that an owned object was made from an earlier template.
func (r *Evidence) outdated(child *Evidence) bool {
	return r.updated != "" && len(child.marks) > 0 && !slices.Contains(child.marks, r.updated)
}

// readers fill in the evidence of kinds of which more is known than conditions.
var readers = map[schema.GroupKind]func(*Evidence, *unstructured.Unstructured, Status){
	{Group: "apps", Kind: "Deployment"}: func(e *Evidence, obj *unstructured.Unstructured, _ Status) {
		e.revision = annotation(obj, "deployment.kubernetes.io/revision")
	},
	replicaSetKind: func(e *Evidence, obj *unstructured.Unstructured, _ Status) {
		e.revision = annotation(obj, "deployment.kubernetes.io/revision")
		e.causes = replicaFailureCauses(obj)
	},
	{Kind: "ReplicationController"}: func(e *Evidence, obj *unstructured.Unstructured, _ Status) {
		e.causes = replicaFailureCauses(obj)
	},
	{Group: "apps", Kind: "StatefulSet"}: func(e *Evidence, obj *unstructured.Unstructured, _ Status) {
		e.updated = text(obj, "status", "updateRevision")
	},
	{Group: "apps", Kind: "DaemonSet"}: func(e *Evidence, obj *unstructured.Unstructured, _ Status) {
		e.updated = annotation(obj, "deprecated.daemonset.template.generation")
	},
	{Kind: "Service"}: func(e *Evidence, obj *unstructured.Unstructured, _ Status) {
		if text(obj, "spec", "type") != "ExternalName" {
			e.fronts = labels.Set(textsAt(obj, "spec", "selector")).String()
		}
	},
	endpointSliceKind: func(e *Evidence, obj *unstructured.Unstructured, _ Status) {
		for _, endpoint := range list(obj, "endpoints") {
			if below(endpoint, "conditions", "ready") != false { // absent means ready
				e.endpoints++
			}
		}
	},
	podKind: func(e *Evidence, obj *unstructured.Unstructured, s Status) {
		e.healthy = s.State == Current
		e.causes = podCauses(obj)
		e.weak = append(recoveringCauses(obj), idleCauses(obj)...)
		for _, label := range []string{"controller-revision-hash", "pod-template-generation"} {
			if mark := text(obj, "metadata", "labels", label); mark != "" {
				e.marks = append(e.marks, mark)
			}
		}
	},
	{Kind: "PersistentVolumeClaim"}: func(e *Evidence, obj *unstructured.Unstructured, _ Status) {
		if text(obj, "status", "phase") == "Pending" && text(obj, "spec", "storageClassName") == "" {
			e.causes = []Cause{cause(obj, "no volume fits it, and it names no storage class that would make one")}
		}
	},
}

// relatedKinds returns the kinds of an object's child objects with the labels that these carry.
func relatedKinds(kind schema.GroupKind, obj *unstructured.Unstructured) []RelatedKind {
	children := ChildKinds(kind)
	if children == nil {
		return nil
	}
	var common map[string]string
	switch kind {
	case schema.GroupKind{Kind: "Service"}:
		if text(obj, "spec", "type") == "ExternalName" {
			return nil
		}
		common = map[string]string{"kubernetes.io/service-name": obj.GetName()}
	case schema.GroupKind{Kind: "ReplicationController"}:
		common = textsAt(obj, "spec", "selector")
	default:
		common = textsAt(obj, "spec", "selector", "matchLabels") // expressions only narrow it further
	}
	related := make([]RelatedKind, len(children))
	for i, child := range children {
		related[i] = RelatedKind{child, common}
	}
	return related
}

// textsAt gives the strings of the map at a path.
func textsAt(obj *unstructured.Unstructured, path ...string) map[string]string {
	values, _ := field(obj, path...).(map[string]any)
	found := map[string]string{}
	for key, value := range values {
		if value, ok := value.(string); ok {
			found[key] = value
		}
	}
	return found
}

// eventTime is when an event was seen last. Times in the format of the API compare as text.
func eventTime(event *unstructured.Unstructured) string {
	return cmp.Or(text(event, "series", "lastObservedTime"), text(event, "lastTimestamp"), text(event, "eventTime"),
		text(event, "metadata", "creationTimestamp"))
}

// replicaFailureCauses says why pods cannot be created.
func replicaFailureCauses(obj *unstructured.Unstructured) []Cause {
	if c := ConditionOf(obj, "ReplicaFailure"); c.isTrue() {
		return []Cause{cause(obj, "%s", join(c.Reason, oneLine(c.Message)))}
	}
	return nil
}

// conditionCauses says what is wrong by the conditions of a custom resource. Only those count whose names say which of
// true and false is good; a message or a reason is wanted, too.
func conditionCauses(obj *unstructured.Unstructured) []Cause {
	if isBuiltinGroup(obj.GroupVersionKind().Group) {
		return nil
	}
	var causes []Cause
	for c := range conditions(obj) {
		if c.bad() && c.Reason+c.Message != "" {
			found := cause(obj, "%s", join(c.Type+" is "+c.Status, c.Reason, oneLine(c.Message)))
			found.Since = c.since(Status{}).Since
			causes = append(causes, found)
		}
	}
	return causes
}

// bad says whether the condition is known to tell of something that is wrong.
func (c Condition) bad() bool {
	switch c.Type {
	case "Stalled", "Degraded", "Failed", "Failure", "Error":
		return c.isTrue()
	case "Synced", "Healthy", "Succeeded", "Programmed", "Accepted", "ResolvedRefs", "Established", "Deployed", "Released":
		return c.isFalse()
	}
	return c.isFalse() && (strings.HasSuffix(c.Type, "Ready") || strings.HasSuffix(c.Type, "Available"))
}

// leavingCauses says what keeps an object that is being deleted.
func leavingCauses(obj *unstructured.Unstructured) []Cause {
	var causes []Cause
	if finalizers := obj.GetFinalizers(); len(finalizers) > 0 {
		causes = append(causes, cause(obj, "it is being deleted and waits for its finalizers: %s", strings.Join(finalizers, ", ")))
	}
	for _, kind := range []string{"NamespaceDeletionDiscoveryFailure", "NamespaceDeletionContentFailure", "NamespaceContentRemaining", "NamespaceFinalizersRemaining"} {
		if c := ConditionOf(obj, kind); c.isTrue() {
			causes = append(causes, cause(obj, "%s", oneLine(c.Message)))
		}
	}
	return causes
}
