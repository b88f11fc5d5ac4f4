package deploy

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
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
