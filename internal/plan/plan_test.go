package plan_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/muster-deploy/muster/internal/mutation"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/testing/golden"
)

// TestBuild plans what the archives describe. Their sections are desired.yaml, live.yaml,
// recorded.yaml (documents that only identify objects, in the order of the record), unserved
// and nokind (kinds, one a line), autoscalers.yaml (live ones) and policy (see setPolicy). Objects
// belong to the set "me" by the annotation owner; the annotation after names dependencies as
// Kind.group/namespace/name, and takes gives substitutions, separated by semicolons, as such a
// name, the path of the value, the path of the field, and perhaps a token.
func TestBuild(t *testing.T) {
	golden.Run(t, "testdata/*.txtar", func(t *testing.T, files map[string]string) map[string]string {
		p, err := plan.Build(input(t, files))
		if err != nil {
			return map[string]string{"error": err.Error() + "\n"}
		}
		expectSound(t, p)
		out := map[string]string{"plan": p.String()}
		if text := completed(t, p); text != "" {
			out["completed"] = text
		}
		return out
	})
}

// completed returns the fields of the objects that take values from others.
func completed(t *testing.T, p *plan.Plan) string {
	t.Helper()
	var b strings.Builder
	for _, step := range p.Steps {
		if step.Draft == nil || step.Unknown != "" {
			continue
		}
		text, err := json.Marshal(
			map[string]any{"data": step.Want.Object["data"], "spec": step.Want.Object["spec"]},
		)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s: %s\n", step.Ref, text)
	}
	return b.String()
}

// expectSound checks what holds for every plan: edges ascend and point back, and JSON keeps
// everything.
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
		NoKind:   object.NewSet(),
		Policy: plan.Policy{
			Order: plan.KindOrder{
				First: []schema.GroupKind{
					{Kind: "Namespace"},
					{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"},
					{Kind: "ConfigMap"},
					{Kind: "Service"},
				},
				Last: []schema.GroupKind{
					{Group: "admissionregistration.k8s.io", Kind: "ValidatingWebhookConfiguration"},
				},
			},
			Owner: plan.Owner{Annotation: "owner", ID: "me"},
			Annotations: plan.Annotations{
				Retain:     []plan.Annotation{{Key: "on-remove", Value: "keep"}},
				CreateOnly: []plan.Annotation{{Key: "on-change", Value: "ignore"}},
			},
			DependsOn:     dependsOn,
			Substitutions: substitutions,
			LastApplied:   "last",
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
		absent := slices.Contains(strings.Fields(files["nokind"]), obj.GetKind())
		if absent {
			in.NoKind.Insert(object.RefOf(obj))
		}
		if absent || slices.Contains(strings.Fields(files["unserved"]), obj.GetKind()) {
			in.Unserved.Insert(object.RefOf(obj))
		}
	}
	in.Autoscalers = documents(t, files["autoscalers.yaml"])
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
		p.RecordNamespace = object.Ref{Kind: "Namespace", Name: words[1]}
	case "destroy":
		p.Destroy = true
	case "adopt":
		p.Owner.Adoption = plan.Adoption(words[1])
	case "drop-foreign":
		p.Owner.DropForeign = true
	case "hold":
		p.Held = plan.AllowDelete(words[1:]).Held()
	case "server-side":
		p.ServerSide, p.Manager = true, words[1]
	case "no-prune":
		p.NoPrune = true
	case "waves":
		p.Waves = true
	case "recreate-deleted":
		p.RecreateDeleted = true
	case "leave-replicas":
		p.LeaveReplicas = true
	case "prune-after-failure":
		p.PruneAfterFailure = true
	default:
		t.Fatalf("unknown policy %q", words[0])
	}
}

func dependsOn(obj *unstructured.Unstructured) (refs []object.Ref, err error) {
	for _, text := range strings.Fields(obj.GetAnnotations()["after"]) {
		ref, bad := reference(text)
		if err = errors.Join(err, bad); bad == nil {
			refs = append(refs, ref)
		}
	}
	return refs, err
}

func substitutions(obj *unstructured.Unstructured) (list []mutation.Substitution, err error) {
	for text := range strings.SplitSeq(obj.GetAnnotations()["takes"], ";") {
		words := append(strings.Fields(text), "", "", "")
		if words[0] == "" {
			continue
		}
		ref, err := reference(words[0])
		if err != nil {
			return nil, err
		}
		list = append(
			list,
			mutation.Substitution{Source: ref, From: words[1], To: words[2], Token: words[3]},
		)
	}
	return list, nil
}

func reference(text string) (object.Ref, error) {
	fields := strings.Split(text, "/")
	if len(fields) != 3 {
		return object.Ref{}, fmt.Errorf("%q is not Kind.group/namespace/name", text)
	}
	gk := schema.ParseGroupKind(fields[0])
	return object.Ref{Group: gk.Group, Kind: gk.Kind, Namespace: fields[1], Name: fields[2]}, nil
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
