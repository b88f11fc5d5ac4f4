package view

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/diff"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/plan"
)

// TestChangesOnlyMarks covers that the answer to a dry run counts, and never what was sent: if
// others have changed the object since it was read, it is unknown who made the differences.
func TestChangesOnlyMarks(t *testing.T) {
	stored := func(version, data, mark string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"a": data},
			"metadata": map[string]any{
				"name": "a", "resourceVersion": version, "labels": map[string]any{"mark": mark},
			},
		}}
	}
	for name, test := range map[string]struct {
		want, after     *unstructured.Unstructured
		only, overtaken bool
	}{
		"marks alone":          {stored("1", "1", "new"), stored("1", "1", "new"), true, false},
		"data":                 {stored("1", "2", "new"), stored("1", "2", "new"), false, false},
		"data by the server":   {stored("1", "1", "new"), stored("1", "2", "new"), false, false},
		"others, marks alone":  {stored("1", "1", "new"), stored("2", "1", "new"), true, true},
		"others and data":      {stored("1", "1", "new"), stored("2", "2", "new"), false, true},
		"others and our data":  {stored("1", "3", "new"), stored("2", "2", "new"), false, true},
		"marks without answer": {stored("1", "1", "new"), stored("", "1", "new"), true, false},
	} {
		o := Outlook{
			Step: &plan.Step{Op: plan.Update, Have: stored("1", "1", "old"), Want: test.want,
				Patch: diff.Patch{Data: []byte("{}")}},
			op: plan.Update, outcome: event.Succeeded, after: test.after,
		}
		only := o.ChangesOnlyMarks(func(key string) bool { return key == "mark" })
		if overtaken := o.Overtaken(); only != test.only || overtaken != test.overtaken {
			t.Errorf("%s: got %t, %t, want %t, %t", name, only, overtaken, test.only, test.overtaken)
		}
	}
}
