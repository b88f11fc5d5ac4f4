package apps

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/apps/resource"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/packages"
	"github.com/muster-deploy/muster/internal/plan"
)

// An object whose updates are skipped is not written, whatever others do to it during the run.
func TestDeploySkippedObjectChangesMeanwhile(t *testing.T) {
	manifests := func(value string) []string {
		data := "}}, data: {value: '" + value + "'}}"
		return []string{
			"{apiVersion: v1, kind: ConfigMap, metadata: {name: first, annotations: {" +
				"kapp.k14s.io/change-group: demo/first" + data,
			"{apiVersion: v1, kind: ConfigMap, metadata: {name: skipped, annotations: {" +
				"kapp.k14s.io/change-rule: upsert after upserting demo/first, " +
				"kapp.k14s.io/update-strategy: skip" + data,
		}
	}
	w := newWorld(t)
	w.deploy(manifests("1")...)
	w.answer = func() error { // others write after the plan was made
		live := w.cluster.Object(configMapRef("skipped"))
		live.Object["data"] = map[string]any{"value": "theirs"}
		w.cluster.Put(live)
		return nil
	}
	w.deploy(manifests("2")...)
	for name, want := range map[string]string{"first": "2", "skipped": "theirs"} {
		live := w.cluster.Object(configMapRef(name))
		got, _, _ := unstructured.NestedString(live.Object, "data", "value")
		check(t, name, got, want)
	}
}

// What was to stay in the cluster is not deleted, whatever has changed since: nobody saw that
// coming.
func TestReplanOfRetained(t *testing.T) {
	w := newWorld(t)
	w.deploy("{apiVersion: v1, kind: ConfigMap, metadata: {name: kept, annotations: " +
		"{cli-utils.sigs.k8s.io/on-remove: keep}}}")
	r, policy := w.deleteRequest(), packages.AnnotationPolicy()
	r.Review, r.Run.PlanPolicy, r.Run.Policy = Review{}, LikePackages(), &policy
	d, err := w.PrepareDelete(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	step := &d.Plan().Steps[0]
	live := step.Have.DeepCopy()
	live.SetAnnotations(nil)
	next, err := decider{d.run, t.Context()}.Replan(step, live, nil)
	if err != nil || step.Op != plan.Orphan || next.Op != plan.Orphan || next.Have != live {
		t.Errorf("%s, then %+v, %v", step.Op, next, err)
	}
}

// An object that is to leave the app is patched only as long as it belongs to the app: others may
// have recreated it, or taken it into another app.
func TestReleaseOfTakenObject(t *testing.T) {
	for _, taken := range []bool{false, true} {
		w := newWorld(t)
		w.deploy("{apiVersion: v1, kind: ConfigMap, metadata: {name: kept, annotations: " +
			"{cli-utils.sigs.k8s.io/on-remove: keep}}}")
		r, policy := w.deleteRequest(), packages.AnnotationPolicy()
		r.Review, r.Run.PlanPolicy, r.Run.Policy = Review{}, LikePackages(), &policy
		d, err := w.PrepareDelete(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		live := w.cluster.Object(configMapRef("kept")).DeepCopy()
		want := map[string]string{"theirs": "yes"}
		if taken {
			want = map[string]string{resource.LabelApp: "other"}
		} else {
			w.cluster.Remove(configMapRef("kept"))
			live.SetUID("recreated")
		}
		live.SetLabels(want)
		w.cluster.Put(live)
		if _, err := w.run(t.Context(), d, realRun); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, w.cluster.Object(configMapRef("kept")).GetLabels()); diff != "" {
			t.Errorf("taken %v: labels (-want +got):\n%s", taken, diff)
		}
	}
}

// TestOvertakenNatively: what others do between a native plan and its run is worded as for
// packages.
func TestOvertakenNatively(t *testing.T) {
	const changed = `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {key: theirs}}`
	for name, tc := range map[string]struct {
		deployed bool
		meddle   func(w *world)
		want     string
	}{
		"created": {false, func(w *world) { w.put(changed) },
			"somebody else created it meanwhile; apply once more to take it over: "},
		"deleted": {true, func(w *world) { w.cluster.Remove(configMapRef("a")) },
			"it was deleted by somebody else meanwhile; apply once more to create it"},
		"changed": {true, func(w *world) {
			live := w.cluster.Object(configMapRef("a")).DeepCopy()
			live.Object["data"] = map[string]any{"key": "theirs"}
			w.cluster.Put(live)
		}, "others changed it meanwhile in what the manifest sets; apply once more: "},
	} {
		w := newWorld(t)
		if tc.deployed {
			w.deploy(configMap("a", "1"))
		}
		d := w.prepare(w.nativeRequest(configMap("a", "2")))
		tc.meddle(w)
		got := ""
		_, err := d.Run(t.Context(), quietRun, func(e event.Event) {
			if e.Kind == event.Acted && e.Err != nil {
				got = e.Err.Error()
			}
		})
		if err != nil || !strings.HasPrefix(got, tc.want) || strings.Contains(got, "API server says") {
			t.Errorf("%s: %q, %v, want %q", name, got, err, tc.want)
		}
	}
}
