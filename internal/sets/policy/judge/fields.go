package judge

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// text returns the string at a path, or "".
func (o live) text(path ...string) string {
	s, _, _ := unstructured.NestedString(o.Object, path...)
	return s
}

// integer returns the integer at a path.
func (o live) integer(path ...string) (int64, bool) {
	n, found, err := unstructured.NestedInt64(o.Object, path...)
	return n, found && err == nil
}

// count returns the integer at a path, or the fallback.
func (o live) count(fallback int64, path ...string) int64 {
	if n, found := o.integer(path...); found {
		return n
	}
	return fallback
}

// maps returns the maps of the list at a path.
func (o live) maps(path ...string) []map[string]any {
	value, _, _ := unstructured.NestedFieldNoCopy(o.Object, path...)
	items, _ := value.([]any)
	var found []map[string]any
	for _, item := range items {
		if m, ok := item.(map[string]any); ok {
			found = append(found, m)
		}
	}
	return found
}

// unobserved returns a judgement for an object whose controller has not observed its present
// generation.
func (o live) unobserved() (Judgement, bool) {
	generation := o.GetGeneration()
	return ongoing(fmt.Sprintf("Waiting for generation %d to be observed", generation)),
		generation != o.count(0, "status", "observedGeneration")
}

// condition is one entry of status.conditions; zero if there is none.
type condition struct {
	status, reason, message string

	written time.Time
}

// condition returns the first condition of a type. Its observedGeneration is ignored.
func (o live) condition(name string) condition {
	for _, m := range o.maps("status", "conditions") {
		if m["type"] == name {
			c := condition{written: WrittenAt(m)}
			c.status, _ = m["status"].(string)
			c.reason, _ = m["reason"].(string)
			c.message, _ = m["message"].(string)
			return c
		}
	}
	return condition{}
}

// WrittenAt returns when a condition was written last; zero if it does not say.
func WrittenAt(condition map[string]any) time.Time {
	var last time.Time
	for _, key := range [...]string{"lastTransitionTime", "lastUpdateTime"} {
		text, _ := condition[key].(string)
		if at, err := time.Parse(time.RFC3339, text); err == nil && at.After(last) {
			last = at
		}
	}
	return last
}

// fails returns the judgement of an object that failed by the condition.
func (c condition) fails(message string) Judgement {
	j := failed(message)
	j.Since = c.written
	return j
}

func (c condition) holds() bool { return c.status == "True" }

// words returns the reason, with the message if there is one.
func (c condition) words() string {
	if c.message == "" {
		return c.reason
	}
	return c.reason + " (message: " + c.message + ")"
}
