package ready

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestRemovesItself: a Job removes itself if it has succeeded and has a time to live after that.
func TestRemovesItself(t *testing.T) {
	type fields = map[string]any
	done := fields{"completionTime": "2026-01-01T00:00:00Z", "conditions": []any{
		fields{"type": "Complete", "status": "True"},
	}}
	failed := fields{"conditions": []any{fields{"type": "Failed", "status": "True"}}}
	for name, tc := range map[string]struct {
		kind         string
		spec, status fields
		want         bool
	}{
		"succeeded": {"Job", fields{"ttlSecondsAfterFinished": int64(0)}, done, true},
		"failed":    {"Job", fields{"ttlSecondsAfterFinished": int64(0)}, failed, false},
		"runs":      {"Job", fields{"ttlSecondsAfterFinished": int64(0)}, nil, false},
		"stays":     {"Job", fields{}, done, false},
		"CronJob":   {"CronJob", fields{"ttlSecondsAfterFinished": int64(0)}, done, false},
	} {
		obj := &unstructured.Unstructured{Object: fields{
			"apiVersion": "batch/v1", "kind": tc.kind, "spec": tc.spec, "status": tc.status,
		}}
		if got := RemovesItself(obj); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
	if RemovesItself(nil) {
		t.Error("nil removes itself")
	}
}

// TestIsRemovingItself: a Job that is being deleted before its time was deleted by somebody else.
func TestIsRemovingItself(t *testing.T) {
	type fields = map[string]any
	job := func(deleted any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: fields{
			"apiVersion": "batch/v1", "kind": "Job",
			"metadata": fields{"deletionTimestamp": deleted},
			"spec":     fields{"ttlSecondsAfterFinished": int64(60)},
			"status": fields{"completionTime": "2026-01-01T00:00:00Z", "conditions": []any{
				fields{"type": "Complete", "status": "True"},
			}},
		}}
	}
	for deleted, want := range map[any]bool{
		nil: false, "2026-01-01T00:00:59Z": false, "2026-01-01T00:01:00Z": true,
	} {
		if got := IsRemovingItself(job(deleted)); got != want {
			t.Errorf("deleted at %v: %t", deleted, got)
		}
	}
	runs := job("2026-01-01T00:01:00Z")
	delete(runs.Object, "status")
	if IsRemovingItself(runs) || IsRemovingItself(nil) {
		t.Error("what has not succeeded removes itself")
	}
}
