// Package ready judges what state one live object is in, and why.
//
// In goes an object as the API server returned it; out comes a Status. The judgement is pure: it reads no clock, no
// children and no cluster, so that a watch may ask for it on every event. Fields of the wrong type count as absent, and no
// object makes it panic. Built-in kinds have a rule each; all others are judged by the conventions that kstatus
// describes (observedGeneration and the conditions Reconciling, Stalled and Ready). Waiting, deadlines and the state of
// owned objects are the engine's business.
package ready

import (
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

// Status is the judgement of one object. Reason is a CamelCase word for machines and may be empty, Message a sentence for
// people.
type Status struct {
	State   State  `json:"status"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
}

// Rule judges the objects of one type, whatever their version. Judge must not change the object or keep it; it returns
// the zero Status when it has nothing to say, and then the next rule is asked.
type Rule struct {
	GroupKind schema.GroupKind
	Judge     func(obj *unstructured.Unstructured) Status
}

// Of judges an object. A nil object is NotFound and one that is being deleted is Terminating. Then the given rules are
// asked, in order and before everything that is built in, the comparison of generations included; then the conventions
// and the built-in rules. Of may be called concurrently.
func Of(obj *unstructured.Unstructured, rules ...Rule) Status {
	if obj == nil {
		return Status{State: NotFound, Message: "Resource not found"}
	}
	if text(obj, "metadata", "deletionTimestamp") != "" {
		return terminating()
	}
	if s := ask(rules, obj); s.State != "" {
		return s
	}
	for _, judge := range []func(*unstructured.Unstructured) Status{byGeneration, byProgress, byKind, byReady} {
		if s := judge(obj); s.State != "" {
			return s
		}
	}
	return current("Resource is current")
}

// ask gives the answer of the first rule for the object's type that has one.
func ask(rules []Rule, obj *unstructured.Unstructured) Status {
	kind := obj.GroupVersionKind().GroupKind()
	for _, rule := range rules {
		if rule.GroupKind != kind {
			continue
		}
		if s := rule.Judge(obj); s.State != "" {
			return s
		}
	}
	return Status{}
}

// byKind asks the built-in rules, family by family.
func byKind(obj *unstructured.Unstructured) Status {
	for _, family := range []func() []Rule{workloads, pods, batch, networking, storage, foundations} {
		if s := ask(family(), obj); s.State != "" {
			return s
		}
	}
	return Status{}
}

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
