package plan_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/diff"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
)

// TestExclude plans updates of a custom resource that the server refuses because a map has too many
// fields: the one that others have set goes, if there is no other.
func TestExclude(t *testing.T) {
	feature := func(source map[string]any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "example.com/v1", "kind": "Feature",
			"metadata": map[string]any{"namespace": "n", "name": "f"},
			"spec":     map[string]any{"source": source},
		}}
	}
	for _, tc := range []struct {
		name       string
		live       map[string]any
		serverSide bool
		text       string // of the patch, or of the error
	}{
		{"client-side", map[string]any{"url": "u"}, false, `"url":null`},
		{"server-side", map[string]any{"url": "u"}, true, `.spec.source.url`},
		{"several", map[string]any{"url": "u", "text": "t"}, false, ""},
		{"several, server-side", map[string]any{"url": "u", "text": "t"}, true, ""},
	} {
		live := feature(tc.live)
		live.SetUID("1")
		now := metav1.NewTime(time.Unix(1, 0))
		fields := `{"f:spec":{"f:source":{"f:url":{},"f:text":{}}}}`
		live.SetManagedFields([]metav1.ManagedFieldsEntry{{
			Manager: "kubectl-edit", Operation: "Update", APIVersion: "example.com/v1", Time: &now,
			FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields),
		}})
		p, err := plan.Build(plan.Input{
			Desired: []plan.Desired{{Object: feature(map[string]any{"file": "a"})}},
			Live:    map[object.Ref]*unstructured.Unstructured{object.RefOf(live): live},
			Policy:  plan.Policy{LastApplied: "applied", Manager: "muster", ServerSide: tc.serverSide},
		})
		if err != nil {
			t.Fatal(err)
		}
		step := &p.Steps[0]
		if _, ok := p.Exclude(step, []string{"spec.other", "spec.source[0]"}); ok {
			t.Errorf("%s: a map that is not there has too many fields", tc.name)
		}
		next, ok := p.Exclude(step, []string{"spec.source"})
		if ok != (tc.text != "") {
			t.Errorf("%s: a field is excluded: %t", tc.name, ok)
		}
		if !ok {
			continue
		}
		text := string(next.Patch.Data)
		if err := p.Conflict(next); err != nil {
			text = err.Error()
		}
		if !strings.Contains(text, tc.text) {
			t.Errorf("%s: got %s, want %s", tc.name, text, tc.text)
		}
		if _, ok := p.Exclude(next, []string{"spec.source"}); ok {
			t.Errorf("%s: the same is excluded twice", tc.name)
		}
	}
}

// excluding is a dialect that answers what is in the way of a step.
type excluding struct {
	plan.Decider
	op  plan.Op
	err error
}

// Exclude returns the answer.
func (e excluding) Exclude(step *plan.Step) (*plan.Step, error) {
	next := *step
	next.Op, next.Obstacles = e.op, []diff.ContestedField{{Field: ".data.a"}}
	if e.err != nil {
		return nil, e.err
	}
	return &next, nil
}

// TestExcludeByDialect checks that a step is sent again only if the dialect still updates it.
func TestExcludeByDialect(t *testing.T) {
	step := plan.Step{Op: plan.Update, ServerSide: true, Have: &unstructured.Unstructured{}}
	for _, tc := range []struct {
		answer excluding
		want   bool
	}{
		{excluding{op: plan.Update}, true},
		{excluding{op: plan.Skip}, false},
		{excluding{op: plan.Unchanged}, false},
		{excluding{err: errors.New("no")}, false},
	} {
		p := &plan.Plan{Decider: tc.answer}
		next, ok := p.Exclude(&step, []string{"data"})
		if ok != tc.want || (next != nil) != tc.want {
			t.Errorf("%s, error %v: a field is excluded: %t, %v", tc.answer.op, tc.answer.err, ok, next)
		}
	}
}
