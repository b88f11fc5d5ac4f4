package ready

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-deploy/muster/internal/object"
)

const (
	// stopDelay is how long a deletion may take before its cause is worth printing: most pods stop at
	// once, and controllers remove their finalizers.
	stopDelay = 3 * time.Second
	// namespaceDelay is the same for namespaces: their controller needs a moment.
	namespaceDelay = 10 * time.Second
	// stopSlack is how long after the grace period the kubelet may report the end of a pod.
	stopSlack = 5 * time.Second
	// stopTogether is the precision with which pods count as stopped together.
	stopTogether = 10 * time.Second
)

var namespaceKind = schema.GroupKind{Kind: "Namespace"}

// stopping is the end of a pod that is being deleted.
type stopping struct {
	since      time.Time // time of the request to delete it
	grace      time.Duration
	specified  bool     // the grace period is that of its specification
	node       string   // the node that stops it
	hooks      []string // containers with a preStop hook
	ended      bool     // its containers have ended
	finalizers []string
}

// stoppingOf returns the end of a pod that is being deleted.
func stoppingOf(pod *unstructured.Unstructured) *stopping {
	seconds, _ := integer(pod, "metadata", "deletionGracePeriodSeconds")
	specified, ok := integer(pod, "spec", "terminationGracePeriodSeconds")
	s := &stopping{
		grace:      time.Duration(seconds) * time.Second,
		specified:  ok && specified == seconds,
		node:       text(pod, "spec", "nodeName"),
		ended:      isEnded(pod) || seconds == 0,
		finalizers: finalizersOf(pod),
	}
	s.since = pod.GetDeletionTimestamp().Add(-s.grace) // the API adds the grace period
	for _, container := range list(pod, "spec", "containers") {
		if valueAt(container, "lifecycle", "preStop") != nil {
			s.hooks = append(s.hooks, str(container, "name"))
		}
	}
	return s
}

// cause returns why the pod is not gone at a time.
func (s *stopping) cause(pod object.Ref, now time.Time) Cause {
	c := Cause{Object: pod, Count: 1, Delay: stopDelay}
	if s.ended && len(s.finalizers) > 0 {
		c.Message = "stopped, and waits for its finalizers: " + strings.Join(s.finalizers, ", ")
		return c
	}
	age := max(now.Sub(s.since), 0).Truncate(time.Second)
	overdue := s.since.Add(s.grace + stopSlack)
	c.similarity = "stopping since " + s.since.Truncate(stopTogether).String()
	if c.Message = fmt.Sprintf("stopping for %s", age); !now.Before(overdue) {
		c.similarity, c.Delay = "not "+c.similarity, 0
		c.Message += fmt.Sprintf(", but its grace period was %s: node %s has not reported the end of "+
			"its containers", s.grace, s.node)
		return c
	}
	c.Until = overdue
	c.Message += fmt.Sprintf("; grace period %s", s.grace)
	if s.specified {
		c.Message += " (terminationGracePeriodSeconds)"
	}
	if len(s.hooks) > 0 {
		c.Message += ", with the preStop hook of container " + strings.Join(s.hooks, ", ")
	}
	return c
}

// readLeaving fills in the evidence of an object that is being deleted.
func (r *Evidence) readLeaving(obj *unstructured.Unstructured) {
	r.leaving = true
	switch kind := r.Ref.GroupKind(); {
	case kind == podKind:
		r.stopping = stoppingOf(obj)
		r.readLeavingPod(obj)
		r.owners = append(r.owners, podsOf(r.Ref.Namespace))
		return
	case kind == namespaceKind:
		r.kinds = []RelatedKind{{GroupKind: podKind, Namespace: r.Ref.Name}}
		empty := cause(obj, "waits for the namespace controller, which deletes what is left in the "+
			"namespace when it looks again: after up to half the longest grace period of the pods")
		empty.Delay = namespaceDelay
		r.fallback = []Cause{empty}
	case slices.Contains(ChildKinds(kind), podKind):
		r.kinds = relatedKinds(kind, obj)
	}
	r.causes = deletionCauses(obj)
	if slices.Contains(obj.GetFinalizers(), metav1.FinalizerDeleteDependents) {
		dependents := cause(obj, "waits until its dependents are deleted")
		dependents.Delay = stopDelay
		r.fallback = append(r.fallback, dependents)
	}
}

// podsOf returns the owner of the pods of a namespace that are being deleted. It is no UID of an
// object: pods do not refer to that of their namespace.
func podsOf(namespace string) types.UID { return types.UID("namespace/" + namespace) }

// childrenOwner returns the owner that the child objects of an object have.
func (r *Evidence) childrenOwner() types.UID {
	if r.leaving && r.Ref.GroupKind() == namespaceKind {
		return podsOf(r.Ref.Name)
	}
	return r.UID
}

// jobTracking is the finalizer of pods until their Job has counted them.
const jobTracking = "batch.kubernetes.io/job-tracking"

// finalizersOf returns the finalizers for which the deletion of an object waits. It omits that of
// the garbage collector, since the dependents of the object explain more, and that of Jobs.
func finalizersOf(obj *unstructured.Unstructured) []string {
	return slices.DeleteFunc(obj.GetFinalizers(), func(name string) bool {
		return name == metav1.FinalizerDeleteDependents || name == jobTracking
	})
}

// remainsPods reports whether the condition says of a deleted namespace that pods remain, and
// nothing else: the pods explain more.
func (c Condition) remainsPods() bool {
	remaining, ok := strings.CutPrefix(c.Message, "Some resources are remaining: pods. has ")
	return ok && !strings.Contains(remaining, ", ")
}
