// Package ready computes the status of a live object, and the causes why it is not ready.
//
// The status depends on the object alone: no clock, no child objects and no cluster, so that it can
// be computed for each event of a watch. Fields of the wrong type count as missing, and no object
// causes a panic. Built-in kinds have a function each. All others follow conventions: first that of
// kstatus (observedGeneration and the conditions Reconciling, Stalled and Ready), then weaker ones.
// Rules of users and of package rules precede both. The engine handles waiting, deadlines and child
// objects.
package ready

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// State is a state of kstatus. A Rule returns the zero value if it does not apply.
type State string

const (
	// Current objects match their specification.
	Current State = "Current"
	// InProgress objects are being reconciled.
	InProgress State = "InProgress"
	// Failed objects need a change to become current.
	Failed State = "Failed"
	// Terminating objects have a deletion timestamp.
	Terminating State = "Terminating"
	// NotFound objects do not exist.
	NotFound State = "NotFound"
	// Unknown objects have a status that no rule understands, or could not be read.
	Unknown State = "Unknown"
)

const (
	// NotReported is the reason of an object that is Current without a report of its controller: a
	// custom resource without a status, or an Ingress without an address. The controller may not
	// have seen the object yet, or may never report. Callers that wait should wait a moment longer.
	NotReported = "NotReported"
	// NotObserved is the reason of an object with a status or condition of an earlier generation.
	NotObserved = "LatestGenerationNotObserved"
)

// Status is the status of one object. Reason is a CamelCase word or empty, Message a sentence.
type Status struct {
	State   State  `json:"status"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`

	// Since is the time at which the condition was written that makes the object Failed, or at which
	// its container crashed; zero if unknown. The condition may be older than the last change even if
	// the generations agree.
	Since time.Time `json:"-"`
	// Warns is true if the object is Current, and Message is what users should know all the same.
	Warns bool `json:"-"`
}

// Same reports whether two statuses are equal to those who read them: names of temporary files may
// differ.
func (s Status) Same(other Status) bool {
	return s.State == other.State && s.Reason == other.Reason && sameText(s.Message, other.Message)
}

// Of returns the status of an object. A nil object is NotFound, one in deletion Terminating. The
// given rules that match come first, in order, even before the comparison of generations. The
// conventions and the built-in kinds follow. Of may be called concurrently.
func Of(obj *unstructured.Unstructured, rules ...Rule) Status {
	if obj == nil {
		return Status{State: NotFound, Message: "Resource not found"}
	}
	if text(obj, "metadata", "deletionTimestamp") != "" {
		return terminating()
	}
	kind := kindOf(obj)
	if s := applyRules(rules, kind, obj); s.State != "" {
		return s
	}
	if s := ByGeneration(obj); s.State != "" {
		return s
	}
	if s := byProgress(obj); s.State != "" {
		return s
	}
	if judge := builtin(kind); judge != nil {
		if s := judge(obj); s.State != "" {
			return s
		}
	}
	return byConvention(kind, obj)
}

// kindOf returns the group and kind of an object.
func kindOf(obj *unstructured.Unstructured) schema.GroupKind {
	return schema.FromAPIVersionAndKind(text(obj, "apiVersion"), text(obj, "kind")).GroupKind()
}

// builtin returns the judge of a kind that has a function of its own, or nil.
func builtin(kind schema.GroupKind) judge {
	for _, family := range [...]func(schema.GroupKind) judge{
		workloads, pods, batch, networking, gateways, storage, scaling, clusterKinds, admission,
	} {
		if judge := family(kind); judge != nil {
			return judge
		}
	}
	return nil
}

// judge returns the status of an object, or the zero Status if it does not apply.
type judge = func(obj *unstructured.Unstructured) Status

func current(message string) Status {
	return Status{State: Current, Message: message}
}

func currentWith(warning string) Status {
	return Status{State: Current, Message: warning, Warns: true}
}

func inProgress(reason, message string) Status {
	return Status{State: InProgress, Reason: reason, Message: message}
}

func failed(reason, message string) Status {
	return Status{State: Failed, Reason: reason, Message: message}
}

func terminating() Status {
	return Status{State: Terminating, Message: "Resource scheduled for deletion"}
}

func notReported(message string) Status {
	return Status{State: Current, Reason: NotReported, Message: message}
}
