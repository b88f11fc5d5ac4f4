package plan

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/object"
)

// TestAnnotate checks what annotations change in a step that a dialect has decided.
func TestAnnotate(t *testing.T) {
	obj := func(
		kind, namespace, name string, annotations map[string]string,
	) *unstructured.Unstructured {
		u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": kind}}
		u.SetNamespace(namespace)
		u.SetName(name)
		u.SetAnnotations(annotations)
		return u
	}
	policy := Policy{
		Annotations: Annotations{[]Annotation{{"frozen", "yes"}}, []Annotation{{"retain", "yes"}}},
		Waiting: func(u *unstructured.Unstructured) (Waiting, error) {
			limit, err := time.ParseDuration(u.GetAnnotations()["timeout"] + "0s")
			return Waiting{Skip: u.GetAnnotations()["wait"] == "no", Timeout: limit}, err
		},
		Replacement: func(u *unstructured.Unstructured) (Replacement, error) {
			return Replacement(u.GetAnnotations()["replace"]), nil
		},
	}
	for _, c := range []struct {
		op          Op
		annotations map[string]string
		want        Step
	}{
		{Update, nil, Step{Op: Update, Wait: true, FullReplace: true}},
		{Update, map[string]string{"timeout": "9"},
			Step{Op: Update, Wait: true, FullReplace: true, Timeout: 90 * time.Second}},
		{Create, map[string]string{"wait": "no"}, Step{Op: Create, FullReplace: true}},
		{Update, map[string]string{"replace": "immutable"},
			Step{Op: Update, Wait: true, FullReplace: true, Replace: ReplaceImmutable}},
		{Unchanged, map[string]string{"frozen": "yes"}, Step{Op: Skip, ReasonCode: ReasonCreateOnly}},
		{Delete, map[string]string{"retain": "yes"},
			Step{Op: Orphan, FullReplace: true, ReasonCode: ReasonRetained}},
		{Delete, map[string]string{"timeout": "nonsense"},
			Step{Op: Delete, Wait: true, FullReplace: true}},
		{AwaitCreated, map[string]string{"frozen": "yes"},
			Step{Op: AwaitCreated, Wait: true, FullReplace: true}},
	} {
		live := obj("ConfigMap", "n", "a", c.annotations)
		step, want := Step{Op: c.op, Have: live, Wait: true, FullReplace: true}, live
		if c.op == Delete {
			want = nil
		}
		if err := policy.Annotate(&step, want); err != nil {
			t.Fatal(err)
		}
		if step.Op != c.want.Op || step.Wait != c.want.Wait || step.Timeout != c.want.Timeout ||
			step.FullReplace != c.want.FullReplace || step.Replace != c.want.Replace ||
			step.ReasonCode != c.want.ReasonCode {
			t.Errorf("%s %v: got %+v, want %+v", c.op, c.annotations, step, c.want)
		}
	}
	wrong := Step{Op: Create}
	if err := policy.Annotate(&wrong, obj("ConfigMap", "n", "a",
		map[string]string{"timeout": "x"})); err == nil {
		t.Error("an invalid annotation is no error")
	}
	ref := object.Ref{Kind: "ConfigMap", Namespace: "n", Name: "a"}
	steps := []Step{
		{Ref: ref, Op: Orphan, ReasonCode: ReasonRetained},
		{Ref: object.Ref{Kind: "Namespace", Name: "n"}, Op: Delete, Wait: true,
			Have: obj("Namespace", "", "n", nil), Needs: []int{0}},
		{Ref: object.Ref{Kind: "Namespace", Name: "o"}, Op: Delete,
			Have: obj("Namespace", "", "o", nil)},
		{Op: Skip, ReasonCode: ReasonCreateOnly}, {Op: Update, Needs: []int{0, 3}},
	}
	if err := SettleSkipped(steps, func(*Step) error { return nil }); err != nil {
		t.Fatal(err)
	}
	got := strings.TrimSpace((&Plan{Steps: steps}).String())
	want := strings.Join([]string{
		"0 orphan n/configmap/a rank 0",
		"1 orphan namespace/n rank 0 needs 0",
		"    n/configmap/a is left in the cluster and cannot be without it",
		"2 delete namespace/o rank 0",
		"3 skip / rank 0",
		"4 update / rank 0 needs 0 after 3",
	}, "\n")
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
