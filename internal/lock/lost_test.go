package lock_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/lock"
	"github.com/muster-deploy/muster/internal/testing/enginetest"
)

// A lock that was removed is lost, also if another run has had it meanwhile: the renewal does not
// create it again, and nothing of the run remains.
func TestLostToAnEndedRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &enginetest.Cluster{}
		l, ctx := acquire(t, c, options("ann", 0))
		c.Remove(set.Ref())
		other, _ := acquire(t, c, options("bob", 0))
		time.Sleep(lock.RenewPeriod / 2)
		other.Release(t.Context())
		time.Sleep(lock.RenewPeriod/2 + time.Second)
		if lost := (*lock.LostError)(nil); !errors.As(context.Cause(ctx), &lost) {
			t.Errorf("the run: %v", context.Cause(ctx))
		}
		l.Release(t.Context())
		if left := c.Object(set.Ref()); left != nil {
			t.Errorf("left: %v", left)
		}
	})
}

// The error of a lost lock names the run that has the lock now.
func TestLostNamesHolder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &enginetest.Cluster{}
		l, ctx := acquire(t, c, options("ann", 0))
		c.Remove(set.Ref())
		other, _ := acquire(t, c, options("bob", 0))
		time.Sleep(lock.RenewPeriod + time.Second)
		if cause := context.Cause(ctx); cause == nil || !strings.Contains(cause.Error(), "bob@laptop") {
			t.Errorf("the run: %v", cause)
		}
		l.Release(t.Context())
		if c.Object(set.Ref()) == nil {
			t.Error("the lock of the other run was deleted")
		}
		other.Release(t.Context())
	})
}

// hangs is a cluster that does not answer writes once it hangs.
type hangs struct {
	*enginetest.Cluster
	now atomic.Bool
}

func (h *hangs) Write(ctx context.Context, w cluster.Write) (*unstructured.Unstructured, error) {
	if h.now.Load() {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return h.Cluster.Write(ctx, w)
}

// A run ends 20 seconds after its last renewal, before others take the lock over, also if the
// server does not answer at all.
func TestLostWithoutAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &hangs{Cluster: &enginetest.Cluster{}}
		l, ctx := acquire(t, c, options("ann", 0))
		began := time.Now()
		c.now.Store(true)
		<-ctx.Done()
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("the run ended after %s", took)
		}
		l.Release(t.Context())
	})
}
