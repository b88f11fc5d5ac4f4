package rules

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/muster-deploy/muster/internal/ready"
	"github.com/muster-deploy/muster/internal/testing/golden"
)

// TestParse reads rules.yaml of each archive. Its output is the error, or the status of every
// object of objects.yaml, with its name.
func TestParse(t *testing.T) {
	golden.Run(
		t,
		"testdata/parse/*.txtar",
		func(t *testing.T, files map[string]string) map[string]string {
			rules, err := Parse("rules.yaml", []byte(files["rules.yaml"]))
			if err != nil {
				return map[string]string{"error": err.Error() + "\n"}
			}
			var out strings.Builder
			for document := range bytes.SplitSeq([]byte(files["objects.yaml"]), []byte("\n---\n")) {
				obj := decode(t, document)
				out.WriteString(
					obj.GetName() + strings.TrimPrefix(line(ready.Of(obj, rules...)), "#") + "\n",
				)
			}
			return map[string]string{"status": out.String()}
		},
	)
}

// TestBuiltin compiles all embedded rules and judges, by them, every file of the folder of each
// operator. The files are like those of TestOf.
func TestBuiltin(t *testing.T) {
	rules, err := Builtin()
	if err != nil {
		t.Fatal(err)
	}
	set := ready.NewRuleSet(rules...)
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
		paths, err := filepath.Glob(
			filepath.Join(
				"testdata/operators", strings.TrimSuffix(entry.Name(), ".yaml"), "*.yaml",
			),
		)
		if err != nil || len(paths) == 0 {
			t.Errorf("no test data for %s: %v", entry.Name(), err)
		}
		for _, path := range paths {
			t.Run(strings.TrimPrefix(path, "testdata/operators/"), func(t *testing.T) {
				want, obj := load(t, path)
				if diff := cmp.Diff(want, line(set.Of(obj))); diff != "" {
					t.Errorf("status (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(want, line(ready.Of(obj, rules...))); diff != "" {
					t.Errorf("status without a set (-want +got):\n%s", diff)
				}
			})
		}
	}
}

// FuzzParse looks for files that make Parse panic, and for rules that judge an object wrongly
// formed.
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
	f.Add([]byte("- &a {group: '*', kind: ['*'], failed: 'true', message: self.kind}\n- " +
		"*a\n---\nrules: [*a]"))
	obj := decode(f, []byte("{apiVersion: example.com/v1, kind: Widget, status: {ready: [1, {}, "+
		"null]}}"))
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
			case "", ready.Current, ready.InProgress, ready.Failed:
			default:
				t.Errorf("the rule gave %+v", s)
			}
		}
	})
}

func BenchmarkOf(b *testing.B) {
	_, deployment := load(b, "../testdata/deployment-available.yaml")
	_, custom := load(b, "../testdata/crontab-ready.yaml")
	all, err := Builtin()
	if err != nil {
		b.Fatal(err)
	}
	set := ready.NewRuleSet(all...)
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
		of   func() ready.Status
	}{
		{"Deployment", func() ready.Status { return ready.Of(deployment) }},
		{"DeploymentWithOperators", func() ready.Status { return set.Of(deployment) }},
		{"CustomResource", func() ready.Status { return ready.Of(custom) }},
		{"Rule", func() ready.Status { return ready.Of(custom, rules...) }},
	} {
		b.Run(bc.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if s := bc.of(); s.State != ready.Current {
					b.Fatal(s)
				}
			}
		})
	}
}

func BenchmarkBuiltin(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Builtin(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParse(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse("rules.yaml", []byte("- {group: example.com, kind: Widget, current: "+
			"self.status.ready}")); err != nil {
			b.Fatal(err)
		}
	}
}

// decode returns an object written as YAML, with numbers as a client of the API server sees them.
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

// load returns the first line of a file and its object.
func load(t testing.TB, path string) (string, *unstructured.Unstructured) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := bytes.Cut(data, []byte("\n"))
	return string(first), decode(t, data)
}

// line formats a status like the first line of a file.
func line(s ready.Status) string {
	head := string(s.State)
	if s.Reason != "" {
		head += " " + s.Reason
	}
	return "# " + head + ": " + s.Message
}
