package ready

import (
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-deploy/muster/internal/object"
)

// Evidence is the part of an object that Causes needs. It is small, since thousands are kept.
type Evidence struct {
	Ref object.Ref
	UID types.UID

	owners     []types.UID // of an event, the involved object
	created    string      // time of its creation, in whole seconds
	causes     []Cause     // from the object's own status
	fallback   []Cause     // used if there are neither causes nor events
	warning    *warning    // of an event
	healthy    bool        // explains nothing
	current    bool        // its status is Current: no event about it counts
	unobserved bool        // the status is about an earlier generation
	leaving    bool        // it is being deleted
	stopping   *stopping   // of a pod that is being deleted

	revision string  // of a Deployment or ReplicaSet
	rollout  rollout // of a StatefulSet or DaemonSet
	podEvidence
	podSelector string // of a Service
	endpoints   int    // of an EndpointSlice: the number of ready endpoints

	kinds       []RelatedKind
	deletesPods bool // its controller deletes pods that failed
}

// RelatedKind is a kind of child objects and the labels that all of them carry; none if unknown.
type RelatedKind struct {
	schema.GroupKind
	Labels    map[string]string
	Namespace string // of the child objects; empty if it is that of the object
	Fields    string // field selector for events that are not warnings; empty for others
}

// RelatedKinds returns the kinds of child objects that explain the object.
func (r *Evidence) RelatedKinds() []RelatedKind { return r.kinds }

// DeletesPods reports whether the controller of the object deletes pods that failed, with their
// logs. They must be seen before.
func (r *Evidence) DeletesPods() bool { return r.deletesPods }

// Leaving reports whether the object is being deleted.
func (r *Evidence) Leaving() bool { return r.leaving }

// Observed reports whether the status is about the current generation. A workload without an
// observed generation is not observed; other objects without one are.
func (r *Evidence) Observed() bool { return !r.unobserved }

// EvidenceOf returns the evidence of an object with the given status. It does not keep the object.
func EvidenceOf(obj *unstructured.Unstructured, s Status) *Evidence {
	r := &Evidence{Ref: object.RefOf(obj), UID: obj.GetUID()}
	kind := obj.GroupVersionKind().GroupKind()
	if kind.Kind == "Event" {
		r.owners = []types.UID{types.UID(text(obj, "involvedObject", "uid"))}
		explains := false
		r.warning, explains = warningOf(obj)
		r.healthy = !explains
		return r
	}
	r.created = inSeconds(text(obj, "metadata", "creationTimestamp"))
	if owner := metav1.GetControllerOfNoCopy(obj); owner != nil { // anybody may add other owners
		r.owners = []types.UID{owner.UID}
	}
	if obj.GetDeletionTimestamp() != nil {
		r.readLeaving(obj)
		return r
	}
	r.current = s.State == Current && s.Reason != NotReported
	r.unobserved = s.Reason == NotObserved || kind.Group == "apps" && !isObserved(obj)
	r.kinds = relatedKinds(kind, obj)
	if hasPods(r) && isProbed(obj) {
		r.kinds = append(r.kinds, killEvents)
	}
	if read := readers[kind]; read != nil {
		read(r, obj, s)
	} else {
		r.causes = conditionCauses(obj)
	}
	if !hasPods(r) && (s.State == InProgress || s.State == Failed) {
		r.fallback = append(r.fallback, cause(obj, "%s", oneLine(s.Message)))
	}
	return r
}

// hasPods reports whether an object is a pod or has pods, which explain more than its own message.
func hasPods(r *Evidence) bool {
	return r.Ref.GroupKind() == podKind ||
		slices.ContainsFunc(r.kinds, func(k RelatedKind) bool { return k.GroupKind == podKind })
}

// readers fill in the evidence of kinds with more than conditions.
var readers = map[schema.GroupKind]func(*Evidence, *unstructured.Unstructured, Status){
	{Group: "apps", Kind: "Deployment"}: func(
		e *Evidence, obj *unstructured.Unstructured, _ Status,
	) {
		e.revision = annotation(obj, "deployment.kubernetes.io/revision")
	},
	replicaSetKind: func(e *Evidence, obj *unstructured.Unstructured, _ Status) {
		e.revision = annotation(obj, "deployment.kubernetes.io/revision")
		e.causes = replicaFailureCauses(obj)
	},
	jobKind: func(e *Evidence, obj *unstructured.Unstructured, _ Status) {
		e.deletesPods = text(obj, "spec", "template", "spec", "restartPolicy") == "OnFailure"
	},
	{Kind: "ReplicationController"}: func(e *Evidence, obj *unstructured.Unstructured, _ Status) {
		e.causes = replicaFailureCauses(obj)
	},
	{Group: "apps", Kind: "StatefulSet"}: func(
		e *Evidence, obj *unstructured.Unstructured, _ Status,
	) {
		e.rollout = rolloutOf(obj)
	},
	{Group: "apps", Kind: "DaemonSet"}: func(
		e *Evidence, obj *unstructured.Unstructured, _ Status,
	) {
		e.rollout = rollout{
			revision: annotation(obj, "deprecated.daemonset.template.generation"),
			onDelete: isOnDelete(obj),
		}
	},
	{Kind: "Service"}: func(e *Evidence, obj *unstructured.Unstructured, _ Status) {
		if text(obj, "spec", "type") != "ExternalName" {
			e.podSelector = labels.Set(textsAt(obj, "spec", "selector")).String()
		}
	},
	endpointSliceKind: func(e *Evidence, obj *unstructured.Unstructured, _ Status) {
		for _, endpoint := range list(obj, "endpoints") {
			if valueAt(endpoint, "conditions", "ready") != false { // absent means ready
				e.endpoints++
			}
		}
	},
	podKind: func(e *Evidence, obj *unstructured.Unstructured, s Status) {
		if s.State != Current {
			e.readPod(obj)
			return
		}
		e.ofJob, e.recovered, e.lastRuns = isOfJob(obj), true, recoveries(obj, time.Now())
		e.healthy = len(e.lastRuns) == 0
	},
	{Kind: "PersistentVolumeClaim"}: func(e *Evidence, obj *unstructured.Unstructured, _ Status) {
		if text(obj, "status", "phase") == "Pending" && text(
			obj, "spec", "storageClassName",
		) == "" {
			e.causes = []Cause{cause(obj, "no volume fits it, and it names no storage class that "+
				"would make one")}
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
		// matchExpressions select fewer objects, so matchLabels suffice.
		common = textsAt(obj, "spec", "selector", "matchLabels")
	}
	related := make([]RelatedKind, len(children))
	for i, child := range children {
		related[i] = RelatedKind{GroupKind: child, Labels: common}
	}
	return related
}

// textsAt returns the strings of the map at a path.
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

// replicaFailureCauses returns why pods cannot be created.
func replicaFailureCauses(obj *unstructured.Unstructured) []Cause {
	if c := ConditionOf(obj, "ReplicaFailure"); c.isTrue() {
		failure := cause(obj, "%s", join(c.Reason, oneLine(c.Message)))
		failure.grade(c.Reason, oneLine(c.Message))
		return []Cause{failure}
	}
	return nil
}

// conditionCauses returns the problems that the conditions of a custom resource report. It ignores
// condition types with unknown polarity, and conditions without reason and message.
func conditionCauses(obj *unstructured.Unstructured) []Cause {
	if isBuiltinGroup(obj.GroupVersionKind().Group) {
		return nil
	}
	var causes []Cause
	for c := range conditions(obj) {
		if c.isProblem() && c.Reason+c.Message != "" {
			found := cause(obj, "%s", join(c.Type+" is "+c.Status, c.Reason, oneLine(c.Message)))
			found.Since = c.since(Status{}).Since
			causes = append(causes, found)
		}
	}
	return causes
}

// isProblem reports whether the condition has a known polarity and reports a problem.
func (c Condition) isProblem() bool {
	switch c.Type {
	case "Stalled", "Degraded", "Failed", "Failure", "Error":
		return c.isTrue()
	case "Synced",
		"Healthy",
		"Succeeded",
		"Programmed",
		"Accepted",
		"ResolvedRefs",
		"Established",
		"Deployed",
		"Released":
		return c.isFalse()
	}
	return c.isFalse() &&
		(strings.HasSuffix(c.Type, "Ready") || strings.HasSuffix(c.Type, "Available"))
}

// delaysDeletion reports whether the condition is about a deletion in progress, such as Terminating
// of a definition and NamespaceContentRemaining.
func (c Condition) delaysDeletion() bool {
	return c.isTrue() && slices.ContainsFunc([]string{"Delet", "Terminating", "Remaining"},
		func(part string) bool { return strings.Contains(c.Type, part) })
}

// deletionCauses returns what delays the deletion of an object.
func deletionCauses(obj *unstructured.Unstructured) []Cause {
	var causes []Cause
	if finalizers := finalizersOf(obj); len(finalizers) > 0 {
		causes = append(
			causes,
			cause(obj, "it is being deleted and waits for its finalizers: %s",
				strings.Join(finalizers, ", ")),
		)
	}
	builtinKind := isBuiltinGroup(obj.GroupVersionKind().Group)
	for c := range conditions(obj) {
		if c.Message != "" && !c.remainsPods() && (c.delaysDeletion() || !builtinKind && c.isProblem()) {
			causes = append(causes, cause(obj, "%s", oneLine(c.Message)))
		}
	}
	return causes
}
