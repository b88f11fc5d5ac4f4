package ready

import (
	"fmt"
	"iter"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// condition is one entry of a list of conditions. The zero value stands for a condition that is not there. One that is
// about an earlier generation of its object says nothing of this one: its status is Unknown, with a reason and a message
// that say so.
type condition struct {
	Type, Status, Reason, Message string

	time string // when it was last written, as far as it tells
}

// conditions gives status.conditions in the order of the object. Elements that are no maps are left out.
func conditions(obj *unstructured.Unstructured) iter.Seq[condition] {
	return conditionsIn(field(obj, "status"), field(obj, "metadata", "generation"))
}

// conditionsIn gives the conditions below a status, which may be that of a part of an object, as a listener's.
func conditionsIn(status, generation any) iter.Seq[condition] {
	items, _ := member(status, "conditions").([]any)
	return func(yield func(condition) bool) {
		for _, item := range items {
			if m, ok := item.(map[string]any); ok && !yield(conditionFrom(m, generation)) {
				return
			}
		}
	}
}

func conditionFrom(m map[string]any, generation any) condition {
	c := condition{Type: str(m, "type"), Status: str(m, "status"), Reason: str(m, "reason"), Message: str(m, "message")}
	c.time = max(str(m, "lastTransitionTime"), str(m, "lastUpdateTime"), str(m, "lastHeartbeatTime"))
	wanted, ok := whole(generation)
	seen, reported := wholeOrDecimal(m["observedGeneration"])
	if ok && reported && seen < wanted {
		c.Status, c.Reason = "Unknown", NotObserved
		c.Message = fmt.Sprintf("condition %s is about generation %d, not %d", c.Type, seen, wanted)
	}
	return c
}

// conditionOf gives the first condition of a type.
func conditionOf(obj *unstructured.Unstructured, kind string) condition {
	return first(conditions(obj), kind)
}

// first gives the first condition of a type.
func first(conditions iter.Seq[condition], kind string) condition {
	for c := range conditions {
		if c.Type == kind {
			return c
		}
	}
	return condition{}
}

// holds says whether the condition is there and true.
func (c condition) holds() bool {
	return c.Status == "True"
}

// refused says whether the condition is there and false.
func (c condition) refused() bool {
	return c.Status == "False"
}

// words gives the condition's message, or what there is to say in its place.
func (c condition) words() string {
	if c.Message != "" {
		return c.Message
	}
	return fmt.Sprintf("condition %s is %s", c.Type, c.Status)
}

// pending gives the state of an object that waits for the condition, which explains it.
func (c condition) pending() Status {
	return inProgress(c.Reason, c.words())
}

// fatal gives the state of an object that the condition has given up.
func (c condition) fatal() Status {
	return c.since(failed(c.Reason, c.words()))
}

// since dates a status by the condition that it rests on.
func (c condition) since(s Status) Status {
	if t, err := time.Parse(time.RFC3339, c.time); err == nil {
		s.Since = t
	}
	return s
}
