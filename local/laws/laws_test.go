package laws

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestPath checks that paths are read, printed, and used to change an object.
func TestPath(t *testing.T) {
	obj := map[string]any{"spec": map[string]any{
		"ports": []any{map[string]any{"port": int64(80)}}, "labels": map[string]any{"a.b/c": "d"},
	}}
	for _, text := range []string{"spec.ports[0].port", "spec.labels[a.b/c]"} {
		path := ParsePath(text)
		if path.String() != text || path.Get(obj) == nil {
			t.Errorf("%s is read as %s, with the value %v", text, path, path.Get(obj))
		}
		path.Set(obj, nil)
		if path.Get(obj) != nil {
			t.Errorf("%s is not removed", text)
		}
	}
}

// TestMissing checks that items of keyed lists are compared by their keys, and those of others in
// their order.
func TestMissing(t *testing.T) {
	schemas := &Schemas{}
	list := &Schema{Properties: map[string]*Schema{"keyed": {
		ListType: "map", Keys: []string{"name"},
		Items: &Schema{Properties: map[string]*Schema{"name": {}, "size": {}}},
	}}}
	a, b := map[string]any{"name": "a", "size": int64(1)}, map[string]any{"name": "b"}
	a2 := map[string]any{"name": "a", "size": int64(2)}
	tests := []struct {
		field      string
		want, live []any
		missing    int
	}{
		{"keyed", []any{a, b}, []any{b, a}, 0},
		{"keyed", []any{a}, []any{b}, 1},
		{"keyed", []any{a, a2}, []any{a, a2}, 0},
		{"plain", []any{a, b}, []any{b, a}, 3},
		{"plain", []any{a}, []any{a, b}, 1},
	}
	for _, test := range tests {
		missing := 0
		want, live := map[string]any{test.field: test.want}, map[string]any{test.field: test.live}
		schemas.missing(list, nil, want, live, func(Path, string) { missing++ })
		if missing != test.missing {
			t.Errorf("%v lacks %d values of %v, want %d", live, missing, want, test.missing)
		}
	}
}

// TestKinds checks that the objects that others begin with can be read.
func TestKinds(t *testing.T) {
	kinds, err := Kinds("shop")
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range kinds {
		for _, path := range kind.Pinned {
			if len(path) == 0 {
				t.Errorf("%s has an empty pinned path", kind.Object.GetKind())
			}
		}
	}
	feature, err := Feature()
	if err != nil {
		t.Fatal(err)
	}
	versions, _, _ := unstructured.NestedSlice(feature.Object, "spec", "versions")
	if len(versions) == 0 {
		t.Error("the definition has no version")
	}
}

// TestChanged checks that paths of changes have the form of those that plans show.
func TestChanged(t *testing.T) {
	object := func(image, label string, args ...any) *unstructured.Unstructured {
		container := map[string]any{"name": "a", "image": image, "args": args}
		return &unstructured.Unstructured{Object: map[string]any{
			"labels": map[string]any{"a.b/c": label}, "containers": []any{container},
		}}
	}
	got := Changed(object("one", "x", "1"), object("two", "y", "1", "2"))
	var want []string
	for _, path := range []string{
		".containers[name=a].args", ".containers[0].image", `.labels["a.b/c"]`,
	} {
		want = append(want, Shown(path))
	}
	if !slices.Equal(got, want) {
		t.Errorf("%v changed, want %v", got, want)
	}
}
