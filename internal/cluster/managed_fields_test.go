package cluster

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

func TestNullAt(t *testing.T) {
	for _, tc := range []struct {
		path       []string
		text, want string
	}{
		{
			objectManagedFields, `{"metadata":{"managedFields":[{"a":"]}"}],"name":"x"}}`,
			`{"metadata":{"managedFields":null,"name":"x"}}`,
		},
		{
			objectManagedFields, `{"metadata":{"name":"\\\"{","managedFields":[]}}`,
			`{"metadata":{"name":"\\\"{","managedFields":null}}`,
		},
		{
			objectManagedFields, `{"metadata":{"managedFields":7},"b":1}`,
			`{"metadata":{"managedFields":null},"b":1}`,
		},
		{objectManagedFields, `{"spec":{"metadata":{"managedFields":[1]}}}`, ""},
		{objectManagedFields, `{"metadata":[{"managedFields":[1]}],"managedFields":[]}`, ""},
		{
			objectManagedFields,
			`{"metadata":{"a":{"managedFields":[1]},"b":[{"metadata":{"managedFields":1}}]}}`, "",
		},
		{objectManagedFields, `{"items":[{"metadata":{"managedFields":[1]}}]}`, ""},
		{
			listManagedFields,
			`{"items":[{"metadata":{"managedFields":[1]}},{"b":{}},` +
				`{"metadata":{"c":[],"managedFields":{}}}]}`,
			`{"items":[{"metadata":{"managedFields":null}},{"b":{}},` +
				`{"metadata":{"c":[],"managedFields":null}}]}`,
		},
		{
			listManagedFields,
			`{"metadata":{"managedFields":[1]},"items":[[{"metadata":{"managedFields":[1]}}]]}`, "",
		},
		{listManagedFields, `{"items":{"x":{"metadata":{"managedFields":[1]}}}}`, ""},
		{listManagedFields, `[{"metadata":{"managedFields":[1]}}]`, ""},
	} {
		want := tc.want
		if want == "" {
			want = tc.text
		}
		if got := string(nullAt(tc.path, []byte(tc.text))); got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", tc.text, got, want)
		}
	}
}

// FuzzNullAt feeds any JSON: values that are not managed fields stay the same.
func FuzzNullAt(f *testing.F) {
	f.Add(
		`{"metadata":{"managedFields":[{"a":1}],"name":"x"},"spec":{"metadata":{"managedFields":[]}}}`,
	)
	f.Add(
		` { "metadata" : { "managedFields" : "\"" } , "items":[{"metadata":{"managedFields":-1.0e5}}]}`,
	)
	f.Fuzz(func(t *testing.T, text string) {
		for _, path := range [][]string{objectManagedFields, listManagedFields} {
			var want, got map[string]any
			if utiljson.Unmarshal([]byte(text), &want) != nil || strings.Contains(text, `\u`) {
				return
			}
			if err := utiljson.Unmarshal(nullAt(path, []byte(text)), &got); err != nil {
				t.Fatalf("%q: %v", text, err)
			}
			objects := [][2]any{{want, got}}
			if path[0] == "items" {
				objects = pairs(want["items"], got["items"])
			}
			for _, pair := range objects {
				dropManagedFields(pair[0])
				dropManagedFields(pair[1])
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("%q (-want +got):\n%s", text, diff)
			}
		}
	})
}

func pairs(a, b any) [][2]any {
	var all [][2]any
	as, _ := a.([]any)
	bs, _ := b.([]any)
	for i := range min(len(as), len(bs)) {
		all = append(all, [2]any{as[i], bs[i]})
	}
	return all
}

func dropManagedFields(value any) {
	obj, _ := value.(map[string]any)
	if metadata, ok := obj["metadata"].(map[string]any); ok {
		delete(metadata, "managedFields")
	}
}
