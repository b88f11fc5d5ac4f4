package sets

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/history"
)

// TestCompletionRemoved: a Job has removed itself if it has the content that was seen to succeed,
// and its time is over.
func TestCompletionRemoved(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	job := func(ttl any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "batch/v1", "kind": "Job", "metadata": map[string]any{"name": "migrate"},
			"spec": map[string]any{"ttlSecondsAfterFinished": ttl},
		}}
	}
	for name, test := range map[string]struct {
		ttl     any
		ago     time.Duration
		seen    any // the content that was seen to succeed
		removed bool
	}{
		"at once":       {int64(0), time.Second, int64(0), true},
		"clock behind":  {int64(0), -30 * time.Second, int64(0), true},
		"its time":      {int64(3600), time.Hour, int64(3600), true},
		"before that":   {int64(3600), time.Minute, int64(3600), false},
		"other content": {int64(0), time.Hour, int64(1), false},
		"no ttl":        {nil, time.Hour, nil, false},
	} {
		digest, err := history.DigestOf(job(test.seen))
		if err != nil {
			t.Fatal(err)
		}
		c := completion{digest, now.Add(-test.ago)}
		if removed := c.removed(job(test.ttl), now); removed != test.removed {
			t.Errorf("%s: removed %t", name, removed)
		}
	}
	if (completion{}).removed(job(int64(0)), now) {
		t.Error("a Job that nobody has seen succeed counts")
	}
}
