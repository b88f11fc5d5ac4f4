package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/muster-deploy/muster/internal/sets/policy/resource"
)

// TestDefault counts the built-in rules.
func TestDefault(t *testing.T) {
	var doc map[string]any
	if err := yaml.UnmarshalStrict([]byte(DefaultText()), &doc); err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	for section, rules := range doc {
		if list, ok := rules.([]any); ok {
			got[section] = len(list)
		}
	}
	want := map[string]int{
		"rebaseRules": 18, "ownershipLabelRules": 5, "labelScopingRules": 3, "templateRules": 2,
		"diffMaskRules": 2,
		"diffAgainstLastAppliedFieldExclusionRules": 1, "diffAgainstExistingFieldExclusionRules": 1,
		"changeGroupBindings": 13, "changeRuleBindings": 10,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
	if c := Default(); len(c.bindings.rules) != 10 || len(c.waits.rules) != 0 || len(c.labels) != 0 {
		t.Errorf("Default gave %d bindings, %d wait rules and the labels %v", len(c.bindings.rules),
			len(c.waits.rules), c.labels)
	}
}

// TestExtractTwice adds rules of all sections to the built-in ones, which stay what they are: each
// configuration has its own rules.
func TestExtractTwice(t *testing.T) {
	read := func(name string) *Config {
		text := strings.ReplaceAll(DefaultText(), "kind: Secret", "kind: "+name) +
			"\nadditionalLabels: {team: " + name + "}\npreflightRules: [{name: " + name + "}]\n"
		_, c, err := Extract([]resource.Resource{{Unstructured: decode(t, text)[0]}}, "0.60.0")
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	first := read("First")
	read("Second")
	again := read("First")
	if !reflect.DeepEqual(first, again) {
		t.Error("the second configuration has changed the first one")
	}
	if !reflect.DeepEqual(Default(), parseDefault()) {
		t.Error("the built-in rules have changed")
	}
}

// TestPathLength refuses paths that are longer than those of any object, in each place that has
// one: a rule may create all maps of its path.
func TestPathLength(t *testing.T) {
	const document = "{apiVersion: kapp.k14s.io/v1alpha1, kind: Config, %s}"
	all := "resourceMatchers: [{allMatcher: {}}]"
	for _, format := range []string{
		"ownershipLabelRules: [{path: [%s], " + all + "}]",
		"labelScopingRules: [{path: [%s], " + all + "}]",
		"templateRules: [{" + all +
			", affectedResources: {objectReferences: [{path: [%s], " + all + "}]}}]",
		"rebaseRules: [{path: [%s], type: copy, sources: [existing], " + all + "}]",
		"rebaseRules: [{paths: [[%s]], type: copy, sources: [existing], " + all + "}]",
		"diffMaskRules: [{path: [%s], " + all + "}]",
		"diffAgainstLastAppliedFieldExclusionRules: [{path: [%s], " + all + "}]",
		"diffAgainstExistingFieldExclusionRules: [{path: [%s], " + all + "}]",
		"diffMaskRules: [{path: [a], resourceMatchers: [{emptyFieldMatcher: {path: [%s]}}]}]",
	} {
		for _, parts := range []int{100, 101} {
			path := strings.TrimSuffix(strings.Repeat("a,", parts), ",")
			doc := decode(t, fmt.Sprintf(document, fmt.Sprintf(format, path)))[0]
			_, _, err := Extract([]resource.Resource{{Unstructured: doc}}, "0.60.0")
			if refused := err != nil; refused != (parts > 100) || refused && !strings.Contains(err.Error(),
				"expected a path of at most 100 parts, but found 101") {
				t.Errorf("%s with %d parts: %v", format, parts, err)
			}
		}
	}
}

// TestExtract reads documents between objects, and one in a ConfigMap.
func TestExtract(t *testing.T) {
	objects := decode(t, `
{apiVersion: v1, kind: ConfigMap, metadata: {name: first}}
---
apiVersion: kapp.k14s.io/v1alpha1
kind: Config
minimumRequiredVersion: 0.60
unknown: {anything: 1}
additionalLabels: {team: one, more: x}
changeRuleBindings: [{rules: [first], resourceMatchers: [{allMatcher: {}}], ignoreIfCyclical: true}]
preflightRules: [{name: PermissionValidation}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: kapp-config, labels: {kapp.k14s.io/config: ""}}
data:
  config.yml: |
    apiVersion: kapp.k14s.io/v1alpha1
    kind: Config
    additionalLabels: {team: two}
    changeRuleBindings: [{rules: [second], resourceMatchers: [{kindNamespaceNameMatcher: {kind: A, name: a}}]}]
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: last}}
`)
	var all []resource.Resource
	for _, obj := range objects {
		all = append(all, resource.Resource{Unstructured: obj, Origin: "stdin"})
	}
	rest, c, err := Extract(all, "0.60.0")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, r := range rest {
		names = append(names, r.GetName()+" of "+r.Origin)
	}
	if want := []string{"first of stdin", "kapp-config of stdin",
		"last of stdin"}; !slices.Equal(names, want) {
		t.Errorf("left are %v, want %v", names, want)
	}
	a := decode(t, "{apiVersion: apps/v1, kind: A, metadata: {name: a}}")[0]
	want := []RuleBinding{
		{[]string{"delete after deleting change-groups.kapp.k14s.io/crds"}, true, 102},
		{[]string{"first"}, true, 110},
		{[]string{"second"}, false, 111},
	}
	if diff := cmp.Diff(want, c.ChangeRules(a)); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
	if err := c.AddOwnershipLabels(a, map[string]string{"app": "1"}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"app": "1", "team": "two", "more": "x"},
		a.GetLabels()); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
}

// TestCreate checks that rebasing without an existing object returns a copy.
func TestCreate(t *testing.T) {
	obj := decode(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {a: b}}")[0]
	rebased, err := Default().Rebase(nil, obj)
	if err != nil || !cmp.Equal(obj, rebased) {
		t.Errorf("got %v and %v", rebased, err)
	}
	rebased.SetName("b")
	if obj.GetName() != "a" {
		t.Error("the copy is the object")
	}
}

// TestZero checks a configuration without rules.
func TestZero(t *testing.T) {
	var c Config
	obj := decode(t, "{apiVersion: v1, kind: Secret, metadata: {name: a}, data: {a: b}}")[0]
	before := obj.DeepCopy()
	rebased, err := c.Rebase(obj, obj)
	if err != nil || !cmp.Equal(before, rebased) {
		t.Errorf("Rebase gave %v and %v", rebased, err)
	}
	for _, f := range []func(*unstructured.Unstructured) error{
		c.StripExisting, c.StripLastApplied,
		func(o *unstructured.Unstructured) error {
			return c.AddOwnershipLabels(o, map[string]string{"a": "b"})
		},
		func(o *unstructured.Unstructured) error { return c.RewriteRefs(o, o, "a", "b") },
	} {
		if err := f(obj); err != nil || !cmp.Equal(before, obj) {
			t.Errorf("changed to %v, with %v", obj, err)
		}
	}
}

func TestPreflight(t *testing.T) {
	known := func(name string) bool { return name != "C" }
	for _, tc := range []struct{ checks, want, err string }{
		{"", "", ""},
		{"[{name: B}, {name: A, config: {x: 1}}]", "B map[] A map[x:1]", ""},
		{"[{name: A}, {name: C}]", "",
			`preflight configuration settings failed: unknown preflight check in configuration: "C"`},
		{"[{name: A}, {name: A}]", "",
			`preflight configuration settings failed: duplicate preflight check in configuration: "A"`},
	} {
		c := configured(t, map[string]string{
			"config.yaml": "apiVersion: kapp.k14s.io/v1alpha1\nkind: Config\npreflightRules: " + tc.checks})
		checks, err := c.PreflightChecks(known)
		var got []string
		for _, check := range checks {
			got = append(got, strings.TrimSpace(fmt.Sprint(check.Name, " ", check.Config)))
		}
		if strings.Join(got, " ") != tc.want || (err == nil) != (tc.err == "") || err != nil &&
			err.Error() != tc.err {
			t.Errorf("%s: got %v and %v, want %q and %q", tc.checks, got, err, tc.want, tc.err)
		}
	}
}

func TestVersion(t *testing.T) {
	for _, tc := range []struct{ least, have, want string }{
		{"0.60.0", "0.60.0", ""},
		{"0.8", "0.60.0", ""},
		{"0", "0.60.0", ""},
		{"0.60.1-beta.1", "0.60.1", ""},
		{"0.61.0-alpha", "0.60.0",
			"kapp version '0.60.0' does not meet the minimum required version '0.61.0-alpha'"},
		{"1", "0.60.0", "kapp version '0.60.0' does not meet the minimum required version '1'"},
		{"0.1.0", "develop", "Parsing version constraint: Malformed version: develop"},
		{"0.1.0.0", "0.60.0", "Parsing minimum version constraint: Malformed constraint: >=0.1.0.0"},
		{"v1", "0.60.0", "Validating minimum version: Must not have prefix 'v' (e.g. '0.8.0')"},
	} {
		var r reader
		node{r: &r, value: tc.least}.checkMinimumVersion(tc.have)
		got := ""
		if r.invalid != nil {
			got = r.invalid.text
		}
		if got != tc.want {
			t.Errorf("%s of %s: got %q, want %q", tc.least, tc.have, got, tc.want)
		}
	}
}

// FuzzExtract looks for documents and objects that cause a panic.
func FuzzExtract(f *testing.F) {
	f.Add(DefaultText(), "{kind: Secret, metadata: {annotations: "+
		"{kapp.k14s.io/versioned-explicit-ref: x}}, data: [1]}")
	f.Add("rebaseRules: [{path: [a, {index: 1}, {regex: .}], type: copy, sources: [new, existing], "+
		"resourceMatchers: [{allMatcher: {}}]}]",
		"{a: [{b: 1}, {c: 2}]}")
	f.Add("waitRules: [{conditionMatchers: [{type: A, status: B, success: true}], "+
		"resourceMatchers: [{customResourceMatcher: {}}]}]",
		"{apiVersion: x/y, status: {conditions: [{type: A}]}}")
	f.Fuzz(func(t *testing.T, config, object string) {
		var doc, obj map[string]any
		if yaml.Unmarshal([]byte(config), &doc) != nil || yaml.Unmarshal([]byte(object), &obj) != nil ||
			doc == nil || obj == nil {
			return
		}
		doc["apiVersion"], doc["kind"] = DocVersion, docKind
		delete(doc, "minimumRequiredVersion")
		c := &Config{}
		if c.read(resource.Resource{Unstructured: &unstructured.Unstructured{Object: doc}},
			"0.60.0") != nil {
			return
		}
		o := &unstructured.Unstructured{Object: obj}
		c.ChangeGroups(o)
		c.ChangeRules(o)
		c.Judge(o)
		all := []error{c.StripExisting(o.DeepCopy()), c.StripLastApplied(o.DeepCopy()),
			c.AddOwnershipLabels(o.DeepCopy(), map[string]string{"a": "b"}),
			c.AddScopingLabels(o.DeepCopy(), map[string]string{"a": "b"}, true),
			c.RewriteRefs(o.DeepCopy(), o, "a", "b"),
			c.Mask(o.DeepCopy(), func(any) string { return "" })}
		_, err := c.Rebase(o, o)
		for _, err := range append(all, err) {
			if err != nil && err.Error() == "" {
				t.Error("an error without words")
			}
		}
	})
}

func TestOverlays(t *testing.T) {
	for text, want := range map[string]bool{
		"{apiVersion: kapp.k14s.io/v1alpha1, kind: Config}": false,
		"{apiVersion: kapp.k14s.io/v1alpha1, kind: Config, rebaseRules: [{path: [data], type: remove, " +
			"resourceMatchers: [{allMatcher: {}}]}]}": false,
		"{apiVersion: kapp.k14s.io/v1alpha1, kind: Config, rebaseRules: [{ytt: {overlayContractV1: " +
			"{overlay.yml: '#@ load(\"@ytt:overlay\", \"overlay\")'}}, resourceMatchers: []}]}": true,
	} {
		_, c, err := Extract([]resource.Resource{{Unstructured: decode(t, text)[0]}}, "0.60.0")
		if err != nil {
			t.Fatal(err)
		}
		if got := c.HasOverlays(); got != want {
			t.Errorf("Overlays of %s gave %t", text, got)
		}
	}
}
