package deploy

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/muster-deploy/muster/internal/sets/policy/resource"
)

// TestMerged merges what is wanted into live objects, some of which others have changed.
func TestMerged(t *testing.T) {
	for _, tc := range []struct{ name, recorded, live, want, becomes string }{
		{"fields of others stay, those that are not wanted any more go",
			"{data: {a: '1', b: '1'}}", "{data: {a: '1', b: '1', c: '1'}}", "{data: {a: '2'}}",
			"{data: {a: '2', c: '1'}}"},
		{"so do maps of which nothing is wanted any more",
			"{data: {a: '1'}, binaryData: {b: ''}}", "{data: {a: '1', c: '1'}, binaryData: {b: ''}}", "{}",
			"{data: {c: '1'}}"},
		{"annotations of others stay, too", "{metadata: {annotations: {ours: '1'}}}",
			"{metadata: {annotations: {ours: '1', theirs: '1'}}}", "{}",
			"{metadata: {annotations: {theirs: '1'}}}"},
		{"what others took away comes back", "{data: {a: '1'}}", "{data: {}}", "{data: {a: '1'}}",
			"{data: {a: '1'}}"},
		{"nothing is known of what was applied", "", "{data: {a: '1', b: '1'}}", "{data: {a: '2'}}",
			"{data: {a: '2', b: '1'}}"},
		{"managed fields stay unchanged", "{data: {a: '1'}}",
			"{metadata: {managedFields: [{manager: kapp}]}, data: {a: '1'}}",
			"{metadata: {managedFields: [{manager: kapp}]}, data: {a: '2'}}",
			"{metadata: {managedFields: [{manager: kapp}]}, data: {a: '2'}}"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			before := configMapOf(t, tc.live)
			live := before.DeepCopy()
			if tc.recorded != "" {
				original, err := json.Marshal(configMapOf(t, tc.recorded).Object)
				if err != nil {
					t.Fatal(err)
				}
				live.SetAnnotations(
					map[string]string{
						resource.AnnOriginal:        string(original),
						resource.AnnOriginalDiffMD5: "stale",
					},
				)
			}
			want := configMapOf(t, tc.want)
			got, err := serverSideMerge(live, before, want)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(configMapOf(t, tc.becomes).Object, got.Object); diff != "" {
				t.Errorf("it becomes (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(configMapOf(t, tc.want).Object, want.Object); diff != "" {
				t.Errorf("what is wanted was changed (-before +after):\n%s", diff)
			}
		})
	}
}

func configMapOf(t *testing.T, fields string) *unstructured.Unstructured {
	t.Helper()
	obj := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(fields), &obj.Object); err != nil {
		t.Fatal(err)
	}
	if obj.Object == nil {
		obj.Object = map[string]any{}
	}
	obj.SetAPIVersion("v1")
	obj.SetKind("ConfigMap")
	obj.SetName("a")
	return obj
}
