package lock

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/testing/enginetest"
)

// testSet is the set of the tests.
var testSet = Set{Namespace: "demo", ID: "id-of-web", Name: "web"}

// testOptions returns the options of a run by somebody.
func testOptions(user string) Options {
	return Options{Wait: time.Minute, Manager: "muster",
		Holder: Holder{User: user, Run: NewRun(), Command: "apply", Since: time.Now()}}
}

// stopped makes a lock as old as that of a process that has been stopped for a minute and has not
// yet done anything since.
func stopped(l *Lock) {
	l.renewal.mu.Lock()
	defer l.renewal.mu.Unlock()
	l.renewal.last = l.renewal.last.Add(-time.Minute)
}

// writeObject creates an object within a context.
func writeObject(ctx context.Context, c *enginetest.Cluster) error {
	obj := &unstructured.Unstructured{}
	obj.SetAPIVersion("v1")
	obj.SetKind("ConfigMap")
	obj.SetNamespace("demo")
	obj.SetName("conf")
	_, err := c.Write(ctx, cluster.Write{Object: obj, Method: cluster.Create})
	return err
}

// A run whose process was stopped finds out before its next write that another run has the lock, or
// has had it.
func TestStopped(t *testing.T) {
	for name, ends := range map[string]bool{"held": false, "ended": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := &enginetest.Cluster{}
				l, ctx, err := Acquire(t.Context(), c, testSet, testOptions("ann"))
				if err != nil {
					t.Fatal(err)
				}
				c.Remove(testSet.Ref())
				other, _, err := Acquire(t.Context(), c, testSet, testOptions("bob"))
				if err != nil {
					t.Fatal(err)
				}
				if ends {
					if err := other.Release(t.Context()); err != nil {
						t.Error(err)
					}
				}
				stopped(l)
				err = writeObject(ctx, c)
				interrupted, lost := (*cluster.InterruptedError)(nil), (*LostError)(nil)
				if !errors.As(err, &interrupted) || !errors.As(err, &lost) {
					t.Errorf("the write: %v", err)
				}
				if !errors.As(context.Cause(ctx), &lost) {
					t.Errorf("the run: %v", context.Cause(ctx))
				}
				if err := l.Release(t.Context()); !errors.As(err, &lost) {
					t.Errorf("the release: %v", err)
				}
				if left := c.Object(testSet.Ref()); (left == nil) != ends {
					t.Errorf("left: %v", left)
				}
				if !ends {
					_ = other.Release(t.Context())
				}
			})
		})
	}
}

// A run whose process was stopped continues if nobody has taken the lock, which it renews before it
// writes.
func TestStoppedUnnoticed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &enginetest.Cluster{}
		l, ctx, err := Acquire(t.Context(), c, testSet, testOptions("ann"))
		if err != nil {
			t.Fatal(err)
		}
		before := c.Object(testSet.Ref()).GetResourceVersion()
		time.Sleep(time.Second) // a renewal at the same time would change nothing
		stopped(l)
		if err := writeObject(ctx, c); err != nil || ctx.Err() != nil {
			t.Errorf("the write: %v; the run: %v", err, context.Cause(ctx))
		}
		if c.Object(testSet.Ref()).GetResourceVersion() == before {
			t.Error("the lock was not renewed")
		}
		if err := l.Release(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// A lock that others remove just before the run ends is reported then.
func TestLostAtEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &enginetest.Cluster{}
		l, _, err := Acquire(t.Context(), c, testSet, testOptions("ann"))
		if err != nil {
			t.Fatal(err)
		}
		c.Remove(testSet.Ref())
		lost := (*LostError)(nil)
		if err := l.Release(t.Context()); !errors.As(err, &lost) || !lost.Ended {
			t.Errorf("the release: %v", err)
		}
	})
}

// The clock that measures intervals stands still while the machine is suspended, and the time of
// the day does not.
func TestSuspended(t *testing.T) {
	begun := time.Now()
	now := begun.Round(0).Add(time.Minute) // without a measured part, as after a suspension
	if age := later(time.Second, begun, now); age != time.Minute {
		t.Errorf("the lock is %s old", age)
	}
	if age := later(time.Second, begun, begun.Round(0).Add(-time.Hour)); age != time.Second {
		t.Errorf("after the clock was set back the lock is %s old", age)
	}
}
