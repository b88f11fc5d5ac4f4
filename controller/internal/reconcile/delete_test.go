package reconcile

import (
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/muster-deploy/muster/controller/api/v1alpha1"
	"github.com/muster-deploy/muster/controller/internal/run"
)

// TestDeletionAfterFailure: a deletion that failed is tried again after its pause, but what failed
// before does not delay a deletion.
func TestDeletionAfterFailure(t *testing.T) {
	for task, waits := range map[run.Task]bool{run.Destroy: true, run.Deploy: false} {
		p, set := newPlane(t), shop("1", 1, "admin")
		set.Finalizers = []string{v1alpha1.Finalizer}
		for _, to := range []client.Client{p.cache, p.server} {
			put(t, to, set)
			if err := to.Delete(t.Context(), set.DeepCopy()); err != nil {
				t.Fatal(err)
			}
		}
		s := p.states.of(client.ObjectKeyFromObject(set))
		s.last, s.key = &run.Outcome{Task: task}, keyOf(set, "")
		s.retryAt = time.Now().Add(time.Hour)
		if users := p.step(t); len(users) > 0 == waits {
			t.Errorf("after a failed %s: runs as %q", task, users)
		}
	}
}
