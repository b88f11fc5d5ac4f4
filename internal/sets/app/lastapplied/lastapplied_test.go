package lastapplied

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v2"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	sigs "sigs.k8s.io/yaml"

	"github.com/muster-deploy/muster/internal/sets/policy/resource"
)

// read returns an object as the reader of manifests does, with integers as int64.
func read(t testing.TB, text string) *unstructured.Unstructured {
	t.Helper()
	data, err := sigs.YAMLToJSON([]byte(text))
	fields := map[string]any{}
	if err == nil {
		err = utiljson.Unmarshal(data, &fields)
	}
	if err != nil {
		t.Fatal(err)
	}
	return &unstructured.Unstructured{Object: fields}
}

// What kapp 0.60 left on a Service after an update, read back with kubectl, and the md5 of it. The
// address of the service is not in that output; of all that the server could have given, 10.0.0.224
// alone leads to the md5.
const (
	applied = `
apiVersion: v1
kind: Service
metadata:
  name: web
  namespace: demo
  labels:
    kapp.k14s.io/app: "1795253170392718630"
    kapp.k14s.io/association: v1.49f0da33b0818f8cd668bea0af73d11d
spec:
  selector: {app: web, kapp.k14s.io/app: "1795253170392718630"}
  ports: [{port: 8080, targetPort: 80}]
`
	stored = `
apiVersion: v1
kind: Service
metadata:
  name: web
  namespace: demo
  uid: 0b9b5bb7-7b7a-4b7b-9b7b-0b9b5bb77b7a
  resourceVersion: "367"
  creationTimestamp: "2026-11-21T09:26:10Z"
  annotations:
    kapp.k14s.io/identity: v1;demo//Service/web;v1
  labels:
    kapp.k14s.io/app: "1795253170392718630"
    kapp.k14s.io/association: v1.49f0da33b0818f8cd668bea0af73d11d
  managedFields:
  - {apiVersion: v1, fieldsType: FieldsV1, manager: kapp, operation: Update}
spec:
  clusterIP: 10.0.0.224
  clusterIPs: [10.0.0.224]
  internalTrafficPolicy: Cluster
  ipFamilies: [IPv4]
  ipFamilyPolicy: SingleStack
  ports: [{port: 8080, protocol: TCP, targetPort: 80}]
  selector: {app: web, kapp.k14s.io/app: "1795253170392718630"}
  sessionAffinity: None
  type: ClusterIP
status: {loadBalancer: {}}
`
	original = `{"apiVersion":"v1","kind":"Service",` +
		`"metadata":{"labels":{"kapp.k14s.io/app":"1795253170392718630",` +
		`"kapp.k14s.io/association":"v1.49f0da33b0818f8cd668bea0af73d11d"},"name":"web",` +
		`"namespace":"demo"},` +
		`"spec":{"ports":[{"port":8080,"targetPort":80}],"selector":{"app":"web",` +
		`"kapp.k14s.io/app":"1795253170392718630"}}}`
	sum = "01736172e20a89fd5911eb91d2a51e5d"
)

// TestInterchange proves the formats against what kapp itself wrote: the md5, the original, and
// that the record is accepted.
func TestInterchange(t *testing.T) {
	got, err := Fingerprint(read(t, stored), read(t, applied), rules)
	if err != nil || got != sum {
		t.Errorf("md5 %s (%v), kapp's is %s", got, err, sum)
	}
	amended, err := amend(read(t, stored), read(t, applied), rules)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		resource.AnnIdentity: "v1;demo//Service/web;v1", resource.AnnOriginal: original,
		resource.AnnOriginalDiffMD5: sum,
	}
	if diff := cmp.Diff(want, amended.GetAnnotations()); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
	base, ok := Base(amended, rules)
	if !ok {
		t.Fatal("the record is not accepted")
	}
	if _, has := base.Object["spec"].(map[string]any)["clusterIPs"]; has ||
		base.GetUID() != amended.GetUID() {
		t.Errorf("the base is not the original on the live object: %v", base.Object)
	}
	if annotations, has := base.Object["metadata"].(map[string]any)["annotations"]; has {
		t.Errorf("the base has annotations: %v", annotations)
	}
	if again, err := amend(amended, read(t, applied), rules); again != nil || err != nil {
		t.Errorf("a right record is written again: %v", err)
	}
}

// TestDifference compares each kind of operation in the form that is hashed.
func TestDifference(t *testing.T) {
	for _, c := range []struct{ name, left, right, want string }{
		{"nothing", `{a: 1, b: [x]}`, `{a: 1, b: [x]}`, "[]\n"},
		{"left only", `{a: 1, b: {c: x}}`, `{a: 1}`,
			"- type: test\n  path: /b\n  value:\n    c: x\n- type: remove\n  path: /b\n"},
		{"right only", `{m: {}}`, `{m: {a/b~c:d: "true"}}`,
			"- type: test\n  path: /m/a~1b~0c~7d\n  absent: true\n- type: replace\n  path: " +
				"/m/a~1b~0c~7d?\n  value: \"true\"\n"},
		{"longer left", `{l: [a, b, c]}`, `{l: [a]}`,
			"- type: test\n  path: /l/1\n  value: b\n- type: remove\n  path: /l/1\n" +
				"- type: test\n  path: /l/1\n  value: c\n- type: remove\n  path: /l/1\n"},
		{"longer right", `{l: []}`, `{l: [a, b]}`,
			"- type: test\n  path: /l/0\n  absent: true\n- type: replace\n  path: /l/-\n  value: a\n" +
				"- type: test\n  path: /l/1\n  absent: true\n- type: replace\n  path: /l/-\n  value: b\n"},
		{"scalar", `{a: x, b: null}`, `{a: true, b: ""}`,
			"- type: test\n  path: /a\n  value: x\n- type: replace\n  path: /a\n  value: true\n" +
				"- type: test\n  path: /b\n  value: null\n- type: replace\n  path: /b\n  value: \"\"\n"},
		{"types", `{a: {}, b: [1]}`, `{a: [], b: {x: 1}}`,
			"- type: test\n  path: /a\n  value: {}\n- type: replace\n  path: /a\n  value: []\n" +
				"- type: test\n  path: /b\n  value:\n  - 1\n- type: replace\n  path: /b\n  value:\n    x: 1\n"},
		{"order of bytes", `{B: 1, a: 1, a-b: 1, aB: 1}`, `{}`,
			"- type: test\n  path: /B\n  value: 1\n- type: remove\n  path: /B\n" +
				"- type: test\n  path: /a\n  value: 1\n- type: remove\n  path: /a\n" +
				"- type: test\n  path: /a-b\n  value: 1\n- type: remove\n  path: /a-b\n- type: test\n  path: " +
				"/aB\n  value: 1\n- type: remove\n  path: /aB\n"},
	} {
		text, err := yaml.Marshal(difference(read(t, c.left).Object, read(t, c.right).Object))
		if err != nil || string(text) != c.want {
			t.Errorf("%s (%v), -want +got:\n%s", c.name, err, cmp.Diff(c.want, string(text)))
		}
	}
}

// TestNumbers covers the two ways in which a number is printed: as the server gave it, and as kapp
// reads files.
func TestNumbers(t *testing.T) {
	left := map[string]any{"big": int64(1000000), "half": 0.5, "same": int64(1000000), "huge": 1e19}
	right := withFloats(
		map[string]any{
			"big":  int64(2000000),
			"half": 0.25,
			"same": int64(1000000),
			"huge": 1e19,
			"new":  int64(1500000),
		},
	)
	text, err := yaml.Marshal(difference(left, right.(map[string]any)))
	want := "- type: test\n  path: /big\n  value: 1000000\n- type: replace\n  path: /big\n  value: " +
		"2e+06\n" +
		"- type: test\n  path: /half\n  value: 0.5\n- type: replace\n  path: /half\n  value: 0.25\n" +
		"- type: test\n  path: /new\n  absent: true\n- type: replace\n  path: /new?\n  value: 1.5e+06\n"
	if err != nil || string(text) != want {
		t.Errorf("(%v) -want +got:\n%s", err, cmp.Diff(want, string(text)))
	}
}

// TestBase covers records that are not true, or none.
func TestBase(t *testing.T) {
	good, err := amend(read(t, stored), read(t, applied), rules)
	if err != nil {
		t.Fatal(err)
	}
	change := func(edit func(annotations map[string]string,
		obj *unstructured.Unstructured)) *unstructured.Unstructured {
		obj := good.DeepCopy()
		annotations := obj.GetAnnotations()
		edit(annotations, obj)
		obj.SetAnnotations(annotations)
		return obj
	}
	type annotations = map[string]string
	for _, c := range []struct {
		name string
		live *unstructured.Unstructured
		want bool
	}{
		{"as recorded", good, true},
		{"status alone", change(func(_ annotations, obj *unstructured.Unstructured) {
			obj.Object["status"] = map[string]any{"x": "y"}
		}), true},
		{"metadata of the server", change(func(_ annotations, obj *unstructured.Unstructured) {
			obj.SetResourceVersion("999")
			obj.SetFinalizers([]string{"example.com/x"})
		}), true},
		{"in YAML", change(func(a annotations, _ *unstructured.Unstructured) {
			text, _ := sigs.JSONToYAML([]byte(original))
			a[resource.AnnOriginal] = string(text)
		}), true},
		{"old annotations", change(func(a annotations, _ *unstructured.Unstructured) {
			a[resource.AnnOriginalDiff] = "x"
			a[resource.AnnOriginalDiffFull] = "x"
		}), true},
		{"a field changed", change(func(_ annotations, obj *unstructured.Unstructured) {
			_ = unstructured.SetNestedField(obj.Object, "ClientIP", "spec", "sessionAffinity")
		}), false},
		{"an annotation added", change(func(a annotations,
			_ *unstructured.Unstructured) {
			a["added"] = "by-someone"
		}), false},
		{"no md5", change(func(a annotations, _ *unstructured.Unstructured) {
			delete(a,
				resource.AnnOriginalDiffMD5)
		}), false},
		{"no original", change(func(a annotations,
			_ *unstructured.Unstructured) {
			delete(a, resource.AnnOriginal)
		}), false},
		{"broken original", change(func(a annotations,
			_ *unstructured.Unstructured) {
			a[resource.AnnOriginal] = "{broken"
		}), false},
		{"broken YAML", change(func(a annotations,
			_ *unstructured.Unstructured) {
			a[resource.AnnOriginal] = "a: ["
		}), false},
		{"empty original", change(func(a annotations,
			_ *unstructured.Unstructured) {
			a[resource.AnnOriginal] = "{}"
		}), false},
		{"not an object", change(func(a annotations,
			_ *unstructured.Unstructured) {
			a[resource.AnnOriginal] = "[1]"
		}), false},
		{"no annotations", read(t, "{apiVersion: v1, kind: Service}"), false},
		{"empty object", &unstructured.Unstructured{Object: map[string]any{}}, false},
	} {
		before := c.live.DeepCopy()
		base, ok := Base(c.live, rules)
		if ok != c.want || ok != (base != nil) {
			t.Errorf("%s: ok %v, base %v", c.name, ok, base)
		}
		if !cmp.Equal(before, c.live) {
			t.Errorf("%s: the object was changed", c.name)
		}
	}
	odd := change(func(a annotations, _ *unstructured.Unstructured) {
		a[resource.AnnOriginal] = `{"metadata": 1}`
	})
	if _, ok := Base(odd, rules); ok {
		t.Error("an original with odd metadata is used")
	}
	if _, ok := Base(good, failing(t)); ok {
		t.Error("an original on which a rule fails is used")
	}
}

// TestStrip covers that an empty map is left, and objects without one.
func TestStrip(t *testing.T) {
	obj := read(
		t,
		`{metadata: {annotations: {kapp.k14s.io/identity: x, kapp.k14s.io/original: x, `+
			`kapp.k14s.io/original-diff-md5: x, kapp.k14s.io/original-diff: x, `+
			`kapp.k14s.io/original-diff-full: x}}}`,
	)
	Strip(obj)
	StripIdentity(obj)
	if want := read(t, `{metadata: {annotations: {}}}`); !cmp.Equal(want, obj) {
		t.Errorf("got %v", obj.Object)
	}
	for _, text := range []string{"{}", "{metadata: null}", "{metadata: {annotations: null}}",
		"{metadata: [1]}"} {
		obj := read(t, text)
		want := maps.Clone(obj.Object)
		Strip(obj)
		StripIdentity(obj)
		if !cmp.Equal(want, obj.Object) {
			t.Errorf("%s became %v", text, obj.Object)
		}
	}
}
