package diff

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// What others have added stays where the desired object drops a whole map or list that was applied.
func TestWithAdded(t *testing.T) {
	parse := func(text string) *unstructured.Unstructured {
		obj := &unstructured.Unstructured{Object: map[string]any{}}
		if err := yaml.Unmarshal([]byte(text), &obj.Object); err != nil {
			t.Fatal(err)
		}
		return obj
	}
	for name, tc := range map[string]struct{ want, applied, live, result string }{
		"maps and lists": {
			"{kind: ConfigMap, metadata: {name: a}}",
			"{kind: ConfigMap, metadata: {name: a, labels: {m: x}, finalizers: [m]}, data: {m: x}}",
			"{kind: ConfigMap, metadata: {name: a, labels: {m: x, o: y}, finalizers: [m, o]}, " +
				"data: {m: x, o: y}}",
			"{kind: ConfigMap, metadata: {name: a, labels: {o: y}, finalizers: [o]}, data: {o: y}}",
		},
		"described ones":   {"{data: {n: x}, kind: Secret}", "{data: {m: x}}", "{data: {o: x}}", ""},
		"nothing added":    {"{kind: Secret}", "{data: {m: x}}", "{data: {m: y}}", ""},
		"never applied":    {"{kind: Secret}", "{}", "{data: {m: y}}", ""},
		"data of a custom": {"{kind: Thing}", "{data: {m: x}}", "{data: {m: x, o: y}}", ""},
	} {
		want := parse(tc.want)
		got := WithAdded(want, parse(tc.applied), parse(tc.live))
		if tc.result == "" {
			if got != want {
				t.Errorf("%s: %v", name, got.Object)
			}
		} else if diff := cmp.Diff(parse(tc.result).Object, got.Object); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
