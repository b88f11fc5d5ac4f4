package plan_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/muster-deploy/muster/internal/golden"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
)

// TestBuild plans what the archives describe. Their sections are desired.yaml, live.yaml, recorded.yaml (documents that only
// identify objects, in the order of the record), unserved (kinds, one a line) and policy (see setPolicy). Objects belong to
// the set "me" by the annotation owner; the annotation after names dependencies as Kind.group/namespace/name.
func TestBuild(t *testing.T) {
	golden.Run(t, "testdata/*.txtar", func(t *testing.T, files map[string]string) map[string]string {
		p, err := plan.Build(input(t, files))
		if err != nil {
			return map[string]string{"error": err.Error() + "\n"}
		}
		expectSound(t, p)
		return map[string]string{"plan": p.String()}
	})
}

// expectSound checks what holds for every plan: edges ascend and point back, and JSON keeps everything.
func expectSound(t *testing.T, p *plan.Plan) {
	t.Helper()
	for i, step := range p.Steps {
		if !slices.IsSorted(step.Needs) || !slices.IsSorted(step.After) {
			t.Errorf("the edges of step %d do not ascend", i)
		}
		for _, j := range slices.Concat(step.Needs, step.After) {
			if j >= i {
				t.Errorf("step %d waits for step %d", i, j)
			}
		}
	}
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	var back plan.Plan
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	again, err := json.Marshal(back)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(text), string(again)); diff != "" || back.String() != p.String() {
		t.Errorf("the plan does not survive JSON:\n%s", diff)
	}
}

func input(t *testing.T, files map[string]string) plan.Input {
	t.Helper()
	in := plan.Input{
		Live:     map[object.Ref]*unstructured.Unstructured{},
		Unserved: object.NewSet(),
		Policy: plan.Policy{
			Order: plan.KindOrder{
				First: []schema.GroupKind{{Kind: "Namespace"}, {Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}, {Kind: "ConfigMap"}, {Kind: "Service"}},
				Last:  []schema.GroupKind{{Group: "admissionregistration.k8s.io", Kind: "ValidatingWebhookConfiguration"}},
			},
			Owner:       plan.Owner{Annotation: "owner", ID: "me"},
			Retain:      []plan.Annotation{{Key: "on-remove", Value: "keep"}},
			DependsOn:   dependsOn,
			LastApplied: "last",
		},
	}
	for _, obj := range documents(t, files["desired.yaml"]) {
		in.Desired = append(in.Desired, plan.Desired{Object: obj, Source: obj.GetName() + ".yaml"})
	}
	for _, obj := range documents(t, files["live.yaml"]) {
		in.Live[object.RefOf(obj)] = obj
	}
	for _, obj := range documents(t, files["recorded.yaml"]) {
		in.Recorded = append(in.Recorded, object.RefOf(obj))
		for _, kind := range strings.Fields(files["unserved"]) {
			if obj.GetKind() == kind {
				in.Unserved.Insert(object.RefOf(obj))
			}
		}
	}
	for line := range strings.Lines(files["policy"]) {
		setPolicy(t, &in.Policy, strings.Fields(line))
	}
	return in
}

// setPolicy takes in one line of the section policy.
func setPolicy(t *testing.T, p *plan.Policy, words []string) {
	t.Helper()
	switch words[0] {
	case "home":
		p.Home = object.Ref{Kind: "Namespace", Name: words[1]}
	case "destroy":
		p.Destroy = true
	case "adopt":
		p.Owner.Adoption = plan.Adoption(words[1])
	case "server-side":
		p.ServerSide, p.Manager = true, words[1]
	case "waves":
		p.Waves = true
	case "prune-after-failure":
		p.PruneAfterFailure = true
	default:
		t.Fatalf("unknown policy %q", words[0])
	}
}

func dependsOn(obj *unstructured.Unstructured) (refs []object.Ref, err error) {
	for _, text := range strings.Fields(obj.GetAnnotations()["after"]) {
		fields := strings.Split(text, "/")
		if len(fields) != 3 {
			return refs, errors.New("annotation after: want Kind.group/namespace/name")
		}
		gk := schema.ParseGroupKind(fields[0])
		refs = append(refs, object.Ref{Group: gk.Group, Kind: gk.Kind, Namespace: fields[1], Name: fields[2]})
	}
	return refs, nil
}

func documents(t *testing.T, text string) []*unstructured.Unstructured {
	t.Helper()
	var objects []*unstructured.Unstructured
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader([]byte(text)), 4096)
	for {
		obj := &unstructured.Unstructured{}
		err := decoder.Decode(&obj.Object)
		if err == io.EOF {
			return objects
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(obj.Object) > 0 {
			normal := &unstructured.Unstructured{}
			data, err := obj.MarshalJSON()
			if err != nil {
				t.Fatal(err)
			}
			if err := normal.UnmarshalJSON(data); err != nil {
				t.Fatal(err)
			}
			objects = append(objects, normal)
		}
	}
}
