package diff

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// FuzzBetween feeds any two JSON objects: no panic, no difference to itself, and none in one
// direction only.
func FuzzBetween(f *testing.F) {
	for _, archive := range []string{"between_paths", "between_secret"} {
		f.Add(jsonOf(f, archive, "have.yaml"), jsonOf(f, archive, "want.yaml"))
	}
	f.Add(
		[]byte(`{"a":[{"name":"x"},{"name":"x"}],"metadata":[]}`),
		[]byte(`{"a":[{"name":1}],"metadata":{"annotations":"x"}}`),
	)
	f.Add([]byte(`{"kind":"Secret","data":{"a":null}}`), []byte(`{"kind":7,"data":[{}]}`))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		have, want := &unstructured.Unstructured{}, &unstructured.Unstructured{}
		if utiljson.Unmarshal(a, &have.Object) != nil || utiljson.Unmarshal(b, &want.Object) != nil {
			t.Skip()
		}
		if diff := Between(have, have, Options{}); len(diff) > 0 {
			t.Errorf("an object differs from itself:\n%s", diff)
		}
		there, back := Between(have, want, Options{}), Between(want, have, Options{})
		if (there.String() == "") != (back.String() == "") {
			t.Errorf("there:\n%s\nback:\n%s", there, back)
		}
	})
}

// FuzzThreeWay feeds three documents to both kinds of merge and to the readers of managed fields:
// no panic.
func FuzzThreeWay(f *testing.F) {
	for _, archive := range []string{"merge_container_removed", "merge_service_ports", "merge_custom",
		"merge_secret"} {
		f.Add(
			jsonOf(f, archive, "recorded.yaml"),
			jsonOf(f, archive, "want.yaml"),
			jsonOf(f, archive, "live.yaml"),
		)
	}
	f.Fuzz(func(t *testing.T, a, b, c []byte) {
		recorded, want, live := &unstructured.Unstructured{}, &unstructured.Unstructured{},
			&unstructured.Unstructured{}
		for data, obj := range map[*[]byte]*unstructured.Unstructured{&a: recorded, &b: want, &c: live} {
			if utiljson.Unmarshal(*data, &obj.Object) != nil {
				t.Skip()
			}
		}
		_, _, _ = ThreeWay(recorded, want, live)
		_, _ = AppliedBy(want, live, "muster")
	})
}

func jsonOf(t testing.TB, archive, name string) []byte {
	t.Helper()
	data, err := section(t, archive, name).MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	return data
}
