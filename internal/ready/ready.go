// Package ready judges what state one live object is in, and why.
//
// In goes an object as the API server returned it; out comes a Status. The judgement is pure: it reads no clock, no
// children and no cluster, so that a watch may ask for it on every event. Fields of the wrong type count as absent, and no
// object makes it panic. Built-in kinds have a small function each; all others are judged by conventions, those that
// kstatus describes (observedGeneration and the conditions Reconciling, Stalled and Ready) before weaker ones. Rules come
// first: those that users write (Parse) and those that come with the tool (Operators). Waiting, deadlines and the state
// of owned objects are the engine's business.
package ready

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// State is one of the words below, which are those of kstatus. The zero value is no state at all: a Rule returns it to
// pass the question on.
type State string

const (
	// Current objects are as their specification wants them.
	Current State = "Current"
	// InProgress objects are on their way; waiting is worth while.
	InProgress State = "InProgress"
	// Failed objects will not become current without a change from outside.
	Failed State = "Failed"
	// Terminating objects are marked for deletion but still there.
	Terminating State = "Terminating"
	// NotFound is the state of an object that the cluster does not have.
	NotFound State = "NotFound"
	// Unknown objects carry a status that no rule understands, or could not be read.
	Unknown State = "Unknown"
)

const (
	// NotReported is the reason of an object that is Current only because nobody has said anything about it: a custom
	// resource without any status, an Ingress without an address. Its controller may not have seen it yet, or may never
	// report. Whoever waits should give such an object a moment before taking it for ready.
	NotReported = "NotReported"
	// NotObserved is the reason of an object whose status, or a condition in it, is about an earlier generation.
	NotObserved = "LatestGenerationNotObserved"
)

// Status is the judgement of one object. Reason is a CamelCase word for machines and may be empty, Message a sentence for
// people.
type Status struct {
	State   State  `json:"status"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`

	// Since is when the condition was written by which the object is Failed; zero if that is not known. A controller may have
	// written it before it saw what the object is now, even where the generations agree.
	Since time.Time `json:"-"`
}

// Same reports whether two judgements say the same, though perhaps by conditions of different times.
func (s Status) Same(other Status) bool {
	return s.State == other.State && s.Reason == other.Reason && s.Message == other.Message
}

// Of judges an object. A nil object is NotFound and one that is being deleted is Terminating. Then those of the given
// rules that match are asked, in order and before everything that is built in, the comparison of generations included;
// then the conventions and the built-in kinds. Of may be called concurrently.
func Of(obj *unstructured.Unstructured, rules ...Rule) Status {
	if obj == nil {
		return Status{State: NotFound, Message: "Resource not found"}
	}
	if text(obj, "metadata", "deletionTimestamp") != "" {
		return terminating()
	}
	kind := kindOf(obj)
	if s := ask(rules, kind, obj); s.State != "" {
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

// kindOf gives the type of an object without its version.
func kindOf(obj *unstructured.Unstructured) schema.GroupKind {
	return schema.FromAPIVersionAndKind(text(obj, "apiVersion"), text(obj, "kind")).GroupKind()
}

// builtin gives the judge of a kind that has a function of its own, family by family, or nil.
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

// judge is what knows a kind. It returns the zero Status when it has nothing to say.
type judge = func(obj *unstructured.Unstructured) Status

func current(message string) Status {
	return Status{State: Current, Message: message}
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
