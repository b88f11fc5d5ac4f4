package engine_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/base/limit"
	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/testing/enginetest"
)

// hiccup is what a server answers whose webhook is not there yet.
var hiccup = apierrors.NewInternalError(errors.New(`failed calling webhook "check": no endpoints`))

// A write that fails for a reason that passes is tried again, and holds no slot meanwhile.
func TestAgain(t *testing.T) {
	for _, tc := range []struct {
		name  string
		fails int
		limit time.Duration
		want  string
	}{
		{"until it goes well", 2, 0, `
			retried create configmap/a: Internal error occurred: failed calling webhook "check": no endpoints
			acted create configmap/b succeeded
			settled create configmap/b succeeded (Current)
			retried create configmap/a: Internal error occurred: failed calling webhook "check": no endpoints
			acted create configmap/a succeeded
			settled create configmap/a succeeded (Current)`},
		{"until the time is up", 99, 2500 * time.Millisecond, `
			retried create configmap/a: Internal error occurred: failed calling webhook "check": no endpoints
			acted create configmap/b succeeded
			settled create configmap/b succeeded (Current)
			retried create configmap/a: Internal error occurred: failed calling webhook "check": no endpoints
			retried create configmap/a: Internal error occurred: failed calling webhook "check": no endpoints
			acted create configmap/a failed: timed out after 2.5s: Internal error occurred: failed calling webhook "check": no endpoints
			settled create configmap/a failed: timed out after 2.5s: Internal error occurred: failed calling webhook "check": no endpoints`},
	} {
		each(t, tc.name, func(t *testing.T) {
			w := newWorld(&enginetest.Cluster{Answers: map[object.Ref][]error{}})
			for range tc.fails {
				w.Answers[ref("ConfigMap/a")] = append(w.Answers[ref("ConfigMap/a")], hiccup)
			}
			o := w.judging()
			o.Concurrency, o.Retry.For = 1, limit.OfFlag(tc.limit)
			var last error
			w.hear = func(e event.Event) { last = e.Err }
			w.run(t.Context(), t, o, create("ConfigMap/a"), create("ConfigMap/b"))
			w.expect(t, tc.want)
			timedOut := (*engine.TimedOutError)(nil)
			if tc.limit > 0 &&
				(!errors.As(last, &timedOut) || timedOut.After != tc.limit ||
					!apierrors.IsInternalError(timedOut.Last)) {
				t.Errorf("the error is %#v", last)
			}
		})
	}
}

// rework makes an update of whatever is there, as long as nobody has marked it.
func rework(step *plan.Step, live *unstructured.Unstructured, refused error) (*plan.Step, error) {
	next := *step
	switch live.GetAnnotations()["is"] {
	case "untouchable":
		return nil, fmt.Errorf("not as approved: %w", refused)
	case "as wanted":
		next.Op, next.Have = plan.Unchanged, live
		return &next, nil
	}
	next = update(live, "reworked")
	return &next, nil
}

func TestRework(t *testing.T) {
	exists := apierrors.NewAlreadyExists(schema.GroupResource{Resource: "configmaps"}, "a")
	for _, tc := range []struct {
		name, there string
		changes     bool // the object is there when the step is made
		answers     []error
		want, is    string
		writes      int
	}{
		{"an object that is that exists", "old", false, nil, `
			acted update configmap/a succeeded
			settled create configmap/a succeeded (Current)`, "reworked", 2},
		{"and is as wanted", "as wanted", false, nil, `
			acted unchanged configmap/a succeeded
			settled create configmap/a succeeded (Current)`, "as wanted", 1},
		{"and may not be touched", "untouchable", false, nil, `
			acted create configmap/a failed: not as approved: ConfigMap "a" already exists
			settled create configmap/a failed: not as approved: ConfigMap "a" already exists`, "untouchable", 1},
		{"one that is changed all the time", "old", true, []error{conflict, conflict, conflict}, `
			acted update configmap/a succeeded
			settled update configmap/a succeeded (Current)`, "reworked", 1},
		{"one that is changed ten times", "old", true, []error{conflict, conflict, conflict, conflict, conflict, conflict, conflict, conflict, conflict, conflict}, `
			acted update configmap/a failed: it was changed by others before each of 10 attempts: ` + conflict.Error() + `
			settled update configmap/a failed: it was changed by others before each of 10 attempts: ` + conflict.Error(), "old", 0},
		{"one that is gone again", "", false, []error{exists}, `
			acted create configmap/a succeeded
			settled create configmap/a succeeded (Current)`, "", 1},
	} {
		each(t, tc.name, func(t *testing.T) {
			w := newWorld(
				&enginetest.Cluster{Answers: map[object.Ref][]error{ref("ConfigMap/a"): tc.answers}},
			)
			step := create("ConfigMap/a")
			if tc.there != "" {
				there := w.put(thing("ConfigMap/a", "is="+tc.there))
				if tc.changes {
					step = update(there, "new")
				}
			}
			o := w.judging()
			w.decider = decisions{replan: rework}
			w.run(t.Context(), t, o, step)
			w.expect(t, tc.want)
			if w.is("ConfigMap/a") != tc.is || len(w.Sent) != tc.writes {
				t.Errorf(
					"the object is %q after %d writes, want %q after %d",
					w.is("ConfigMap/a"),
					len(w.Sent),
					tc.is,
					tc.writes,
				)
			}
		})
	}
}

// TestPermit: a step that must not be decided again for a newer state fails, and changes nothing.
func TestPermit(t *testing.T) {
	w := newWorld(&enginetest.Cluster{
		Answers: map[object.Ref][]error{ref("ConfigMap/a"): {conflict}},
	})
	step := update(w.put(thing("ConfigMap/a", "is=old")), "new")
	step.Permit = func(live *unstructured.Unstructured) error {
		return fmt.Errorf("it is %q", live.GetAnnotations()["is"])
	}
	w.decider = decisions{replan: rework}
	w.run(t.Context(), t, w.judging(), step)
	w.expect(t, `
		acted update configmap/a failed: it is "old"
		settled update configmap/a failed: it is "old"`)
	if w.is("ConfigMap/a") != "old" || len(w.Sent) != 0 {
		t.Errorf("the object is %q after %d writes", w.is("ConfigMap/a"), len(w.Sent))
	}
}
