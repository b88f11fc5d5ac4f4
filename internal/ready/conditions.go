package ready

import (
	"fmt"
	"iter"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Condition is one entry of status.conditions. The zero value is a missing condition. The status of
// a condition about an earlier generation is Unknown; its reason and message say why.
type Condition struct {
	Type, Status, Reason, Message string

	time     string // of the last write, empty if unknown
	observed bool   // the condition says that it is about the present generation
}

// Facts are the parts of an object that tables print besides its status.
type Facts struct {
	Conditions []Condition
	Created    time.Time // zero if unknown
	Completed  time.Time // when a Job has succeeded; zero for others
}

// FactsOf returns the facts of an object.
func FactsOf(obj *unstructured.Unstructured) *Facts {
	return &Facts{
		Conditions: slices.Collect(conditions(obj)),
		Created:    obj.GetCreationTimestamp().Time,
		Completed:  completedAt(obj),
	}
}

// completedAt returns when a Job has succeeded, zero for a Job that has not and for other objects.
func completedAt(obj *unstructured.Unstructured) (at time.Time) {
	if obj.GroupVersionKind().GroupKind() == jobKind && ConditionOf(obj, "Complete").isTrue() {
		at, _ = time.Parse(time.RFC3339, text(obj, "status", "completionTime"))
	}
	return at
}

// RemovesItself reports whether an object, which may be nil, is a Job that has succeeded and is
// removed by its own ttlSecondsAfterFinished.
func RemovesItself(obj *unstructured.Unstructured) bool {
	return obj != nil && !completedAt(obj).IsZero() &&
		field(obj, "spec", "ttlSecondsAfterFinished") != nil
}

// IsRemovingItself reports whether an object, which may be nil, is a Job that has succeeded and is
// being deleted, and not before its ttlSecondsAfterFinished.
func IsRemovingItself(obj *unstructured.Unstructured) bool {
	if !RemovesItself(obj) || obj.GetDeletionTimestamp() == nil {
		return false
	}
	seconds, _ := field(obj, "spec", "ttlSecondsAfterFinished").(int64)
	due := completedAt(obj).Add(time.Duration(seconds) * time.Second)
	return !obj.GetDeletionTimestamp().Time.Before(due)
}

// ConditionOf returns the first condition of a type, or the zero Condition.
func ConditionOf(obj *unstructured.Unstructured, kind string) Condition {
	for c := range conditions(obj) {
		if c.Type == kind {
			return c
		}
	}
	return Condition{}
}

// conditions returns status.conditions in the order of the object. It skips elements that are not
// maps.
func conditions(obj *unstructured.Unstructured) iter.Seq[Condition] {
	return conditionsIn(field(obj, "status"), field(obj, "metadata", "generation"))
}

// conditionsIn returns the conditions of a status, which may be that of a part of an object, such
// as a listener.
func conditionsIn(status, generation any) iter.Seq[Condition] {
	items, _ := member(status, "conditions").([]any)
	return func(yield func(Condition) bool) {
		for _, item := range items {
			if m, ok := item.(map[string]any); ok && !yield(conditionFrom(m, generation)) {
				return
			}
		}
	}
}

func conditionFrom(m map[string]any, generation any) Condition {
	c := Condition{
		Type: str(m, "type"), Status: str(m, "status"),
		Reason: str(m, "reason"), Message: str(m, "message"),
	}
	c.time = max(
		str(m, "lastTransitionTime"), str(m, "lastUpdateTime"), str(m, "lastHeartbeatTime"),
	)
	wanted, ok := wholeNumber(generation)
	seen, reported := wholeOrDecimal(m["observedGeneration"])
	c.observed = ok && reported && seen == wanted
	if ok && reported && seen < wanted {
		c.Status, c.Reason = "Unknown", NotObserved
		c.Message = fmt.Sprintf("condition %s is about generation %d, not %d", c.Type, seen, wanted)
	}
	return c
}

// isTrue reports whether the condition exists and is true.
func (c Condition) isTrue() bool { return c.Status == "True" }

// isFalse reports whether the condition exists and is false.
func (c Condition) isFalse() bool { return c.Status == "False" }

// text returns the condition's message, or a default.
func (c Condition) text() string {
	if c.Message != "" {
		return c.Message
	}
	return fmt.Sprintf("condition %s is %s", c.Type, c.Status)
}

// pending returns the status of an object that waits for the condition.
func (c Condition) pending() Status {
	return inProgress(c.Reason, c.text())
}

// fatal returns the status of an object that the condition declares failed.
func (c Condition) fatal() Status {
	return c.since(failed(c.Reason, c.text()))
}

// since returns s with the time at which the condition was written.
func (c Condition) since(s Status) Status {
	if t, err := time.Parse(time.RFC3339, c.time); err == nil {
		s.Since = t
	}
	return s
}
