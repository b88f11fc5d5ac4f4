package sets

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/sets/policy"
)

// configCase is a case of testdata/config_rules.yaml.
type configCase struct {
	Name  string         `json:"name"`
	Kind  string         `json:"kind"` // empty: ConfigMap
	Rules map[string]any `json:"rules"`

	First  map[string]any `json:"first"`
	Live   map[string]any `json:"live"`
	Second map[string]any `json:"second"` // nil: the first again

	Want        map[string]any    `json:"want"`  // top-level fields
	Paths       map[string]any    `json:"paths"` // with dots; null: no such field
	ByName      map[string]any    `json:"byName"`
	Annotations map[string]string `json:"annotations"`
	Ops         string            `json:"ops"`
	Original    string            `json:"original"` // a part of it
}

// apiVersions are those of the kinds of the cases.
var apiVersions = map[string]string{
	"ConfigMap": "v1", "Secret": "v1", "Service": "v1", "Deployment": "apps/v1",
	"ClusterRole":                    "rbac.authorization.k8s.io/v1",
	"ValidatingWebhookConfiguration": "admissionregistration.k8s.io/v1",
}

// manifest returns the text of a manifest with some fields.
func (c configCase) manifest(t *testing.T, fields map[string]any) string {
	t.Helper()
	all := map[string]any{
		"apiVersion": apiVersions[c.Kind], "kind": c.Kind, "metadata": map[string]any{
			"name": "m", "annotations": map[string]any{"muster.dev/wait": "false"},
		},
	}
	mergeFields(all, fields)
	return yamlText(t, all)
}

func yamlText(t *testing.T, value any) string {
	t.Helper()
	text, err := yaml.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// mergeFields merges fields into others; a null removes.
func mergeFields(into, fields map[string]any) {
	for key, value := range fields {
		inner, isMap := value.(map[string]any)
		had, hasMap := into[key].(map[string]any)
		switch {
		case value == nil:
			delete(into, key)
		case isMap && hasMap:
			mergeFields(had, inner)
		default:
			into[key] = value
		}
	}
}

// fieldAt returns the field of a value by a path with dots; nil if there is none.
func fieldAt(value any, path string) any {
	for step := range strings.SplitSeq(path, ".") {
		switch v := value.(type) {
		case map[string]any:
			value = v[step]
		case []any:
			if i, err := strconv.Atoi(step); err == nil && i < len(v) {
				value = v[i]
				continue
			}
			return nil
		default:
			return nil
		}
	}
	return value
}

// ref returns the object of the case.
func (c configCase) ref() object.Ref {
	gv, _ := schema.ParseGroupVersion(apiVersions[c.Kind])
	ref := object.Ref{Group: gv.Group, Kind: c.Kind, Namespace: "demo", Name: "m"}
	if c.Kind == "ClusterRole" || strings.HasSuffix(c.Kind, "WebhookConfiguration") {
		ref.Namespace = ""
	}
	return ref
}

// same reports whether two values have the same YAML.
func same(t *testing.T, a, b any) bool {
	t.Helper()
	return yamlText(t, a) == yamlText(t, b)
}

// TestConfigRules runs rules of Config documents in native applies.
func TestConfigRules(t *testing.T) {
	text, err := os.ReadFile("testdata/config_rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var cases []configCase
	if err := yaml.UnmarshalStrict(text, &cases); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		if c.Kind == "" {
			c.Kind = "ConfigMap"
		}
		for _, serverSide := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/%t", c.Name, serverSide), func(t *testing.T) {
				c.run(t, serverSide)
			})
		}
	}
}

// run runs a case.
func (c configCase) run(t *testing.T, serverSide bool) {
	w := newSetWorld(t, KindApp)
	ref := c.ref()
	w.server.Serve(schema.GroupKind{Group: ref.Group, Kind: ref.Kind}, ref.Namespace != "")
	apply := func() *plan.Plan {
		p, summary, err := w.apply(t.Context(), func(o *policy.Options) {
			o.ServerSide = serverSide
			o.Conflicts = plan.TakeAll
		})
		if err != nil || summary.Failures() > 0 {
			t.Fatalf("%d failures, error %v", summary.Failures(), err)
		}
		return p
	}
	rules := map[string]any{"apiVersion": "kapp.k14s.io/v1alpha1", "kind": "Config"}
	mergeFields(rules, c.Rules)
	w.write("config.yaml", yamlText(t, rules))
	w.write("m.yaml", c.manifest(t, c.First))
	apply()
	if c.Live != nil {
		obj := w.server.Object(ref).DeepCopy()
		mergeFields(obj.Object, c.Live)
		text, err := json.Marshal(obj.Object)
		if err == nil {
			err = obj.UnmarshalJSON(text) // with whole numbers
		}
		if err != nil {
			t.Fatal(err)
		}
		w.server.Put(obj)
	}
	if c.Second != nil {
		w.write("m.yaml", c.manifest(t, c.Second))
	}
	p := apply()
	if c.Ops != "" && !serverSide {
		w.expect("plan", ops(p), c.Ops)
	}
	live := w.server.Object(ref)
	for key, value := range c.Want {
		if !same(t, live.Object[key], value) {
			t.Errorf("%s: got\n%swant\n%s", key, yamlText(t, live.Object[key]), yamlText(t, value))
		}
	}
	for path, value := range c.Paths {
		if got := fieldAt(live.Object, path); !same(t, got, value) {
			t.Errorf("%s: got\n%swant\n%s", path, yamlText(t, got), yamlText(t, value))
		}
	}
	for key, value := range c.Annotations {
		if got := live.GetAnnotations()[key]; got != value {
			t.Errorf("annotation %s: got %q, want %q", key, got, value)
		}
	}
	original := live.GetAnnotations()["kapp.k14s.io/original"]
	if !strings.Contains(original, c.Original) {
		t.Errorf("original: got %s, want %s", original, c.Original)
	}
	if live.GetLabels()["kapp.k14s.io/app"] == "" {
		t.Error("the label of the app is gone")
	}
	c.checkByName(t, live)
	if got := w.kapp(); got != "" {
		t.Errorf("kapp: %s", got)
	}
	_, lists := map[string]bool{"Deployment": true, "ValidatingWebhookConfiguration": true,
		"MutatingWebhookConfiguration": true}[live.GetKind()]
	if serverSide && lists {
		return // the server in memory knows no owners of items by keys
	}
	if got := ops(apply()); got != "m: unchanged" {
		t.Errorf("again: %s", got)
	}
}

// checkByName checks the variables of containers by their names.
func (c configCase) checkByName(t *testing.T, live *unstructured.Unstructured) {
	t.Helper()
	if c.ByName == nil {
		return
	}
	containers, _ := fieldAt(live.Object, "spec.template.spec.containers").([]any)
	got := map[string]any{}
	for _, item := range containers {
		fields, _ := item.(map[string]any)
		name, _ := fields["name"].(string)
		got[name] = fields["env"]
	}
	if !same(t, got, c.ByName) {
		t.Errorf("variables: got\n%swant\n%s", yamlText(t, got), yamlText(t, c.ByName))
	}
}

// configSections are sections of Config documents other than those about fields, and the plan
// that follows.
var configSections = map[string]struct{ rules, want string }{
	"labels": {"additionalLabels: {team: web}", "a: create, b: create; team=web"},
	"labels of objects": {
		"ownershipLabelRules:\n- path: [metadata, labels]\n" + ofAll, "a: create, b: create; team=",
	},
	"references from the top": {
		"templateRules:\n- resourceMatchers: [{allMatcher: {}}]\n  affectedResources: {" +
			"objectReferences: [{path: [], resourceMatchers: [{allMatcher: {}}]}]}",
		"a: create, b: create; team=",
	},
	"waits": {
		"waitRules:\n- supportsObservedGeneration: true\n  conditionMatchers:\n" +
			"  - {type: Ready, status: 'False', success: false}\n" +
			"  - {type: Synced, status: 'True', unblockChanges: true}\n" + ofAll,
		"a: create, b: create; team=",
	},
	"order": {
		groupsOf + "  rules: [upsert before deleting example.com/a]\n" + ofAll,
		"a: create, b: create; team=",
	},
	"order of applies": {
		groupsOf + "  rules: [upsert after upserting example.com/b]\n" +
			"  resourceMatchers: [{kindNamespaceNameMatcher: {kind: ConfigMap, namespace: demo, " +
			"name: a}}]\n",
		"b: create, a: create; team=",
	},
}

const (
	ofAll    = "  resourceMatchers: [{allMatcher: {}}]\n"
	groupsOf = "changeGroupBindings:\n- name: example.com/{name}\n" + ofAll +
		"changeRuleBindings:\n-\n"
)

// TestConfigSections runs sections of Config documents in native applies.
func TestConfigSections(t *testing.T) {
	for name, c := range configSections {
		t.Run(name, func(t *testing.T) {
			w := newSetWorld(t, KindApp)
			w.write("config.yaml", "apiVersion: kapp.k14s.io/v1alpha1\nkind: Config\n"+c.rules)
			w.write("a.yaml", mapText("a", "x: '1'", "muster.dev/wait: 'false'"))
			w.write("b.yaml", mapText("b", "x: '1'", "muster.dev/wait: 'false'"))
			p, _, err := w.apply(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			labels := w.server.Object(mapRef("a")).GetLabels()
			w.expect("plan", ops(p)+"; team="+labels["team"], c.want)
		})
	}
}
