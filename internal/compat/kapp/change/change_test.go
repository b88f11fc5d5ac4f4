package change

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/muster-deploy/muster/internal/base/jsonvalue"
	"github.com/muster-deploy/muster/internal/sets/policy/config"
)

// TestEqualIsEqualText compares all pairs of values with what YAML makes of them.
func TestEqualIsEqualText(t *testing.T) {
	values := []any{
		nil, "", "1", "true", "null", "1.5", true, false, "a\nb", "a\nb\n",
		int64(
			0,
		), int64(1), int64(-1), 1, int32(1), int64(1000000), int64(9007199254740992),
		int64(9007199254740993), int64(9223372036854775807),
		0.0, 1.0, -1.0, 1.5, 1e6, 1e20, 1e21, 1.5e21, 1e-6, 1e-7, -1e-7, 9007199254740992.0,
		9223372036854775807.0, 0.1, 1e300,
		map[string]any{}, map[string]any(nil), []any{}, []any(nil),
		map[string]any{
			"a": int64(1),
		}, map[string]any{"a": 1.0}, map[string]any{"a": nil}, map[string]any{"b": int64(1)},
		map[string]any{"a": int64(1), "b": nil},
		[]any{
			int64(1),
			"x",
		}, []any{1.0, "x"}, []any{"x", int64(1)}, []any{int64(1)}, []any{nil}, []any{map[string]any{}},
		[]string{"x"}, []any{"x"},
	}
	for _, a := range values {
		for _, b := range values {
			want := asYAML(t, a) == asYAML(t, b)
			if fmt.Sprintf("%T%T", a, b) == "[]string[]interface {}" ||
				fmt.Sprintf("%T%T", a, b) == "[]interface {}[]string" {
				want = false // objects never hold lists of strings
			}
			if nothing(a) && nothing(b) {
				want = fmt.Sprintf("%T", a) == fmt.Sprintf("%T", b) // nor maps and lists that are nil
			}
			if got := jsonvalue.Equal(a, b); got != want {
				t.Errorf("jsonvalue.Equal(%#v, %#v) is %v, and their texts say %v", a, b, got, want)
			}
		}
	}
}

func nothing(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		return v == nil
	case []any:
		return v == nil
	}
	return v == nil
}

func asYAML(t *testing.T, v any) string {
	t.Helper()
	data, err := yaml.Marshal(map[string]any{"value": v})
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestSameDifference(t *testing.T) {
	object := func(text string) any {
		var v map[string]any
		if err := yaml.Unmarshal([]byte(text), &v); err != nil {
			t.Fatal(err)
		}
		return v
	}
	for _, tc := range []struct {
		name                           string
		before, after, before2, after2 string
		want                           bool
	}{
		{"other fields", "{a: 1, b: 1}", "{a: 2, b: 1}", "{a: 1, b: 3}", "{a: 2, b: 3}", true},
		{"from another value", "{a: 1}", "{a: 2}", "{a: 3}", "{a: 2}", false},
		{"to another value", "{a: 1}", "{a: 2}", "{a: 1}", "{a: 3}", false},
		{"at another place", "{a: 1}", "{a: 2}", "{b: 1}", "{b: 2}", false},
		{"null is not absent", "{a: null}", "{a: 1}", "{}", "{a: 1}", false},
		{"to null is not to nothing", "{a: 1}", "{a: null}", "{a: 1}", "{}", false},
		{"items at their places", "{a: [1, 2]}", "{a: [1]}", "{a: [0, 2]}", "{a: [0]}", true},
		{"items at other places", "{a: [1, 2]}", "{a: [1]}", "{a: [2]}", "{a: []}", false},
		{"items added", "{a: [1]}", "{a: [1, 2]}", "{a: [1, 3]}", "{a: [1, 2]}", false},
		{"a key like a place", "{a: {'0': 1}}", "{a: {}}", "{a: {'0': 1}}", "{a: {}}", true},
		{"another type", "{a: {b: 1}}", "{a: [1]}", "{a: {b: 1}}", "{a: [1]}", true},
		{"deep", "{a: {b: [{c: 1}, {c: 2}]}}", "{a: {b: [{c: 1}, {c: 3}]}}", "{a: {b: [{c: 9}, {c: 2}]}}",
			"{a: {b: [{c: 9}, {c: 3}]}}", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := sameDifference(object(tc.before), object(tc.after), object(tc.before2),
				object(tc.after2)); got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

// TestObjectsOfOddForm gives objects that no server would give: they are compared, and nothing
// breaks.
func TestObjectsOfOddForm(t *testing.T) {
	conf := config.Default()
	for _, text := range []string{
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: a, annotations: text}}",
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: a, annotations: [list]}}",
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: a, annotations: null}}",
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: a, annotations: " +
			"{kapp.k14s.io/num-versions: 1, kapp.k14s.io/versioned: null, kapp.k14s.io/renew-duration: 3}}}",
		"{apiVersion: v1, kind: ConfigMap, metadata: null}",
		"{apiVersion: v1, kind: ConfigMap}",
	} {
		t.Run(text, func(t *testing.T) {
			for _, o := range []Options{{Wait: true}, {Wait: true, LastApplied: lastApplied(conf)},
				{FromFiles: true}} {
				existing := append(
					decode(t, text),
					decode(t, strings.ReplaceAll(text, "name: a", "name: a-ver-1"))...)
				changes, err := Calculate(existing, decode(t, text), conf, o)
				if err != nil {
					t.Fatal(err)
				}
				for _, c := range changes {
					c.Row()
					if _, _, err := c.Texts(NewMasker(conf)); err != nil {
						t.Error(err)
					}
					if c.Object() == nil {
						t.Error("there is no object")
					}
				}
			}
		})
	}
}

func TestAgainOfNothing(t *testing.T) {
	live := decode(
		t,
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: a, annotations: {kapp.k14s.io/identity: "+
			"v1;//ConfigMap/a;v1}}}",
	)
	changes, err := Calculate(live, nil, config.Default(), Options{})
	if err != nil || len(changes) != 1 {
		t.Fatalf("%d changes: %v", len(changes), err)
	}
	if _, err := changes[0].Recalculate(live[0]); err == nil ||
		err.Error() != "calculate delete configmap/a (v1) cluster again: there is no description of it" {
		t.Errorf("error %v", err)
	}
}

func TestExhausted(t *testing.T) {
	refused := fmt.Errorf("refused")
	for op, want := range map[Op]string{
		Add: "Failed to update (after trying to create) due to resource conflict (tried multiple " +
			"times): refused",
		Update: "Failed to update due to resource conflict (tried multiple times): refused",
	} {
		if got := (&Change{Op: op}).ExhaustedError(refused).Error(); got != want {
			t.Errorf("%s: %q, want %q", op, got, want)
		}
	}
}

// TestFilterSeesBothSides checks what a filter of changes is asked about.
func TestFilterSeesBothSides(t *testing.T) {
	identity := func(name string) string {
		return "annotations: {kapp.k14s.io/identity: v1;//ConfigMap/" + name + ";v1}"
	}
	existing := decode(
		t,
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: a, "+identity(
			"a",
		)+"}}\n---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: b, "+identity(
			"b",
		)+"}}",
	)
	new := decode(
		t,
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {key: two}}\n---\n{apiVersion: "+
			"v1, kind: ConfigMap, metadata: {name: c}}",
	)
	var seen []string
	name := func(obj *unstructured.Unstructured) string {
		if obj == nil {
			return "-"
		}
		return obj.GetName()
	}
	_, err := Calculate(
		existing,
		new,
		config.Default(),
		Options{Filter: func(op string, new, existing *unstructured.Unstructured) bool {
			seen = append(seen, op+" "+name(new)+" "+name(existing))
			return false
		}},
	)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"update a a", "add c -", "delete - b"}, seen); diff != "" {
		t.Errorf("asked about (-want +got):\n%s", diff)
	}
}
