package ready

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

// TestOf judges the states of testdata. A file KIND-STATE.yaml is the object of a state. Its first
// line is the status that the object must get, in the form
//
//	# STATE REASON: MESSAGE
//
// in which a status without a reason has STATE alone before the colon. An archive KIND-STATE.txtar
// holds more states of the kind. Each section is named by its state and has such a line, and below
// it the JSON merge patch, in YAML, that makes its object of that in KIND-STATE.yaml.
func TestOf(t *testing.T) {
	for name, s := range states(t) {
		t.Run(name, func(t *testing.T) {
			before := s.obj.DeepCopy()
			if diff := cmp.Diff(s.want, line(Of(s.obj))); diff != "" {
				t.Errorf("status (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, s.obj); diff != "" {
				t.Errorf("Of changed the object (-before +after):\n%s", diff)
			}
		})
	}
}

func TestStatesAreNamedByKind(t *testing.T) {
	for name, s := range states(t) {
		if kind, _, _ := strings.Cut(name, "-"); kind != strings.ToLower(s.obj.GetKind()) {
			t.Errorf("%s is a %s", name, s.obj.GetKind())
		}
	}
}

func TestNothing(t *testing.T) {
	if diff := cmp.Diff("# NotFound: Resource not found", line(Of(nil))); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(
		"# Current: Resource is current", line(Of(&unstructured.Unstructured{})),
	); diff != "" {
		t.Error(diff)
	}
}

func TestGivenRulesComeFirst(t *testing.T) {
	kind := func(group, kind string) schema.GroupKind {
		return schema.GroupKind{Group: group, Kind: kind}
	}
	says := func(s Status) func(*unstructured.Unstructured) Status {
		return func(*unstructured.Unstructured) Status { return s }
	}
	mine := Status{State: Failed, Reason: "Mine", Message: "says the given rule"}
	other := Status{State: Unknown, Message: "says the second rule"}
	for _, tc := range []struct {
		name, state, want string
		rules             []Rule
	}{
		{
			"before the built-in one", "deployment-available", line(mine),
			[]Rule{{kind("apps", "Deployment"), says(mine)}},
		},
		{
			"before the generations", "deployment-generation", line(mine),
			[]Rule{{kind("apps", "Deployment"), says(mine)}},
		},
		{
			"in order", "crontab-ready", line(mine),
			[]Rule{
				{kind("stable.example.com", "CronTab"), says(mine)},
				{kind("stable.example.com", "CronTab"), says(other)},
			},
		},
		{
			"passing on", "crontab-ready", line(other),
			[]Rule{
				{kind("stable.example.com", "CronTab"), says(Status{})},
				{kind("stable.example.com", "CronTab"), says(other)},
			},
		},
		{
			"passing on to the conventions", "crontab-ready", "# Current: Resource is Ready",
			[]Rule{{kind("stable.example.com", "CronTab"), says(Status{})}},
		},
		{
			"of another group", "crontab-ready", "# Current: Resource is Ready",
			[]Rule{{kind("", "CronTab"), says(mine)}},
		},
		{"after deletion", "deployment-terminating", "# Terminating: Resource scheduled for " +
			"deletion", []Rule{{kind("apps", "Deployment"), says(mine)}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			obj := states(t)[tc.state].obj
			if diff := cmp.Diff(tc.want, line(Of(obj, tc.rules...))); diff != "" {
				t.Errorf("status (-want +got):\n%s", diff)
			}
		})
	}
}

// FuzzOf looks for objects, given as JSON, that make a rule panic or leave an object without a
// state.
func FuzzOf(f *testing.F) {
	for _, s := range states(f) {
		data, err := json.Marshal(s.obj.Object)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var fields map[string]any
		if json.Unmarshal(data, &fields) != nil {
			t.Skip("no JSON object")
		}
		obj := &unstructured.Unstructured{Object: fields}
		family := NewRelatedObjects()
		family.Add(EvidenceOf(obj, Of(obj)))
		family.Causes(EvidenceOf(obj, Of(obj)), time.Now(), time.Now())
		switch s := Of(obj); s.State {
		case Current, InProgress, Failed, Terminating, Unknown:
		default:
			t.Errorf("Of(%s) = %+v", data, s)
		}
	})
}

// line is the form of a status in the first line of a file.
func line(s Status) string {
	head := string(s.State)
	if s.Reason != "" {
		head += " " + s.Reason
	}
	return "# " + head + ": " + s.Message
}

// state is an object and the line of the status that it must get.
type state struct {
	want string
	obj  *unstructured.Unstructured
}

// states returns the states of testdata by their names.
func states(t testing.TB) map[string]state {
	t.Helper()
	paths, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no test data: %v", err)
	}
	found := map[string]state{}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		first, _, _ := strings.Cut(string(data), "\n")
		found[strings.TrimSuffix(filepath.Base(path), ".yaml")] = state{first, decode(t, data)}
	}
	addPatched(t, found)
	return found
}

// addPatched adds the states of the archives.
func addPatched(t testing.TB, found map[string]state) {
	t.Helper()
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no archives: %v", err)
	}
	for _, path := range paths {
		base := strings.TrimSuffix(filepath.Base(path), ".txtar")
		kind, _, _ := strings.Cut(base, "-")
		archive, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range archive.Files {
			name := kind + "-" + file.Name
			if _, ok := found[name]; ok {
				t.Fatalf("%s: the state %s exists already", path, name)
			}
			first, patch, _ := strings.Cut(string(file.Data), "\n")
			found[name] = state{first, patched(t, found[base].obj, patch)}
		}
	}
}

// patched returns a copy of an object with a merge patch that is written as YAML.
func patched(
	t testing.TB, obj *unstructured.Unstructured, patch string,
) *unstructured.Unstructured {
	t.Helper()
	original, err := json.Marshal(obj.Object)
	if err != nil {
		t.Fatal(err)
	}
	asJSON, err := yaml.YAMLToJSON([]byte(patch))
	if err != nil {
		t.Fatal(err)
	}
	merged, err := jsonpatch.MergePatch(original, asJSON)
	if err != nil {
		t.Fatal(err)
	}
	return decode(t, merged)
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
