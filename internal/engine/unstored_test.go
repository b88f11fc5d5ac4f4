package engine_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/base/limit"
	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/testing/enginetest"
)

// pruning serves a definition some time after it was written: until then it stores boats without
// the field sail, with a warning that only the caller's log has.
type pruning struct {
	*enginetest.Cluster
	lag     time.Duration
	lenient bool // it drops the field also if it is to refuse unknown ones
	written *time.Time
	early   *int // how many boats were sent before the definition was served
}

func (p pruning) Write(ctx context.Context, w cluster.Write) (*unstructured.Unstructured, error) {
	if w.Object.GetKind() == "CustomResourceDefinition" && !w.DryRun {
		*p.written = time.Now()
	}
	if w.Object.GetKind() == "Boat" && time.Since(*p.written) < p.lag {
		if *p.early++; w.FieldValidation == cluster.FieldsStrict && !p.lenient {
			return nil, apierrors.NewBadRequest(
				`Boat in version "v1" cannot be handled as a Boat: strict decoding error: unknown field "sail"`)
		}
		p.Stores = func(obj *unstructured.Unstructured) { delete(obj.Object, "sail") }
		defer func() { p.Stores = nil }()
	}
	return p.Cluster.Write(ctx, w)
}

// sailing returns a boat of the set with the field sail.
func sailing() *unstructured.Unstructured {
	obj := boat("sail")
	obj.SetAnnotations(map[string]string{"owner": "me"})
	return obj
}

// An answer that lacks what was sent is no success while the run has changed the definition, unless
// the server had published that before.
func TestAnswerLacksWhatWasSent(t *testing.T) {
	definition, soon, never := boats("length", "sail"), 8*time.Second, time.Hour
	for name, tc := range map[string]struct {
		lag        time.Duration
		lenient    bool
		publishes  time.Duration
		desired    []*unstructured.Unstructured
		serverSide bool
		failed     int
		field      bool // the field is stored
		noted      bool // it is said not to be
	}{
		"refuses unknown fields":  {soon, false, soon, both(definition), false, 0, true, false},
		"drops them":              {soon, true, soon, both(definition), false, 0, true, false},
		"drops them, server-side": {soon, true, soon, both(definition), true, 0, true, false},
		"drops them for ever":     {never, true, never, both(definition), false, 1, false, false},
		"a webhook drops them":    {never, true, 0, both(definition), false, 0, false, true},
		"webhook, server-side":    {never, true, 0, both(definition), true, 0, false, true},
		"published late":          {never, true, soon, both(definition), false, 0, false, true},
		"not declared":            {never, true, 0, both(boats("length", "mast")), false, 0, false, true},
		"definition of others":    {never, true, 0, both(nil), false, 0, false, true},
	} {
		for _, exists := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := newWorld(&enginetest.Cluster{Publishes: tc.publishes})
					w.Put(boats("length"))
					if exists {
						old := sailing()
						delete(old.Object, "sail")
						w.Put(old)
					}
					written, early := time.Now(), 0
					summary, lines := w.applyPruned(t, tc.serverSide, pruning{
						w.Cluster, tc.lag, tc.lenient, &written, &early,
					}, tc.desired...)
					if summary.Failures() != tc.failed {
						t.Errorf("%+v\n%s", summary, lines)
					}
					if tc.failed > 0 && !strings.Contains(lines, "sail") {
						t.Errorf("no line names the field:\n%s", lines)
					}
					stored := w.Object(object.RefOf(sailing()))
					if got := stored != nil && stored.Object["sail"] == "x"; got != tc.field {
						t.Errorf("stored %v\n%s", stored, lines)
					}
					if noted := strings.Contains(lines, "[sail]"); noted != tc.noted {
						t.Errorf("the event says that it is not stored: %v\n%s", noted, lines)
					}
				})
			})
		}
	}
}

// What depends on a definition starts when the server serves the new one.
func TestUpdatedDefinitionIsServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(&enginetest.Cluster{Publishes: 2 * time.Second})
		w.Put(boats("length"))
		written, early := time.Now(), 0
		_, lines := w.applyPruned(t, false, pruning{
			w.Cluster, 2 * time.Second, true, &written, &early,
		}, both(boats("length", "sail"))...)
		if early > 0 {
			t.Errorf("%d boats were sent before their definition was served:\n%s", early, lines)
		}
	})
}

// both returns a definition, unless it is nil, and a boat.
func both(definition *unstructured.Unstructured) []*unstructured.Unstructured {
	if definition == nil {
		return []*unstructured.Unstructured{sailing()}
	}
	return []*unstructured.Unstructured{definition, sailing()}
}

// applyPruned applies objects, and returns the summary and the events.
func (w *world) applyPruned(
	t *testing.T, serverSide bool, c pruning, desired ...*unstructured.Unstructured,
) (event.Summary, string) {
	t.Helper()
	some := policy()
	some.ServerSide, some.Force = serverSide, true
	e := &engine.Engine{Cluster: c, Records: w.store}
	p, err := e.Plan(t.Context(), engine.Request{Desired: want(desired...), Policy: some})
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	summary, err := e.Apply(t.Context(), p, engine.Options{
		DryRun: engine.DryRunNone,
		Retry:  engine.Retry{For: limit.After(30 * time.Second)},
	}, func(ev event.Event) {
		lines = append(lines, fmt.Sprintf("%s %v %v", line(ev), ev.Unstored, ev.Err))
	})
	if err != nil {
		t.Fatal(err)
	}
	return summary, strings.Join(lines, "\n")
}
