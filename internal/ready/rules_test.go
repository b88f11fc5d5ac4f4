package ready

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/muster-deploy/muster/internal/golden"
)

// TestParse reads rules.yaml of each archive. Its output is the error, or the status of every object of objects.yaml, with
// its name.
func TestParse(t *testing.T) {
	golden.Run(t, "testdata/rules/*.txtar", func(t *testing.T, files map[string]string) map[string]string {
		rules, err := Parse("rules.yaml", []byte(files["rules.yaml"]))
		if err != nil {
			return map[string]string{"error": err.Error() + "\n"}
		}
		var out strings.Builder
		for document := range bytes.SplitSeq([]byte(files["objects.yaml"]), []byte("\n---\n")) {
			obj := decode(t, document)
			out.WriteString(obj.GetName() + strings.TrimPrefix(line(Of(obj, rules...)), "#") + "\n")
		}
		return map[string]string{"status": out.String()}
	})
}

// TestOperators compiles all embedded rules and judges, by them, every file of the folder of each operator. The files are
// like those of TestOf.
func TestOperators(t *testing.T) {
	rules, err := Operators()
	if err != nil {
		t.Fatal(err)
	}
	set := NewRuleSet(rules...)
	entries, err := operators.ReadDir("operators")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		data, err := operators.ReadFile("operators/" + entry.Name())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Parse(entry.Name(), data); err != nil {
			t.Error(err)
		}
		paths, err := filepath.Glob(filepath.Join("testdata/operators", strings.TrimSuffix(entry.Name(), ".yaml"), "*.yaml"))
		if err != nil || len(paths) == 0 {
			t.Errorf("no test data for %s: %v", entry.Name(), err)
		}
		for _, path := range paths {
			t.Run(strings.TrimPrefix(path, "testdata/operators/"), func(t *testing.T) {
				want, obj := load(t, path)
				if diff := cmp.Diff(want, line(set.Of(obj))); diff != "" {
					t.Errorf("status (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(want, line(Of(obj, rules...))); diff != "" {
					t.Errorf("status without a set (-want +got):\n%s", diff)
				}
			})
		}
	}
}

func TestRuleSet(t *testing.T) {
	says := func(message string) Rule {
		return Rule{Judge: func(*unstructured.Unstructured) Status { return Status{State: Failed, Message: message} }}
	}
	silent := Rule{Judge: func(*unstructured.Unstructured) Status { return Status{} }}
	at := func(group, kind string, rule Rule) Rule {
		rule.GroupKind = schema.GroupKind{Group: group, Kind: kind}
		return rule
	}
	set := NewRuleSet(
		at("example.com", "Widget", silent),
		at("*example.com", anything, says("any")),
		at("example.com", "Widget", says("widget")),
		at("db.example.com", anything, says("any db")),
		at("other.com", "Widget", says("other")),
	)
	for _, tc := range []struct {
		group, kind, want string
		rules             int
	}{
		{"example.com", "Widget", "any", 3},
		{"example.com", "Gadget", "any", 1},
		{"db.example.com", "Widget", "any", 2},
		{"other.com", "Widget", "other", 1},
		{"other.com", "Gadget", "Resource is current", 0},
		{"", "Widget", "Resource is current", 0},
	} {
		obj := &unstructured.Unstructured{Object: map[string]any{"apiVersion": tc.group + "/v1", "kind": tc.kind}}
		if got := set.Of(obj).Message; got != tc.want {
			t.Errorf("%s.%s: %s, want %s", tc.kind, tc.group, got, tc.want)
		}
		if got := len(set.For(schema.GroupKind{Group: tc.group, Kind: tc.kind})); got != tc.rules {
			t.Errorf("%s.%s: %d rules, want %d", tc.kind, tc.group, got, tc.rules)
		}
	}
}

func TestNoRuleSet(t *testing.T) {
	var none *RuleSet
	if got := none.Of(&unstructured.Unstructured{}).State; got != Current {
		t.Errorf("Of an object = %s", got)
	}
	if got := NewRuleSet().Of(nil).State; got != NotFound {
		t.Errorf("Of nothing = %s", got)
	}
	if got := none.For(schema.GroupKind{Kind: "Pod"}); got != nil {
		t.Errorf("For = %v", got)
	}
}

// TestFirstConsumer judges claims for whose class waiting is said to be usual.
func TestFirstConsumer(t *testing.T) {
	rule := FirstConsumer(func(class string) bool { return class == "delayed" })
	for _, tc := range []struct{ name, class, node, volume, phase, want string }{
		{"nobody uses it", "delayed", "", "", "Pending", "# Current: PVC is waiting for its first consumer"},
		{"a pod has a node", "delayed", "node-1", "", "Pending", "# InProgress NotBound: PVC is not Bound. phase: Pending"},
		{"it names a volume", "delayed", "", "disk-1", "Pending", "# InProgress NotBound: PVC is not Bound. phase: Pending"},
		{"of another class", "immediate", "", "", "Pending", "# InProgress NotBound: PVC is not Bound. phase: Pending"},
		{"bound", "delayed", "", "", "Bound", "# Current: PVC is Bound"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			obj := &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "v1", "kind": "PersistentVolumeClaim",
				"metadata": map[string]any{"annotations": map[string]any{"volume.kubernetes.io/selected-node": tc.node}},
				"spec":     map[string]any{"storageClassName": tc.class, "volumeName": tc.volume},
				"status":   map[string]any{"phase": tc.phase},
			}}
			if diff := cmp.Diff(tc.want, line(Of(obj, rule))); diff != "" {
				t.Errorf("status (-want +got):\n%s", diff)
			}
		})
	}
}

// FuzzParse looks for files that make Parse panic, and for rules that judge an object wrongly formed.
func FuzzParse(f *testing.F) {
	entries, err := operators.ReadDir("operators")
	if err != nil {
		f.Fatal(err)
	}
	for _, entry := range entries {
		data, err := operators.ReadFile("operators/" + entry.Name())
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte("- {group: example.com, kind: Widget, current: self.status.ready}"))
	f.Add([]byte("- &a {group: '*', kind: ['*'], failed: 'true', message: self.kind}\n- *a\n---\nrules: [*a]"))
	obj := decode(f, []byte("{apiVersion: example.com/v1, kind: Widget, status: {ready: [1, {}, null]}}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		rules, err := Parse("rules.yaml", data)
		if err != nil {
			if rules != nil || err.Error() == "" {
				t.Errorf("Parse gave %d rules and the error %q", len(rules), err)
			}
			return
		}
		for _, rule := range rules {
			switch s := rule.Judge(obj); s.State {
			case "", Current, InProgress, Failed:
			default:
				t.Errorf("the rule gave %+v", s)
			}
		}
	})
}

func BenchmarkOf(b *testing.B) {
	_, deployment := load(b, "testdata/deployment-available.yaml")
	_, custom := load(b, "testdata/crontab-ready.yaml")
	all, err := Operators()
	if err != nil {
		b.Fatal(err)
	}
	set := NewRuleSet(all...)
	rules, err := Parse("rules.yaml", []byte(`
- group: stable.example.com
  kind: CronTab
  current: self.status.conditions.exists(c, c.type == "Ready" && c.status == "True")
`))
	if err != nil {
		b.Fatal(err)
	}
	for _, bc := range []struct {
		name string
		of   func() Status
	}{
		{"Deployment", func() Status { return Of(deployment) }},
		{"DeploymentWithOperators", func() Status { return set.Of(deployment) }},
		{"CustomResource", func() Status { return Of(custom) }},
		{"Rule", func() Status { return Of(custom, rules...) }},
	} {
		b.Run(bc.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if s := bc.of(); s.State != Current {
					b.Fatal(s)
				}
			}
		})
	}
}

func BenchmarkOperators(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Operators(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParse(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse("rules.yaml", []byte("- {group: example.com, kind: Widget, current: self.status.ready}")); err != nil {
			b.Fatal(err)
		}
	}
}

// decode gives an object written as YAML, with numbers as a client of the API server sees them.
func decode(t testing.TB, data []byte) *unstructured.Unstructured {
	t.Helper()
	asJSON, err := yaml.YAMLToJSON(data)
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(asJSON, &fields); err != nil {
		t.Fatal(err)
	}
	return &unstructured.Unstructured{Object: fields}
}
