package builtin

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/kubernetes/scheme"
)

// TestFormIsThatOfTheTypes compares what the table makes of objects, sound and unsound, with what
// the Go types make of them.
func TestFormIsThatOfTheTypes(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and nothing in it is concurrent")
	}
	r := rand.New(rand.NewPCG(1, 2))
	fitting, tried := 0, 0
	for gvk, typ := range kindsOf() {
		for range 20 {
			object := anyValue(r, typ, gvk.Kind, 0).(map[string]any)
			for range r.IntN(3) {
				spoil(r, object)
			}
			want, wantErr := throughType(typ, runtime.DeepCopyJSON(object))
			got, ok, err := Normalize(gvk, object)
			tried++
			switch {
			case !ok:
				t.Fatalf("%s is not in the table", gvk)
			case (err != nil) != (wantErr != nil):
				t.Fatalf("%s: the table says %v, the type %v, of %v", gvk, err, wantErr, object)
			case err != nil:
				continue
			}
			fitting++
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("%s (-type +table) of %v:\n%s", gvk, object, diff)
			}
		}
	}
	if fitting < tried/2 || fitting == tried {
		t.Errorf("%d of %d objects fitted their types: the test is one-sided", fitting, tried)
	}
}

func throughType(typ reflect.Type, object map[string]any) (map[string]any, error) {
	into := reflect.New(typ).Interface()
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object, into); err != nil {
		return nil, err
	}
	return runtime.DefaultUnstructuredConverter.ToUnstructured(into)
}

// anyValue makes up a value for a type; some of its fields are missing, null or empty.
func anyValue(r *rand.Rand, typ reflect.Type, name string, depth int) any {
	switch nameOf(typ) {
	case "apis/meta/v1.Time", "apis/meta/v1.MicroTime":
		return pick(r, nil, "2026-01-02T03:04:05Z", "2026-01-02T03:04:05.123456+02:00")
	case "apis/meta/v1.Duration":
		return pick(r, "0s", "90s", "1h30m0s")
	case "api/resource.Quantity":
		return pick(r, nil, "0", "1000m", "0.5Gi", "1024Mi", int64(3), 0.25)
	case "util/intstr.IntOrString":
		return pick(r, "", "25%", int64(0), int64(80))
	case "runtime.RawExtension", "apis/meta/v1.FieldsV1":
		return pick(r, nil, map[string]any{}, map[string]any{"f:a": map[string]any{}, "n": int64(1)})
	}
	switch typ.Kind() {
	case reflect.Pointer:
		return anyValue(r, typ.Elem(), name, depth)
	case reflect.Slice:
		if typ.Elem().Kind() == reflect.Uint8 {
			return pick(r, "", "aGFsbG8=", "aGFs\nbG8=")
		}
		list := make([]any, r.IntN(3))
		for i := range list {
			list[i] = anyValue(r, typ.Elem(), name, depth+1)
		}
		return list
	case reflect.Map:
		fields := map[string]any{}
		for i := range r.IntN(3) {
			fields[fmt.Sprint("key", i)] = anyValue(r, typ.Elem(), name, depth+1)
		}
		return fields
	case reflect.Struct:
		return anyFields(r, typ, depth)
	case reflect.String:
		return pick(r, "", name)
	case reflect.Bool:
		return pick(r, true, false)
	case reflect.Float64:
		return pick(r, 0.0, 1.5, int64(2))
	}
	return pick(r, int64(0), int64(7), int64(1)<<33, 4.0)
}

func anyFields(r *rand.Rand, typ reflect.Type, depth int) map[string]any {
	types := goFields(typ)
	object := map[string]any{}
	for _, f := range typeNamed(nameOf(typ)).structFields() {
		switch n := r.IntN(8); {
		case n == 0:
			object[f.name] = nil
		case n < 3+depth/2:
		default:
			object[f.name] = anyValue(r, types[f.name], f.name, depth+1)
		}
	}
	return object
}

// goFields are the types of the fields of a struct, by their names in JSON.
func goFields(typ reflect.Type) map[string]reflect.Type {
	types := map[string]reflect.Type{}
	for _, f := range reflect.VisibleFields(typ) {
		if name, _, _ := cut(f.Tag.Get("json")); name != "" {
			types[name] = f.Type
		}
	}
	return types
}

func cut(tag string) (name, rest string, found bool) {
	for i := range tag {
		if tag[i] == ',' {
			return tag[:i], tag[i+1:], true
		}
	}
	return tag, "", false
}

// spoil puts something else in a place of an object.
func spoil(r *rand.Rand, object map[string]any) {
	keys := make([]string, 0, len(object))
	for key := range object {
		keys = append(keys, key)
	}
	if len(keys) == 0 {
		return
	}
	slices.Sort(keys)
	key := keys[r.IntN(len(keys))]
	switch inner := object[key].(type) {
	case map[string]any:
		if len(inner) > 0 && r.IntN(4) > 0 {
			spoil(r, inner)
			return
		}
	case []any:
		if len(inner) > 0 && r.IntN(4) > 0 {
			if fields, ok := inner[0].(map[string]any); ok {
				spoil(r, fields)
				return
			}
			inner[0] = odd(r)
			return
		}
	}
	object[pick(r, key, key, key, "unknown").(string)] = odd(r)
}

func odd(r *rand.Rand) any {
	return pick(
		r,
		nil,
		"",
		"text",
		int64(1),
		1.25,
		3.0,
		true,
		map[string]any{},
		[]any{},
		[]any{nil},
		map[string]any{"a": nil},
	)
}

func pick(r *rand.Rand, values ...any) any { return values[r.IntN(len(values))] }

// TestMergeIsThatOfTheTypes walks through all kinds and compares what the table says of their
// merging with what the Go types say.
func TestMergeIsThatOfTheTypes(t *testing.T) {
	seen := map[string]bool{}
	for gvk := range kindsOf() {
		typed, err := scheme.Scheme.New(gvk)
		if err != nil {
			t.Fatal(err)
		}
		want, err := strategicpatch.NewPatchMetaFromStruct(typed)
		if err != nil {
			t.Fatal(err)
		}
		got, ok := PatchMeta(gvk)
		if !ok {
			t.Fatalf("%s is not in the table", gvk)
		}
		compareMerge(t, seen, want, got)
	}
	if len(seen) < 500 {
		t.Errorf("only %d types were seen", len(seen))
	}
	foreign := schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "Deployment"}
	if _, ok := PatchMeta(foreign); ok {
		t.Error("a kind that is not built in was found")
	}
}

func compareMerge(t *testing.T, seen map[string]bool, want, got strategicpatch.LookupPatchMeta) {
	typ := got.(patchMetaLookup).goType.name
	if seen[typ] {
		return
	}
	seen[typ] = true
	if want.Name() != got.Name() {
		t.Errorf("%s is a %s, in Go a %s", typ, got.Name(), want.Name())
	}
	keys := []string{"other"}
	fields := got.(patchMetaLookup).goType.structFields()
	if got.Name() == "ptr" {
		fields = got.(patchMetaLookup).elem.structFields()
	}
	for _, f := range fields {
		keys = append(keys, f.name)
	}
	if len(fields) > 0 {
		keys = append(keys, upper(fields[0].name))
	}
	for _, key := range keys {
		w, wantMeta, wantErr := want.LookupPatchMetadataForStruct(key)
		g, gotMeta, gotErr := got.LookupPatchMetadataForStruct(key)
		compareAnswers(t, typ+"."+key, wantMeta, gotMeta, wantErr, gotErr)
		if wantErr == nil && gotErr == nil {
			compareMerge(t, seen, w, g)
		}
		w, wantMeta, wantErr = want.LookupPatchMetadataForSlice(key)
		g, gotMeta, gotErr = got.LookupPatchMetadataForSlice(key)
		compareAnswers(t, typ+"."+key+"[]", wantMeta, gotMeta, wantErr, gotErr)
		if wantErr == nil && gotErr == nil {
			compareMerge(t, seen, w, g)
		}
	}
}

func compareAnswers(
	t *testing.T, what string, want, got strategicpatch.PatchMeta, wantErr, gotErr error,
) {
	t.Helper()
	if fmt.Sprint(wantErr) != fmt.Sprint(gotErr) {
		t.Errorf("%s: the table says %v, the type %v", what, gotErr, wantErr)
	}
	if !slices.Equal(want.GetPatchStrategies(), got.GetPatchStrategies()) ||
		want.GetPatchMergeKey() != got.GetPatchMergeKey() {
		t.Errorf("%s: the table says %v, the type %v", what, got, want)
	}
}

func upper(name string) string { return string(name[0]-'a'+'A') + name[1:] }

func BenchmarkForm(b *testing.B) {
	object := map[string]any{
		"apiVersion": "apps/v1",
		"kind":       "Deployment",
		"metadata":   map[string]any{"name": "a", "namespace": "b"},
		"spec": map[string]any{
			"replicas": int64(0),
			"template": map[string]any{"spec": map[string]any{"containers": []any{
				map[string]any{
					"name":      "a",
					"image":     "b",
					"resources": map[string]any{"limits": map[string]any{"cpu": "1000m"}},
				}}}},
		},
	}
	gvk := (&unstructured.Unstructured{Object: object}).GroupVersionKind()
	b.Run("table", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			Normalize(gvk, object)
		}
	})
	b.Run("types", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			throughType(kindsOfOne, object)
		}
	})
}

var kindsOfOne = kindsOf()[schema.GroupVersionKind{
	Group: "apps", Version: "v1", Kind: "Deployment",
}]
