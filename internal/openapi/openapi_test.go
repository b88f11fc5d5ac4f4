package openapi

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// document is as servers write them for kinds with Go types.
const document = `
components:
  schemas:
    io.k8s.api.core.v1.Pod:
      type: object
      properties:
        apiVersion: {type: string}
        kind: {type: string}
        metadata: {allOf: [{$ref: '#/components/schemas/Meta'}], default: {}}
        spec: {$ref: '#/components/schemas/PodSpec'}
      x-kubernetes-group-version-kind: [{group: '', version: v1, kind: Pod}]
    Meta:
      type: object
      properties:
        name: {type: string}
        labels: {type: object, additionalProperties: {type: string, default: ''}}
    PodSpec:
      type: object
      properties:
        replicas: {type: integer, format: int32}
        share: {type: number}
        live: {type: boolean}
        port: {$ref: '#/components/schemas/IntOrString'}
        raw: {$ref: '#/components/schemas/RawExtension'}
        any: {}
        containers: {type: array, items: {allOf: [{$ref: '#/components/schemas/Container'}]}}
        limits: {type: object, additionalProperties: {$ref: '#/components/schemas/Quantity'}}
        inner: {$ref: '#/components/schemas/PodSpec'}
    Container: {type: object, properties: {name: {type: string}, image: {type: string}}}
    IntOrString: {format: int-or-string, oneOf: [{type: integer}, {type: string}]}
    Quantity: {oneOf: [{type: string}, {type: number}]}
    RawExtension: {type: object}
    Unused: {type: object, properties: {a: {type: string}}}
    Nothing: null
    Options:
      type: object
      x-kubernetes-group-version-kind: [{group: apps, version: v1, kind: Options}]
`

// definition has every extension of a structural schema that concerns fields.
const definition = `
spec:
  group: example.com
  names: {kind: Boat}
  versions:
  - name: v1
    schema:
      openAPIV3Schema:
        type: object
        properties:
          metadata: {type: object, properties: {name: {type: string, maxLength: 9}}}
          spec:
            type: object
            properties:
              length: {type: integer}
              free: {type: object, x-kubernetes-preserve-unknown-fields: true, properties: {a: {type: integer}}}
              empty: {type: object}
              whatever: {x-kubernetes-preserve-unknown-fields: true}
              port: {x-kubernetes-int-or-string: true, anyOf: [{type: integer}, {type: string}]}
              labels: {type: object, additionalProperties: {type: string}}
              loose: {type: object, additionalProperties: true}
              pod: {type: object, x-kubernetes-embedded-resource: true, properties: {spec: {type: object}}}
              list: {type: array, items: {type: object, properties: {a: {type: string}}}}
              bounded: {type: object, properties: {a: {type: string}}, allOf: [{required: [a]}]}
  - {name: v2}
`

func parse(t *testing.T, text string) (value map[string]any) {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	decoder := json.NewDecoder(strings.NewReader(string(data)))
	decoder.UseNumber()
	if err := decoder.Decode(&value); err != nil {
		t.Fatal(err)
	}
	return typed(value).(map[string]any)
}

// typed returns a value with the number types of package unstructured.
func typed(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for key := range v {
			v[key] = typed(v[key])
		}
	case []any:
		for i := range v {
			v[i] = typed(v[i])
		}
	case json.Number:
		if whole, err := v.Int64(); err == nil {
			return whole
		}
		f, _ := v.Float64()
		return f
	}
	return value
}

func lines(problems []Problem) string {
	var text strings.Builder
	for _, p := range problems {
		fmt.Fprintf(&text, "%s %s", p.Path, p.Name)
		if p.Want != "" {
			fmt.Fprintf(&text, "%s, not %s", p.Want, p.Got)
		}
		text.WriteString("\n")
	}
	return text.String()
}

func TestCheck(t *testing.T) {
	data, err := yaml.YAMLToJSON([]byte(document))
	if err != nil {
		t.Fatal(err)
	}
	read, err := Parse(data, "", "v1")
	if err != nil {
		t.Fatal(err)
	}
	defined := Definition(parse(t, definition), []string{"name", "labels"})
	if _, ok := defined["v2"]; ok {
		t.Error("a version without a schema has one")
	}
	for _, tc := range []struct {
		document     *Document
		kind, object string
		want         string
	}{
		{read, "Pod", `{apiVersion: v1, kind: Pod, metadata: {name: a, labels: {x: z}}, spec: {
			replicas: 1.0, share: 1, live: true, port: http, raw: {a: {b: 1}}, any: [1],
			limits: {cpu: 1, x: 2Gi}, containers: [{name: a}, null], inner: {inner: {port: 80}}}}`, ""},
		{read, "Pod", `{metadata: {lables: {}}, spec: {replcas: 1, containers: [{name: a}, {naem: b}],
			inner: {inner: {x: 1}}}}`,
			"metadata.lables lables\nspec.containers[1].naem naem\nspec.inner.inner.x x\n" +
				"spec.replcas replcas\n"},
		{read, "Pod", `{status: {}, spec: {replicas: '1', share: a, live: 'yes', containers: {},
			limits: []}}`,
			"spec.containers array, not object\nspec.limits object, not array\n" +
				"spec.live boolean, not string\nspec.replicas integer, not string\n" +
				"spec.share number, not string\nstatus status\n"},
		{read, "Pod", `{spec: {replicas: 1.5, inner: text}}`,
			"spec.inner object, not string\nspec.replicas integer, not number\n"},
		{read, "Options", `{}`, "unknown kind"},
		{defined["v1"], "Boat", `{apiVersion: a, kind: Boat, metadata: {name: longer-than-nine, labels: {}},
			spec: {length: 7, free: {a: 1, b: 2}, whatever: {a: 1}, port: 80, labels: {a: b},
			loose: {a: 1}, pod: {apiVersion: v1, kind: Pod, metadata: {x: y}}, list: [{a: b}], empty: {},
			bounded: {a: b}}}`, ""},
		{defined["v1"], "Boat", `{metadata: {lables: {}}, spec: {free: {a: b}, empty: {a: 1}, labels: {a: 1},
			pod: {spec: {a: 1}, status: {}}, list: [{b: c}], bounded: {b: c}}, status: {}}`,
			"metadata.lables lables\nspec.bounded.b b\nspec.empty.a a\n" +
				"spec.free.a integer, not string\nspec.labels.a string, not integer\nspec.list[0].b b\n" +
				"spec.pod.spec.a a\nspec.pod.status status\nstatus status\n"},
	} {
		for range 2 { // before and after the document was stored
			problems, known := tc.document.Check(tc.kind, parse(t, tc.object))
			got := lines(problems)
			if !known {
				got = "unknown kind"
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.object, diff)
			}
			stored, err := json.Marshal(tc.document)
			if err != nil {
				t.Fatal(err)
			}
			tc.document = &Document{}
			if err := json.Unmarshal(stored, tc.document); err != nil {
				t.Fatal(err)
			}
		}
	}
	if read.Components["Unused"] != nil || read.Components["Container"] == nil {
		t.Errorf("components: %v", read.Components)
	}
}

func TestCheckIsBounded(t *testing.T) {
	loop := &Document{
		Kinds:      map[string]string{"A": "a"},
		Components: map[string]*Schema{"a": {Ref: "b"}, "b": {Ref: "a"}},
	}
	if problems, known := loop.Check("A", map[string]any{"x": "y"}); len(problems) > 0 || !known {
		t.Errorf("%v, %v", problems, known)
	}
	object := map[string]any{}
	for i := range 1000 {
		object[fmt.Sprint(i)] = true
	}
	closed := Definition(parse(t, definition), nil)["v1"]
	if problems, _ := closed.Check("Boat", object); len(problems) != maxProblems {
		t.Errorf("%d problems", len(problems))
	}
}

func TestUnreadable(t *testing.T) {
	for _, text := range []string{
		"", "<html>", `{"components": 5}`, `{"components":{"schemas":{"a":{"type":[]}}}}`,
	} {
		if _, err := Parse([]byte(text), "", "v1"); err == nil {
			t.Errorf("%q is a document", text)
		}
	}
	for _, text := range []string{
		"spec: 5", "spec: {preserveUnknownFields: true, versions: [{name: v1}]}",
	} {
		if found := Definition(parse(t, text), nil); len(found) > 0 {
			t.Errorf("%q: %v", text, found)
		}
	}
}

// The names of the known fields are collected for the problems that are kept alone: their number
// times that of unknown fields may be large.
func TestManyUnknownFields(t *testing.T) {
	fields, object := map[string]*Schema{}, map[string]any{}
	for i := range 3_000 {
		fields[fmt.Sprint("known", i)], object[fmt.Sprint("unknown", i)] = &Schema{}, "x"
	}
	d := &Document{Kinds: map[string]string{"Thing": "thing"},
		Components: map[string]*Schema{"thing": {Type: "object", Fields: fields}}}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	problems, _ := d.Check("Thing", object)
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; len(problems) != maxProblems || took > 50<<20 {
		t.Errorf("%d problems took %d MiB", len(problems), took>>20)
	}
}
