package view

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/diff"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/plan"
)

// TestChangesOnlyMarks covers that the answer to a dry run counts, unless others have changed the
// object since it was read: then what the patch makes of it as it was read does.
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
		want, after *unstructured.Unstructured
		only        bool
	}{
		"marks alone":             {stored("1", "1", "new"), stored("1", "1", "new"), true},
		"data":                    {stored("1", "2", "new"), stored("1", "2", "new"), false},
		"data by the server":      {stored("1", "1", "new"), stored("1", "2", "new"), false},
		"data by others":          {stored("1", "1", "new"), stored("2", "2", "new"), true},
		"data by others and us":   {stored("1", "3", "new"), stored("2", "2", "new"), false},
		"data by others and back": {stored("1", "2", "new"), stored("2", "1", "new"), false},
	} {
		o := Outlook{
			Step: &plan.Step{Op: plan.Update, Have: stored("1", "1", "old"), Want: test.want,
				Patch: diff.Patch{Data: []byte("{}")}},
			op: plan.Update, outcome: event.Succeeded, after: test.after,
		}
		if got := o.ChangesOnlyMarks(func(key string) bool { return key == "mark" }); got != test.only {
			t.Errorf("%s: got %t, want %t", name, got, test.only)
		}
	}
}
