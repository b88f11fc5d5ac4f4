package diff_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/muster-deploy/muster/internal/diff"
)

// objectOf returns the object that YAML describes.
func objectOf(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	obj := &unstructured.Unstructured{}
	if err := obj.UnmarshalJSON(data); err != nil {
		t.Fatal(err)
	}
	return obj
}

// TestIgnoreCheck checks which rules are refused, and what the errors say.
func TestIgnoreCheck(t *testing.T) {
	for path, want := range map[string]string{
		"/spec/replicas": "",
		"/metadata/annotations/example.com~1note":         "",
		"/metadata/labels/tier":                           "",
		"/metadata/finalizers":                            "",
		"/metadata/ownerReferences":                       "",
		"/spec/template/spec/containers/[name=web]/image": "",
		"/spec/ports/[port=80]":                           "",
		"spec":                                            "begins with /",
		"":                                                "begins with /",
		"/":                                               "empty",
		"/spec//x":                                        "empty",
		"/spec/a~2":                                       "~0",
		"/spec/containers/0/image":                        "[name=web] instead of 0",
		"/spec/containers/-":                              "[name=web] instead of -",
		"/spec/containers/[web]":                          "expected [FIELD=VALUE]",
		"/spec/containers/[name=web":                      "expected [FIELD=VALUE]",
		"/[a=b]":                                          "no list",
		"/apiVersion":                                     "identifies",
		"/kind":                                           "identifies",
		"/stringData/a":                                   "in data",
		"/metadata":                                       "of the metadata only",
		"/metadata/name":                                  "of the metadata only",
		"/metadata/namespace":                             "of the metadata only",
		"/metadata/resourceVersion":                       "of the metadata only",
		"/metadata/labels":                                "of the metadata only",
		"/metadata/annotations":                           "of the metadata only",
		"/metadata/labels/set~1of":                        "set/of marks",
		"/metadata/annotations/mark":                      "mark marks",
	} {
		rules := diff.IgnoreRules{{Paths: []string{path}}}
		err := rules.Check([]string{"set/of"}, []string{"mark"})
		switch {
		case want == "" && err != nil:
			t.Errorf("%s: %v", path, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
	for _, rules := range []diff.IgnoreRules{
		{{}}, {{Paths: []string{"/spec"}, Managers: []string{""}}},
	} {
		if rules.Check(nil, nil) == nil {
			t.Errorf("%v is not refused", rules)
		}
	}
}

// TestIgnoreTarget checks which objects a target selects.
func TestIgnoreTarget(t *testing.T) {
	want := objectOf(t, "{apiVersion: apps/v1, kind: Deployment, "+
		"metadata: {name: web-blue-1, namespace: shop}, spec: {replicas: 2}}")
	live := want.DeepCopy()
	live.Object["spec"] = map[string]any{"replicas": int64(7)}
	for _, tc := range []struct {
		target diff.IgnoreTarget
		want   bool
	}{
		{diff.IgnoreTarget{}, true},
		{diff.IgnoreTarget{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "web-*"}, true},
		{diff.IgnoreTarget{Name: "*-blue-*"}, true},
		{diff.IgnoreTarget{Name: "web-*-1"}, true},
		{diff.IgnoreTarget{Name: "web-*-1*"}, true},
		{diff.IgnoreTarget{Name: "*"}, true},
		{diff.IgnoreTarget{Name: "web"}, false},
		{diff.IgnoreTarget{Name: "web-blue-1-*"}, false},
		{diff.IgnoreTarget{Name: "*-green-*"}, false},
		{diff.IgnoreTarget{Name: "web-blue-1*1"}, false},
		{diff.IgnoreTarget{Kind: "StatefulSet"}, false},
		{diff.IgnoreTarget{Group: "apps.example.com"}, false},
		{diff.IgnoreTarget{Namespace: "bank"}, false},
	} {
		rules := diff.IgnoreRules{{Paths: []string{"/spec/replicas"}, Target: tc.target}}
		kept, err := rules.Keep(want, live)
		if err != nil {
			t.Fatal(err)
		}
		if got := kept != want; got != tc.want {
			t.Errorf("%+v selects: %t, want %t", tc.target, got, tc.want)
		}
	}
}

// ignoreCase is a desired and a live object, and what a client-side and a server-side apply send.
type ignoreCase struct {
	name       string
	rule       diff.IgnoreRule
	want, live string // the objects without their identity
	managed    string // managed fields by manager; "us" applies
	kept, sent string // the same as kept if empty
	described  string // the record; the same as kept if empty
}

var ignoreCases = []ignoreCase{
	{
		name: "a value", rule: diff.IgnoreRule{Paths: []string{"/spec/size"}},
		want: "{spec: {size: 2, color: red}}", live: "{spec: {size: 7, color: blue}}",
		managed: "{us: {'f:spec': {'f:color': {}}}, scaler: {'f:spec': {'f:size': {}}}}",
		kept:    "{spec: {size: 7, color: red}}", sent: "{spec: {color: red}}",
	},
	{
		name: "a value that only the applier owns", rule: diff.IgnoreRule{Paths: []string{"/spec/size"}},
		want: "{spec: {size: 2}}", live: "{spec: {size: 7}}",
		managed: "{us: {'f:spec': {'f:size': {}}}}", kept: "{spec: {size: 7}}",
	},
	{
		name: "a shared value", rule: diff.IgnoreRule{Paths: []string{"/spec/size"}},
		want: "{spec: {size: 2, a: 1}}", live: "{spec: {size: 7, a: 1}}",
		managed: "{us: {'f:spec': {'f:size': {}, 'f:a': {}}}, scaler: {'f:spec': {'f:size': {}}}}",
		kept:    "{spec: {size: 7, a: 1}}", sent: "{spec: {a: 1}}",
	},
	{
		name: "a removed value", rule: diff.IgnoreRule{Paths: []string{"/spec/size"}},
		want: "{spec: {size: 2}, data: {a: b}}", live: "{data: {a: b}}",
		managed: "{us: {'f:data': {'f:a': {}}}}", kept: "{data: {a: b}}",
	},
	{
		name: "a value that is not described", rule: diff.IgnoreRule{Paths: []string{"/spec/deep/size"}},
		want: "{data: {a: b}}", live: "{spec: {deep: {size: 7, color: red}}, data: {a: b}}",
		managed: "{us: {'f:data': {'f:a': {}}}, x: {'f:spec': {'f:deep': {'f:size': {}}}}}",
		kept:    "{spec: {deep: {size: 7}}, data: {a: b}}", sent: "{data: {a: b}}",
		described: "{data: {a: b}}",
	},
	{
		name: "a slash in a key",
		rule: diff.IgnoreRule{Paths: []string{"/metadata/annotations/example.com~1note"}},
		want: "{metadata: {annotations: {example.com/note: ours, b: c}}}",
		live: "{metadata: {annotations: {example.com/note: theirs, b: d}}}",
		managed: "{us: {'f:metadata': {'f:annotations': {'f:b': {}}}}, " +
			"x: {'f:metadata': {'f:annotations': {'f:example.com/note': {}}}}}",
		kept: "{metadata: {annotations: {example.com/note: theirs, b: c}}}",
		sent: "{metadata: {annotations: {b: c}}}",
	},
	{
		name: "the last annotation", rule: diff.IgnoreRule{Paths: []string{"/metadata/annotations/a"}},
		want: "{metadata: {name: x, annotations: {a: b}}}", live: "{metadata: {name: x}}",
		managed: "{us: {'f:data': {'f:c': {}}}}", kept: "{metadata: {name: x}}",
	},
	{
		name:    "the last annotation of the source",
		rule:    diff.IgnoreRule{Paths: []string{"/metadata/annotations/a"}},
		want:    "{metadata: {name: x, annotations: {a: b}}}",
		live:    "{metadata: {name: x, annotations: {c: d}}}",
		managed: "{us: {'f:data': {'f:c': {}}}}", kept: "{metadata: {name: x, annotations: {}}}",
		sent: "{metadata: {name: x}}",
	},
	{
		name: "what is below a path", rule: diff.IgnoreRule{Paths: []string{"/spec"}},
		want: "{spec: {a: 1, b: {c: 2}}}",
		live: "{spec: {a: 3, b: {c: 4, d: 5}, e: 6}}",
		managed: "{us: {'f:spec': {'f:a': {}, 'f:b': {'f:c': {}}}}, " +
			"x: {'f:spec': {'f:b': {'f:d': {}}, 'f:a': {}}}}",
		kept: "{spec: {a: 3, b: {c: 4, d: 5}, e: 6}}", sent: "{spec: {b: {c: 4}}}",
	},
	{
		name: "an item of a list",
		rule: diff.IgnoreRule{Paths: []string{"/spec/containers/[name=web]/image"}},
		want: "{spec: {containers: [{name: side, image: s1}, {name: web, image: w1, tty: true}]}}",
		live: "{spec: {containers: [{name: web, image: w2}, {name: side, image: s2}]}}",
		managed: "{us: {'f:spec': {'f:containers': " +
			"{'k:{\"name\":\"web\"}': {'.': {}, 'f:name': {}}}}}, " +
			"x: {'f:spec': {'f:containers': {'k:{\"name\":\"web\"}': {'f:image': {}}}}}}",
		kept: "{spec: {containers: [{name: side, image: s1}, {name: web, image: w2, tty: true}]}}",
		sent: "{spec: {containers: [{name: side, image: s1}, {name: web, tty: true}]}}",
	},
	{
		name: "a new item of a list",
		rule: diff.IgnoreRule{Paths: []string{"/spec/containers/[name=web]/image"}},
		want: "{spec: {containers: [{name: web, image: w1}]}}",
		live: "{spec: {containers: [{name: side, image: s2}]}}", managed: "{us: {'f:spec': {}}}",
		kept: "{spec: {containers: [{name: web, image: w1}]}}",
	},
	{
		name: "the items that the applier has",
		rule: diff.IgnoreRule{Paths: []string{"/spec/containers"}},
		want: "{spec: {containers: [{name: web, image: w1}]}}",
		live: "{spec: {containers: [{name: web, image: w2, tty: true}, {name: side, image: s2}]}}",
		managed: "{us: {'f:spec': {'f:containers': {'k:{\"name\":\"web\"}': " +
			"{'.': {}, 'f:name': {}, 'f:image': {}}}}}, x: {'f:spec': {'f:containers': " +
			"{'k:{\"name\":\"side\"}': {'.': {}, 'f:name': {}, 'f:image': {}}, " +
			"'k:{\"name\":\"web\"}': {'f:name': {}, 'f:tty': {}}}}}}",
		kept: "{spec: {containers: [{name: web, image: w2, tty: true}, {name: side, image: s2}]}}",
		sent: "{spec: {containers: [{name: web, image: w2}]}}",
	},
	{
		name: "an item that others added",
		rule: diff.IgnoreRule{Paths: []string{"/spec/ports/[port=80]"}},
		want: "{spec: {ports: [{port: 443}]}}", live: "{spec: {ports: [{port: 80}, {port: 443}]}}",
		managed: "{us: {'f:spec': {'f:ports': {'k:{\"port\":443}': {'.': {}, 'f:port': {}}}}}, " +
			"x: {'f:spec': {'f:ports': {'k:{\"port\":80}': {'.': {}, 'f:port': {}}}}}}",
		kept: "{spec: {ports: [{port: 443}, {port: 80}]}}", sent: "{spec: {ports: [{port: 443}]}}",
		described: "{spec: {ports: [{port: 443}]}}",
	},
	{
		name: "a part of a value that the server replaces as a whole",
		rule: diff.IgnoreRule{Paths: []string{"/spec/selector/app"}},
		want: "{spec: {selector: {app: a, tier: b}}}", live: "{spec: {selector: {app: x, tier: y}}}",
		managed: "{x: {'f:spec': {'f:selector': {}}}}",
		kept:    "{spec: {selector: {app: x, tier: b}}}",
	},
	{
		name: "a manager",
		rule: diff.IgnoreRule{Paths: []string{"/data"}, Managers: []string{"sca*", "none"}},
		want: "{data: {a: '1', b: '2', c: '3'}}", live: "{data: {a: '7', b: '8', d: '9'}}",
		managed: "{us: {'f:data': {'f:c': {}}}, scaler: {'f:data': {'f:a': {}, 'f:d': {}}}, " +
			"x: {'f:data': {'f:b': {}}}}",
		kept: "{data: {a: '7', b: '2', c: '3', d: '9'}}", sent: "{data: {b: '2', c: '3'}}",
		described: "{data: {a: '7', b: '2', c: '3'}}",
	},
	{
		name:    "fields of a manager beside the path",
		rule:    diff.IgnoreRule{Paths: []string{"/spec/deep/a"}, Managers: []string{"x"}},
		want:    "{spec: {deep: {a: 1, b: 1}, c: 1}, data: {d: e}}",
		live:    "{spec: {deep: {a: 2, b: 2}, c: 2}, data: {d: f}}",
		managed: "{x: {'f:spec': {'f:deep': {'f:a': {}, 'f:b': {}}, 'f:c': {}}, 'f:data': {'f:d': {}}}}",
		kept:    "{spec: {deep: {a: 2, b: 1}, c: 1}, data: {d: e}}",
		sent:    "{spec: {deep: {b: 1}, c: 1}, data: {d: e}}",
	},
	{
		name: "a manager of a value as a whole",
		rule: diff.IgnoreRule{Paths: []string{"/spec/selector/app"}, Managers: []string{"x"}},
		want: "{spec: {selector: {app: a, tier: b}}}", live: "{spec: {selector: {app: x, tier: y}}}",
		managed: "{x: {'f:spec': {'f:selector': {}}}}",
		kept:    "{spec: {selector: {app: x, tier: b}}}",
	},
	{
		name: "a manager of an item by another key",
		rule: diff.IgnoreRule{
			Paths: []string{"/spec/ports/[name=web]/nodePort"}, Managers: []string{"x"},
		},
		want: "{spec: {ports: [{port: 80, name: web, nodePort: 1}]}}",
		live: "{spec: {ports: [{port: 80, protocol: TCP, name: web, nodePort: 2}]}}",
		managed: "{us: {'f:spec': {'f:ports': {'k:{\"port\":80,\"protocol\":\"TCP\"}': " +
			"{'.': {}, 'f:port': {}, 'f:name': {}}}}}, x: {'f:spec': {'f:ports': " +
			"{'k:{\"port\":80,\"protocol\":\"TCP\"}': {'f:nodePort': {}}}}}}",
		kept: "{spec: {ports: [{port: 80, name: web, nodePort: 2}]}}",
		sent: "{spec: {ports: [{port: 80, name: web}]}}",
	},
}

// TestIgnore checks what client-side and server-side applies send for the fields of others, and
// what is recorded.
func TestIgnore(t *testing.T) {
	for _, tc := range ignoreCases {
		t.Run(tc.name, func(t *testing.T) {
			want, live := thing(t, tc.want), thing(t, tc.live)
			addManaged(t, live, tc.managed)
			before, rules := want.DeepCopy(), diff.IgnoreRules{tc.rule}
			kept, err := rules.Keep(want, live)
			expectThing(t, "kept", kept, err, tc.kept)
			recorded, err := rules.KeepDescribed(want, live)
			expectThing(t, "recorded", recorded, err, orElse(tc.described, tc.kept))
			sent, err := rules.LeaveOut(want, live, diff.Applier{Manager: "us"})
			expectThing(t, "sent", sent, err, orElse(tc.sent, tc.kept))
			if !cmp.Equal(before, want) {
				t.Errorf("the desired object was changed: %v", want)
			}
			if same, err := rules.Keep(want, nil); same != want || err != nil {
				t.Errorf("a new object is sent as %v, %v", same, err)
			}
		})
	}
}

// TestIgnoreApplier checks whose fields count as those of the applier.
func TestIgnoreApplier(t *testing.T) {
	want, live := thing(t, "{spec: {size: 2}}"), thing(t, "{spec: {size: 7}}")
	live.SetAnnotations(map[string]string{"last": "{}"})
	addManaged(t, live, "{us: {}, kubectl: {'f:spec': {'f:size': {}}, "+
		"'f:metadata': {'f:annotations': {'f:last': {}}}}}")
	rules := diff.IgnoreRules{{Paths: []string{"/spec/size"}}}
	for _, tc := range []struct {
		by   diff.Applier
		sent string
	}{
		{diff.Applier{Manager: "us"}, "{}"},
		{diff.Applier{Manager: "us", LastApplied: "last"}, "{spec: {size: 7}}"},
		{diff.Applier{Manager: "kubectl"}, "{}"},
		{diff.Applier{Manager: "kubectl", Updates: true}, "{spec: {size: 7}}"},
	} {
		sent, err := rules.LeaveOut(want, live, tc.by)
		expectThing(t, tc.by.Manager, sent, err, tc.sent)
	}
}

// TestIgnoreSecret checks that a rule for the data of a Secret covers its stringData.
func TestIgnoreSecret(t *testing.T) {
	secret := func(fields string) *unstructured.Unstructured {
		return objectOf(t, "{apiVersion: v1, kind: Secret, metadata: {name: a}, "+fields+"}")
	}
	rules := diff.IgnoreRules{{Paths: []string{"/data/password"}}}
	kept, err := rules.Keep(secret("stringData: {password: ours, user: me}"),
		secret("data: {password: dGhlaXJz, user: eW91}"))
	if err != nil {
		t.Fatal(err)
	}
	want := secret("data: {password: dGhlaXJz, user: bWU=}")
	if diff := cmp.Diff(want.Object, kept.Object); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// thing returns an object with some fields.
func thing(t *testing.T, fields string) *unstructured.Unstructured {
	t.Helper()
	obj := objectOf(t, "{apiVersion: example.com/v1, kind: Thing}")
	data, err := yaml.YAMLToJSON([]byte(fields))
	if err != nil {
		t.Fatal(err)
	}
	wrapped := objectOf(t, "{apiVersion: v1, kind: Wrapped, fields: "+string(data)+"}")
	given, _ := wrapped.Object["fields"].(map[string]any)
	for key, value := range given {
		obj.Object[key] = value
	}
	return obj
}

// addManaged adds managed fields: us is the applier, and others update.
func addManaged(t *testing.T, obj *unstructured.Unstructured, managers string) {
	t.Helper()
	for manager, fields := range thing(t, managers).Object {
		set, isSet := fields.(map[string]any)
		if !isSet {
			continue // apiVersion and kind
		}
		operation := "Update"
		if manager == "us" {
			operation = "Apply"
		}
		list, _, _ := unstructured.NestedSlice(obj.Object, "metadata", "managedFields")
		list = append(list, map[string]any{
			"manager": manager, "operation": operation, "apiVersion": "example.com/v1",
			"fieldsType": "FieldsV1", "fieldsV1": set,
		})
		if err := unstructured.SetNestedSlice(obj.Object, list, "metadata", "managedFields"); err != nil {
			t.Fatal(err)
		}
	}
}

func expectThing(
	t *testing.T, what string, got *unstructured.Unstructured, err error, want string,
) {
	t.Helper()
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return
	}
	if diff := cmp.Diff(thing(t, want).Object, got.Object); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func orElse(text, other string) string {
	if text == "" {
		return other
	}
	return text
}
