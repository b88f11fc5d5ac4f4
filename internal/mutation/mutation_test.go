package mutation

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/muster-deploy/muster/internal/object"
)

const sourceText = `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "src", "namespace": "n"},
	"data": {"text": "hello", "a.b/c-d": "dotted", "empty": ""},
	"spec": {"flag": true, "count": 9007199254740993, "part": 1.5, "map": {"k": [1, "x"]}, "none": null, "my-key": "dashed",
		"list": [{"name": "one", "port": 1}, {"name": "two", "port": 2}]}}`

const targetText = `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "dst", "namespace": "n", "annotations": {"a": "b"}},
	"spec": {"field": "say ${x}, ${x}", "number": 1, "list": [{"name": "one", "port": 0}, {"name": "two", "port": 0}], "null": null}}`

func parse(t testing.TB, text string) *unstructured.Unstructured {
	t.Helper()
	obj := &unstructured.Unstructured{}
	if err := utiljson.Unmarshal([]byte(text), &obj.Object); err != nil {
		t.Fatal(err)
	}
	return obj
}

func TestApply(t *testing.T) {
	source, target := parse(t, sourceText), parse(t, targetText)
	for _, tc := range []struct {
		name, from, to, token string
		want                  any // what is at the place afterwards
	}{
		{"string", "$.data.text", "$.spec.field", "", "hello"},
		{"boolean", "$.spec.flag", "$.spec.field", "", true},
		{"large integer", "$.spec.count", "$.spec.field", "", int64(9007199254740993)},
		{"float", "$.spec.part", "$.spec.number", "", 1.5},
		{"map", "$.spec.map", "$.spec.field", "", map[string]any{"k": []any{int64(1), "x"}}},
		{"list", "$.spec.map.k", "$.spec.field", "", []any{int64(1), "x"}},
		{"null", "$.spec.none", "$.spec.field", "", nil},
		{"into null", "$.data.text", "$.spec.null", "", "hello"},
		{"token", "$.data.text", "$.spec.field", "${x}", "say hello, hello"},
		{"token becomes nothing", "$.data.empty", "$.spec.field", "${x}", "say , "},
		{"token with integer", "$.spec.count", "$.spec.field", "${x}",
			"say 9007199254740993, 9007199254740993"},
		{"token with float", "$.spec.part", "$.spec.field", "${x}", "say 1.5, 1.5"},
		{"token with boolean", "$.spec.flag", "$.spec.field", "${x}", "say true, true"},
		{"token with map", "$.spec.map", "$.spec.field", "${x}", `say {"k":[1,"x"]}, {"k":[1,"x"]}`},
		{"token with null", "$.spec.none", "$.spec.field", "${x}", "say null, null"},
		{"token that is not there", "$.data.text", "$.spec.field", "$(x)", "say ${x}, ${x}"},
		{"quoted key", "$.data['a.b/c-d']", "$.spec.field", "", "dotted"},
		{"doubly quoted key", `$.data["a.b/c-d"]`, "$['spec']['field']", "", "dotted"},
		{"dashed key", "$.spec.my-key", "$.spec.field", "", "dashed"},
		{"index", "$.spec.list[1].port", "$.spec.list[0].port", "", int64(2)},
		{"from the end", "$.spec.list[-1].port", "$.spec.list[0].port", "", int64(2)},
		{"filter", `$.spec.list[?(@.name=="two")].port`, `$.spec.list[?(@.name=="two")].port`, "",
			int64(2)},
		{"descent", "$..flag", "$..field", "", true},
		{"whole source", "$", "$.spec.field", "", source.Object},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := Substitution{Source: object.RefOf(source), From: tc.from, To: tc.to, Token: tc.token}
			before := target.DeepCopy()
			got, err := Apply(
				target, []Substitution{s}, map[object.Ref]*unstructured.Unstructured{s.Source: source},
			)
			if err != nil {
				t.Fatal(err)
			}
			at, err := locate(got.Object, tc.to)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, at.get(got.Object)); diff != "" {
				t.Errorf("value (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, target); diff != "" {
				t.Errorf("the object itself was changed:\n%s", diff)
			}
		})
	}
}

// TestApplyInOrder has a second substitution find what the first one wrote, without sharing it with
// the source.
func TestApplyInOrder(t *testing.T) {
	source := parse(t, sourceText)
	ref := object.RefOf(source)
	got, err := Apply(parse(t, targetText), []Substitution{
		{Source: ref, From: "$.spec.map", To: "$.spec.field"},
		{Source: ref, From: "$.data.text", To: "$.spec.field.k[1]"},
	}, map[object.Ref]*unstructured.Unstructured{ref: source})
	if err != nil {
		t.Fatal(err)
	}
	want := any(map[string]any{"k": []any{int64(1), "hello"}})
	if diff := cmp.Diff(want, location{"spec", "field"}.get(got.Object)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(parse(t, sourceText), source); diff != "" {
		t.Errorf("the source was changed:\n%s", diff)
	}
}

func TestApplyFails(t *testing.T) {
	source, target := parse(t, sourceText), parse(t, targetText)
	ref := object.RefOf(source)
	for _, tc := range []struct {
		name string
		s    Substitution
		want string
	}{
		{"itself", Substitution{object.RefOf(target), "$.a", "$.b", ""},
			"an object cannot take a value from itself"},
		{"no source", Substitution{object.Ref{Kind: "Secret", Name: "s"}, "$.a", "$.b", ""},
			"secret/s, which has the value, does not exist"},
		{"nothing there", Substitution{ref, "$.status.ip", "$.spec.field", ""},
			"n/configmap/src has no value at $.status.ip"},
		{"several there", Substitution{ref, "$.spec.list[*].port", "$.spec.field", ""},
			"read $.spec.list[*].port of n/configmap/src: the path matches 2 values; it must match one"},
		{"computed", Substitution{ref, "$.spec.list.length", "$.spec.field", ""},
			"read $.spec.list.length of n/configmap/src: the path computes a value; it must name one"},
		{"nowhere to go", Substitution{ref, "$.data.text", "$.spec.absent", ""},
			"replace $.spec.absent: the path matches nothing"},
		{"no path", Substitution{ref, "data.text", "$.spec.field", ""},
			`read data.text of n/configmap/src: "data.text" is not a JSONPath; it looks like ` +
				`$.spec.replicas or $.data['a.key']`},
		{"too deep", Substitution{ref, "$..a..b..c", "$.spec.field", ""},
			`read $..a..b..c of n/configmap/src: "$..a..b..c" has ".." more than 2 times; name the ` +
				`fields in between`},
		{"several to go", Substitution{ref, "$.data.text", "$.spec.list[*].name", ""},
			"replace $.spec.list[*].name: the path matches 2 values; it must match one"},
		{"token in a number", Substitution{ref, "$.data.text", "$.spec.number", "1"},
			`replace "1" in $.spec.number: it is not a string but a number`},
		{"the whole object", Substitution{ref, "$.spec", "$", ""},
			"replace $: it cannot be replaced as a whole; name a field inside it"},
		{"all annotations", Substitution{ref, "$.data", "$.metadata.annotations", ""},
			"replace $.metadata.annotations: it cannot be replaced as a whole; name a field inside it"},
		{"another name", Substitution{ref, "$.data.text", "$.metadata.name", ""},
			"apiVersion, kind, name and namespace cannot be substituted"},
		{"annotation that is a number", Substitution{ref, "$.spec.count", "$.metadata.annotations.a", ""},
			"metadata.annotations must be strings: put the value into a string by a token"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := Apply(
				target, []Substitution{tc.s}, map[object.Ref]*unstructured.Unstructured{ref: source},
			)
			var failed *Error
			if got != nil || !errors.As(err, &failed) || failed.Err.Error() != tc.want {
				t.Errorf("got %v, error %v, want %s", got, err, tc.want)
			}
			if missing := (*MissingError)(nil); errors.As(err, &missing) != (tc.name == "nothing there") {
				t.Errorf("whether the value is only missing: %v", err)
			}
		})
	}
}

// FuzzPath asks for any path at all: it leads to one place that exists, or is an error.
func FuzzPath(f *testing.F) {
	for _, path := range []string{"$", "$.spec.list[0]", "$..*", "$.spec.list[?(@.port > 1)].name",
		"$.spec.list[(@.length-1)]", "$['spec','data']", "$.spec.list[0:1]", "$.data['a.b/c-d']",
		"@", "", "$.", "$[", "$[?(", "$.spec.list[-9]", "$..length", "$.a[::0]"} {
		f.Add(path)
	}
	source := parse(f, sourceText)
	f.Fuzz(func(t *testing.T, path string) {
		at, err := locate(source.Object, path)
		if err != nil {
			return
		}
		if CheckPath(path) != nil {
			t.Errorf("%q leads to %v but is refused", path, at)
		}
		if !at.exists(source.Object) {
			t.Errorf("%q leads to %v, which does not exist", path, at)
		}
		if len(at) > 0 {
			changed := source.DeepCopy().Object
			at.set(changed, "new")
			if at.get(changed) != "new" {
				t.Errorf("%q: what was set at %v is not there", path, at)
			}
		}
	})
}
