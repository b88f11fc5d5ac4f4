package preflight

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/testing/golden"
)

// fake is a cluster whose user may do what is listed, as "VERB GROUP/RESOURCE NAMESPACE/NAME" with
// * for anything.
type fake struct {
	cluster.Reader // its other methods are not called

	may   []string
	live  []*unstructured.Unstructured
	rules map[string]any // statuses of rules reviews by namespace

	mu    sync.Mutex
	asked []string
}

func (f *fake) Allowed(_ context.Context,
	verb, group, resource, subresource, namespace, name string) (bool, error) {
	if subresource != "" {
		resource += "/" + subresource
	}
	asked := verb + " " + group + "/" + resource + " " + namespace + "/" + name
	f.mu.Lock()
	f.asked = append(f.asked, asked)
	f.mu.Unlock()
	if name == "broken" {
		return false, errors.New("the authorizer is not there")
	}
	for _, rule := range f.may {
		if before, ok := strings.CutSuffix(rule, "*"); rule == asked || ok &&
			strings.HasPrefix(asked, before) {
			return true, nil
		}
	}
	return false, nil
}

func (f *fake) Rules(_ context.Context, namespace string) (map[string]any, error) {
	f.mu.Lock()
	f.asked = append(f.asked, "rules of "+namespace)
	f.mu.Unlock()
	status, ok := f.rules[namespace].(map[string]any)
	if !ok {
		return nil, errors.New("the authorizer is not there")
	}
	return status, nil
}

func (f *fake) deps() Cluster {
	return Cluster{
		Reviewer: f,
		Resource: func(_ context.Context, gvk schema.GroupVersionKind) (
			schema.GroupVersionResource, bool, error) {
			if gvk.Kind == "Broken" {
				return schema.GroupVersionResource{}, false, errors.New("discovery failed")
			}
			return gvk.GroupVersion().WithResource(strings.ToLower(gvk.Kind) + "s"),
				gvk.Group != "example.com", nil
		},
		Get: func(_ context.Context, gvk schema.GroupVersionKind, namespace, name string) (
			*unstructured.Unstructured, error) {
			if name == "unreadable" {
				return nil, errors.New("forbidden")
			}
			for _, obj := range f.live {
				if obj.GroupVersionKind() == gvk && obj.GetNamespace() == namespace && obj.GetName() == name {
					return obj, nil
				}
			}
			return nil, nil
		},
	}
}

// TestGolden runs the checks that the file checks names over the objects of apply.yml and
// delete.yml, for a user who may do what the file may says, or else what the reviews in rules.yml
// say, on a cluster that holds live.yml.
func TestGolden(t *testing.T) {
	golden.Run(t, "testdata/*.txtar", func(t *testing.T, files map[string]string) map[string]string {
		f := &fake{may: strings.Split(strings.TrimSpace(files["may"]), "\n"),
			live: read(t, files["live.yml"])}
		var subjects []PlannedWrite
		for _, obj := range read(t, files["apply.yml"]) {
			subjects = append(subjects, PlannedWrite{New: obj})
		}
		for _, obj := range read(t, files["delete.yml"]) {
			subjects = append(subjects, PlannedWrite{Delete: true, Existing: obj})
		}
		deps := f.deps()
		_, deps.ServerSideApply = files["merges"]
		if reviews := read(t, files["rules.yml"]); len(reviews) > 0 {
			deps.RulesReview, f.rules = true, reviews[0].Object
		}
		out := map[string]string{"result": "passed"}
		if err := Run(t.Context(), strings.Fields(files["checks"]), subjects, deps); err != nil {
			out["result"] = err.Error()
		}
		seen := map[string]bool{}
		for _, asked := range f.asked {
			if seen[asked] {
				t.Errorf("asked twice: %s", asked)
			}
			seen[asked] = true
		}
		return out
	})
}

func read(t *testing.T, text string) []*unstructured.Unstructured {
	t.Helper()
	var out []*unstructured.Unstructured
	for doc := range strings.SplitSeq(text, "---\n") {
		var content map[string]any
		if err := yaml.Unmarshal([]byte(doc), &content); err != nil {
			t.Fatal(err)
		}
		if content != nil {
			out = append(out, &unstructured.Unstructured{Object: content})
		}
	}
	return out
}

func TestNames(t *testing.T) {
	if !Exists("PermissionValidation") || !Exists("CRDUpgradeSafety") ||
		Exists("PermissionValidation=true") || Exists("") {
		t.Error("Known knows other names")
	}
}

// TestOrder asks for many objects, whose errors come in their order although the questions are
// asked at once.
func TestOrder(t *testing.T) {
	var subjects []PlannedWrite
	var want []string
	for i := range 200 {
		obj := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Pod"}}
		obj.SetName("p" + strings.Repeat("x", i))
		obj.SetKind("Pod" + strings.Repeat("x", i))
		subjects = append(subjects, PlannedWrite{Delete: true, New: obj})
		want = append(want, `not permitted to "delete" /v1, Resource=pod`+strings.Repeat("x", i)+"s")
	}
	err := Run(t.Context(), []string{PermissionValidation}, subjects, (&fake{}).deps())
	if got := `preflight checks failed: running preflight check "PermissionValidation": ` +
		strings.Join(want, "\n"); err == nil || err.Error() != got {
		t.Errorf("got %v", err)
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("interrupted"))
	f := &fake{}
	pod := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Pod"}}
	err := Run(ctx, CheckNames(), []PlannedWrite{{New: pod}}, f.deps())
	if err == nil || !strings.HasSuffix(err.Error(), ": interrupted") || len(f.asked) > 0 {
		t.Errorf("got %v, asked %v", err, f.asked)
	}
}

func TestReadConfig(t *testing.T) {
	const key, failed = "permissionValidatorResource", `setting preflight config ` +
		`"PermissionValidation": `
	for _, tc := range []struct {
		name   string
		config map[string]any
		want   bool
		err    string
	}{
		{PermissionValidation, nil, false, ""},
		{PermissionValidation, map[string]any{"other": "x"}, false, ""},
		{PermissionValidation, map[string]any{key: "SelfSubjectAccessReview"}, false, ""},
		{PermissionValidation, map[string]any{key: "SelfSubjectRulesReview"}, true, ""},
		{PermissionValidation, map[string]any{key: "x"}, false,
			failed + `unknown permissionValidatorType "x"`},
		{PermissionValidation, map[string]any{key: int64(1)}, false,
			failed + "parsing permissions preflight config: json: "},
		{CRDUpgradeSafety, map[string]any{key: "x"}, false, ""},
	} {
		got, err := ReadConfig(tc.name, tc.config)
		if got != tc.want || (err == nil) != (tc.err == "") ||
			err != nil && !strings.HasPrefix(err.Error(), tc.err) {
			t.Errorf("%v: got %t and %v", tc.config, got, err)
		}
	}
}
