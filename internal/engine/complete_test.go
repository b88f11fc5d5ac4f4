package engine_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/testing/enginetest"
)

// taker is a ConfigMap whose data.value is taken from a source.
func taker(name, source, path string, annotations ...string) *unstructured.Unstructured {
	obj := thing("ConfigMap/"+name, append(annotations, "takes="+source+" "+path+" $.data.value")...)
	obj.Object["data"] = map[string]any{"value": "?"}
	return obj
}

// given is a ConfigMap whose data.value is given.
func given(name, value string, annotations ...string) *unstructured.Unstructured {
	obj := thing("ConfigMap/"+name, annotations...)
	obj.Object["data"] = map[string]any{"value": value}
	return obj
}

func (w *world) expectValue(t *testing.T, name string, want any) {
	t.Helper()
	obj := w.Object(ref("ConfigMap/" + name))
	if obj == nil {
		t.Fatalf("ConfigMap %s does not exist", name)
	}
	if diff := cmp.Diff(want, obj.Object["data"].(map[string]any)["value"]); diff != "" {
		t.Errorf("value of %s (-want +got):\n%s", name, diff)
	}
}

func TestValueIsTakenFromWhatWasSeenWhenTheSourceWasReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(&enginetest.Cluster{Script: map[object.Ref][]enginetest.Change{
			ref("Deployment/db"): {{After: time.Minute, Status: available}},
		}})
		desired := want(
			taker("b", "ConfigMap/a", "$.data.value"),
			taker("a", "Deployment/db", "$.status.conditions[0].status"),
			thing("Deployment/db"),
		)
		if _, err := w.apply(t.Context(), policy(), realRun, desired...); err != nil {
			t.Fatal(err)
		}
		w.expect(t, `
			acted create deployment.apps/db succeeded
			waiting create deployment.apps/db (InProgress)
			settled create deployment.apps/db succeeded (Current)
			acted create configmap/a succeeded
			settled create configmap/a succeeded (Current)
			acted create configmap/b succeeded
			settled create configmap/b succeeded (Current)`)
		w.expectValue(t, "a", "True")
		w.expectValue(t, "b", "True")
		if len(w.Asked) != 1 {
			t.Errorf("%d reads, want the one before the plan", len(w.Asked))
		}

		w.Wrote = nil
		if _, err := w.apply(t.Context(), policy(), realRun, desired...); err != nil {
			t.Fatal(err)
		}
		w.expect(t, `
			acted unchanged deployment.apps/db succeeded
			settled unchanged deployment.apps/db succeeded (Current)
			acted unchanged configmap/a succeeded
			settled unchanged configmap/a succeeded (Current)
			acted unchanged configmap/b succeeded
			settled unchanged configmap/b succeeded (Current)`)
		if diff := cmp.Diff([]string{"save record"}, w.Wrote); diff != "" {
			t.Errorf("writes of a run that changes nothing (-want +got):\n%s", diff)
		}
	})
}

// TestValueIsTakenWhenItIsNeeded has a value change between the plan and the write that needs it.
func TestValueIsTakenWhenItIsNeeded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(&enginetest.Cluster{})
		if _, err := w.apply(t.Context(), policy(), realRun,
			want(given("a", "old"), taker("b", "ConfigMap/a", "$.data.value"))...); err != nil {
			t.Fatal(err)
		}
		w.lines = nil
		if _, err := w.apply(t.Context(), policy(), realRun,
			want(given("a", "new"), taker("b", "ConfigMap/a", "$.data.value"))...); err != nil {
			t.Fatal(err)
		}
		w.expect(t, `
			acted update configmap/a succeeded
			settled update configmap/a succeeded (Current)
			acted update configmap/b succeeded
			settled update configmap/b succeeded (Current)`)
		w.expectValue(t, "b", "new")
	})
}

// TestValueIsNotTakenFromBeforeOurWrite has a watch show the source, which is not waited for, just
// before it is written.
func TestValueIsNotTakenFromBeforeOurWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		status := func(ready string) map[string]any {
			return map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": ready}}}
		}
		widget := func(name, value, ready string, annotations ...string) *unstructured.Unstructured {
			obj := thing("Widget/"+name, annotations...)
			obj.Object["data"], obj.Object["status"] = map[string]any{"value": value}, status(ready)
			return obj
		}
		desired := func(value string) []plan.Desired {
			return want(
				widget("first", value, "False"),
				widget("source", value, "True", "nowait=yes", "after=Widget/first"),
				taker("b", "Widget/source", "$.data.value"),
			)
		}
		p := patient(policy())
		w := newWorld(
			&enginetest.Cluster{
				Script: map[object.Ref][]enginetest.Change{
					ref("Widget/first"): {{After: time.Second, Status: status("True")}},
				},
			},
		)
		if _, err := w.apply(t.Context(), p, realRun, desired("old")...); err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(500*time.Millisecond, func() { w.Put(w.Object(ref("Widget/source"))) })
		if _, err := w.apply(t.Context(), p, realRun, desired("new")...); err != nil {
			t.Fatal(err)
		}
		w.expectValue(t, "b", "new")
	})
}

// TestValueOfAKeptObjectIsRead takes a value from an object that is not wanted any more, and is
// kept for that.
func TestValueOfAKeptObjectIsRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(&enginetest.Cluster{})
		if _, err := w.apply(t.Context(), policy(), realRun,
			want(given("a", "old"))...); err != nil {
			t.Fatal(err)
		}
		w.lines, w.Asked = nil, nil
		if _, err := w.apply(t.Context(), policy(), realRun,
			want(taker("b", "ConfigMap/a", "$.data.value"))...); err != nil {
			t.Fatal(err)
		}
		w.expect(t, `
			acted create configmap/b succeeded
			settled create configmap/b succeeded (Current)
			acted keep configmap/a skipped: n/configmap/b depends on it
			settled keep configmap/a skipped`)
		w.expectValue(t, "b", "old")
		if len(w.Asked) != 2 || !cmp.Equal(w.Asked[1], []object.Ref{ref("ConfigMap/a")}) {
			t.Errorf("asked for %v, want the plan's read and then the source", w.Asked)
		}
	})
}

func TestWhatCannotBeCompletedFailsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(&enginetest.Cluster{})
		if _, err := w.apply(t.Context(), policy(), realRun,
			want(thing("ConfigMap/old"))...); err != nil {
			t.Fatal(err)
		}
		w.lines = nil
		summary, err := w.apply(
			t.Context(),
			policy(),
			realRun,
			want(given("a", "x"), taker("b", "ConfigMap/a", "$.data.absent"),
				taker("c", "ConfigMap/b", "$.data.value"), given("d", "x", "after=ConfigMap/a"))...)
		if err != nil || summary.Failures() != 1 {
			t.Errorf("apply = %+v, %v; want one failure", summary, err)
		}
		slices.Sort(w.lines) // b and d do not wait for each other
		w.expect(t, `
			acted create configmap/a succeeded
			acted create configmap/b failed: failed to mutate: n/configmap/a has no value at $.data.absent
			acted create configmap/c skipped
			acted create configmap/d succeeded
			acted delete configmap/old skipped: nothing is pruned after a failure
			settled create configmap/a succeeded (Current)
			settled create configmap/b failed: failed to mutate: n/configmap/a has no value at $.data.absent
			settled create configmap/c skipped
			settled create configmap/d succeeded (Current)
			settled delete configmap/old skipped`)
		w.expectRecord(
			t,
			"configmap/old Delete Skipped Skipped",
			"configmap/a Apply Succeeded Succeeded",
			"configmap/d Apply Succeeded Succeeded",
		)
	})
}

func TestDryRunKnowsValues(t *testing.T) {
	for _, mode := range []engine.DryRun{engine.DryRunClient, engine.DryRunServer} {
		t.Run(string(mode), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(&enginetest.Cluster{})
				if _, err := w.apply(t.Context(), policy(), realRun,
					want(given("there", "x"))...); err != nil {
					t.Fatal(err)
				}
				w.lines, w.Wrote = nil, nil
				summary, err := w.apply(
					t.Context(),
					policy(),
					engine.Options{DryRun: mode},
					want(
						given("a", "x"),
						taker("b", "ConfigMap/a", "$.data.value"),
						taker("c", "ConfigMap/a", "$.status.value"),
						taker("d", "ConfigMap/there", "$.data.absent"),
						given("there", "x"),
					)...)
				if err != nil || summary.Failures() != 1 {
					t.Errorf("apply = %+v, %v; want one failure", summary, err)
				}
				acted := slices.DeleteFunc(
					w.lines,
					func(line string) bool { return !strings.HasPrefix(line, "acted") },
				)
				slices.Sort(acted)
				want := []string{
					"acted create configmap/a succeeded",
					"acted create configmap/b succeeded",
					"acted create configmap/c succeeded: to be completed: n/configmap/a has no value at " +
						"$.status.value yet",
					"acted create configmap/d failed: failed to mutate: n/configmap/there has no value at " +
						"$.data.absent",
					"acted unchanged configmap/there succeeded",
				}
				if diff := cmp.Diff(want, acted); diff != "" || len(w.Wrote) != 0 {
					t.Errorf("written: %v; events (-want +got):\n%s", w.Wrote, diff)
				}
			})
		})
	}
}

// TestObjectOfAnotherKindStaysInTheRecordUntilItIsApplied moves an object to another group in which
// the cluster shows the same object.
func TestObjectOfAnotherKindStaysInTheRecordUntilItIsApplied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(
			&enginetest.Cluster{
				Script: map[object.Ref][]enginetest.Change{ref("Deployment/w"): {{Status: available}}},
			},
		)
		if _, err := w.apply(t.Context(), policy(), realRun,
			want(thing("Widget/w"))...); err != nil {
			t.Fatal(err)
		}
		moved := thing("Deployment/w", "owner=me")
		moved.SetUID(w.Object(ref("Widget/w")).GetUID())
		w.Put(moved)
		w.Fails = map[object.Ref]error{ref("Deployment/w"): enginetest.ErrDead}
		for _, stays := range []bool{true, false} {
			if _, err := w.apply(t.Context(), plan.Policy{Owner: policy().Owner}, realRun,
				want(thing("Deployment/w", "new=annotation"))...); err != nil {
				t.Fatal(err)
			}
			found := false
			for _, m := range w.store.State.Members {
				found = found || m.Ref == ref("Widget/w")
			}
			if found != stays || w.Object(ref("Widget/w")) == nil {
				t.Errorf("in the record: %t, want %t; object: %v", found, stays, w.Object(ref("Widget/w")))
			}
			w.Fails = nil
		}
	})
}
