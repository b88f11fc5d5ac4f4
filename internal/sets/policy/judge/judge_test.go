package judge

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/muster-deploy/muster/internal/ready"
	"github.com/muster-deploy/muster/internal/testing/golden"
)

// TestOf judges the objects of testdata, of which the first in an archive is the parent of the
// others. out/lines is what is printed, and out/ready the state that package ready gives, marked
// where that is another judgement.
func TestOf(t *testing.T) {
	golden.Run(t, "testdata/*.txtar", func(t *testing.T, files map[string]string) map[string]string {
		objects := decode(t, files["in.yaml"])
		before := objects[0].DeepCopy()
		j := Of(objects[0], objects[1:])
		if diff := cmp.Diff(before, objects[0]); diff != "" {
			t.Errorf("Of changed the object (-before +after):\n%s", diff)
		}
		return map[string]string{
			"lines": strings.Join(lines(j, "reconcile"), "\n"),
			"ready": compare(j, ready.Of(objects[0])),
		}
	})
}

// compare gives what ready says, and whether that is what kapp says.
func compare(j Judgement, s ready.Status) string {
	words := map[ready.State]string{
		ready.Current:     "ok",
		ready.Failed:      "fail",
		ready.InProgress:  "ongoing",
		ready.Terminating: "ongoing",
	}
	if words[s.State] != j.StateName() {
		return string(s.State) + ", which differs: " + s.Message
	}
	return string(s.State)
}

func TestEveryKindHasTestData(t *testing.T) {
	for _, k := range kinds {
		paths, err := filepath.Glob("testdata/" + strings.ToLower(k.name) + "_*.txtar")
		if err != nil || len(paths) < 2 {
			t.Errorf("%s has %d archives in testdata, and no two states: %v", k.name, len(paths), err)
		}
	}
}

func TestGone(t *testing.T) {
	held := decode(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: x, namespace: n, "+
		"deletionTimestamp: '2026-11-21T09:26:14Z', finalizers: [example.com/a, example.com/b]}}")[0]
	free := decode(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: x, namespace: n, "+
		"deletionTimestamp: '2026-11-21T09:26:14Z'}}")[0]
	left := decode(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: x, namespace: n}}")[0]
	for _, tc := range []struct {
		name string
		obj  *unstructured.Unstructured
		want []string
	}{
		{"gone", nil, []string{"ok: delete configmap/x (v1) namespace: n"}},
		{"held", held, []string{"ongoing: delete configmap/x (v1) namespace: n",
			" ^ Waiting on finalizers: example.com/a, example.com/b"}},
		{"not yet deleted", left, []string{"ongoing: delete configmap/x (v1) namespace: n"}},
		{"free", free, []string{"ongoing: delete configmap/x (v1) namespace: n", " ^ Deleting"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, lines(OfDeletion("configmap/x (v1) namespace: n", tc.obj),
				"delete")); diff != "" {
				t.Errorf("lines (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRules(t *testing.T) {
	service := func(available, deleted string) *unstructured.Unstructured {
		return decode(t, `{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: v1.example.com`+deleted+`},
			status: {conditions: [{type: Available, status: "`+available+`", reason: Why}]}}`)[0]
	}
	never := func(*unstructured.Unstructured) (Judgement, bool) {
		return failed("the second rule"),
			true
	}
	const object = "reconcile apiservice/v1.example.com (apiregistration.k8s.io/v1) cluster"
	for _, tc := range []struct {
		name  string
		obj   *unstructured.Unstructured
		rules []Rule
		want  []string
	}{
		{"has a judgement", service("False", ""), []Rule{IgnoreFailingAPIServices, never},
			[]string{"ok: " + object, " ^ Ignoring (Condition Available is not True (False))"}},
		{"has none", service("True", ""), []Rule{IgnoreFailingAPIServices}, []string{"ok: " + object}},
		{"passes on", service("True", ""), []Rule{IgnoreFailingAPIServices, never},
			[]string{"fail: " + object, " ^ the second rule"}},
		{"comes after deletion", service("False", `, deletionTimestamp: "2026-01-01T00:00:00Z"`),
			[]Rule{never}, []string{"ongoing: " + object, " ^ Deleting"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, lines(Of(tc.obj, nil, tc.rules...), "reconcile")); diff != "" {
				t.Errorf("lines (-want +got):\n%s", diff)
			}
		})
	}
}

// decode returns the objects of a YAML text, with numbers as a client of the API server sees them.
func decode(t *testing.T, text string) []*unstructured.Unstructured {
	t.Helper()
	var objects []*unstructured.Unstructured
	for document := range strings.SplitSeq(text, "---\n") {
		json, err := yaml.YAMLToJSON([]byte(document))
		if err != nil {
			t.Fatal(err)
		}
		obj := &unstructured.Unstructured{}
		if err := obj.UnmarshalJSON(json); err != nil {
			t.Fatal(err)
		}
		objects = append(objects, obj)
	}
	return objects
}

// lines returns the printed form of a judgement, without the time of day.
func lines(j Judgement, verb string) []string {
	lines := []string{j.StateName() + ": " + verb + " " + j.Object}
	if j.Message != "" {
		lines = append(lines, " ^ "+j.Message)
	}
	for _, child := range j.Children {
		lines = append(lines, " L "+child.StateName()+": waiting on "+child.Object)
		if child.Message != "" {
			lines = append(lines, "    ^ "+child.Message)
		}
	}
	return lines
}
