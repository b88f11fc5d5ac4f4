package ready

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

// TestOf judges every file of testdata. The first line of a file is the status that its object
// must get, in the form
//
//	# STATE REASON: MESSAGE
//
// in which a status without a reason has STATE alone before the colon.
func TestOf(t *testing.T) {
	for _, path := range files(t) {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".yaml"), func(t *testing.T) {
			want, obj := load(t, path)
			before := obj.DeepCopy()
			if diff := cmp.Diff(want, line(Of(obj))); diff != "" {
				t.Errorf("status (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, obj); diff != "" {
				t.Errorf("Of changed the object (-before +after):\n%s", diff)
			}
		})
	}
}

func TestFilesAreNamedByKind(t *testing.T) {
	for _, path := range files(t) {
		_, obj := load(t, path)
		if kind, _, _ := strings.Cut(filepath.Base(path), "-"); kind != strings.ToLower(obj.GetKind()) {
			t.Errorf("%s holds a %s", path, obj.GetKind())
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
		name, file, want string
		rules            []Rule
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
			_, obj := load(t, filepath.Join("testdata", tc.file+".yaml"))
			if diff := cmp.Diff(tc.want, line(Of(obj, tc.rules...))); diff != "" {
				t.Errorf("status (-want +got):\n%s", diff)
			}
		})
	}
}

// FuzzOf looks for objects, given as JSON, that make a rule panic or leave an object without a
// state.
func FuzzOf(f *testing.F) {
	for _, path := range files(f) {
		_, obj := load(f, path)
		data, err := json.Marshal(obj.Object)
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
		family.Causes(EvidenceOf(obj, Of(obj)), time.Now())
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

func files(t testing.TB) []string {
	t.Helper()
	paths, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no test data: %v", err)
	}
	return paths
}

// load returns the first line of a file and its object, with numbers as a client of the API server
// sees them.
func load(t testing.TB, path string) (string, *unstructured.Unstructured) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := bytes.Cut(data, []byte("\n"))
	return string(first), decode(t, data)
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
