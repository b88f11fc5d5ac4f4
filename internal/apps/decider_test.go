package apps

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

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
	r.Review, r.Run.Native, r.Run.Policy = Review{}, true, &policy
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
