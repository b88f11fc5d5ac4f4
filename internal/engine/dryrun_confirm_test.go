package engine_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/diff"
	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/testing/enginetest"
)

// TestClientDryRunConfirmsChanges plans an object that the server stores without one of its values,
// an unchanged one, one that really changes, and one that the user may not patch.
func TestClientDryRunConfirmsChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(&enginetest.Cluster{Stores: func(obj *unstructured.Unstructured) {
			unstructured.RemoveNestedField(obj.Object, "data", "dropped")
		}})
		dropped := given("dropped", "x")
		dropped.Object["data"].(map[string]any)["dropped"] = "y"
		run := func(dryRun engine.DryRun, value string) {
			t.Helper()
			if _, err := w.apply(t.Context(), policy(), engine.Options{DryRun: dryRun}, want(dropped,
				given("same", "x"), given("changed", value), given("denied", value))...); err != nil {
				t.Fatal(err)
			}
		}
		run(engine.DryRunNone, "x")
		w.lines, w.Sent, w.Wrote = nil, nil, nil
		w.Fails = map[object.Ref]error{
			ref("ConfigMap/denied"): apierrors.NewForbidden(schema.GroupResource{}, "denied", nil),
		}
		run(engine.DryRunClient, "z")
		acted := slices.DeleteFunc(w.lines, func(line string) bool {
			return !strings.HasPrefix(line, "acted")
		})
		slices.Sort(acted)
		if d := cmp.Diff([]string{
			"acted unchanged configmap/dropped succeeded",
			"acted unchanged configmap/same succeeded",
			"acted update configmap/changed succeeded",
			"acted update configmap/denied succeeded",
		}, acted); d != "" {
			t.Errorf("events (-want +got):\n%s", d)
		}
		if len(w.Sent) != 2 || len(w.Wrote) > 0 { // what is forbidden is refused before it is noted
			t.Errorf("sent %d writes, stored %v", len(w.Sent), w.Wrote)
		}
	})
}

// TestClientDryRunTriesCreations plans creations, of which the server refuses one as invalid, and
// one because of what the user may do. If there are more than wanted, none is sent.
func TestClientDryRunTriesCreations(t *testing.T) {
	for limit, expected := range map[int][]string{
		3: {"acted create configmap/denied succeeded", "acted create configmap/good succeeded",
			"acted create configmap/invalid failed: ConfigMap \"\" is invalid"},
		2: {"acted create configmap/denied succeeded", "acted create configmap/good succeeded",
			"acted create configmap/invalid succeeded"},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(&enginetest.Cluster{})
			w.Fails = map[object.Ref]error{
				ref("ConfigMap/denied"):  apierrors.NewForbidden(schema.GroupResource{}, "denied", nil),
				ref("ConfigMap/invalid"): apierrors.NewInvalid(schema.GroupKind{Kind: "ConfigMap"}, "", nil),
			}
			options := engine.Options{DryRun: engine.DryRunClient, TryCreations: limit}
			if _, err := w.apply(t.Context(), policy(), options, want(given("good", "x"),
				given("denied", "x"), given("invalid", "x"))...); err != nil {
				t.Fatal(err)
			}
			acted := slices.DeleteFunc(w.lines, func(line string) bool {
				return !strings.HasPrefix(line, "acted")
			})
			slices.Sort(acted)
			if d := cmp.Diff(expected, acted); d != "" {
				t.Errorf("limit %d: events (-want +got):\n%s", limit, d)
			}
			if limit < 3 && len(w.Sent) > 0 || len(w.Wrote) > 0 {
				t.Errorf("limit %d: sent %d writes, stored %v", limit, len(w.Sent), w.Wrote)
			}
		})
	}
}

// What a server cannot read, a run cannot write either: a plan of a creation fails, and so does one
// of an update. What a webhook refuses may depend on what the same run would create.
func TestClientDryRunFindsUnreadable(t *testing.T) {
	for text, outcome := range map[string]string{
		`ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot unmarshal`: "failed",
		`admission webhook "a.example.com" denied the request: no`:                           "succeeded",
	} {
		for _, fullReplace := range []bool{true, false} {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(&enginetest.Cluster{})
				live := given("old", "x")
				live.SetAnnotations(map[string]string{"owner": "me"})
				w.Put(live)
				refused := apierrors.NewBadRequest(text)
				w.Fails = map[object.Ref]error{
					ref("ConfigMap/old"): refused, ref("ConfigMap/new"): refused,
				}
				some := policy()
				some.RecreateHint = "recreate it"
				e := &engine.Engine{Cluster: w.Cluster, Records: w.store}
				p, err := e.Plan(t.Context(), engine.Request{
					Desired: want(given("old", "y"), given("new", "x")), Policy: some,
				})
				if err != nil {
					t.Fatal(err)
				}
				for i := range p.Steps {
					if fullReplace && p.Steps[i].Op == plan.Update {
						p.Steps[i].FullReplace, p.Steps[i].Patch = true, diff.Patch{}
					}
				}
				acted := 0
				_, err = e.Apply(t.Context(), p, engine.Options{
					DryRun: engine.DryRunClient, TryCreations: 3,
				}, func(e event.Event) {
					if e.Kind != event.Acted {
						return
					}
					if acted++; string(e.Outcome) != outcome {
						t.Errorf("%s %s %s after: %s", e.Op, e.Ref, e.Outcome, text)
					}
				})
				if err != nil || acted != 2 {
					t.Errorf("%d steps, %v", acted, err)
				}
			})
		}
	}
}
