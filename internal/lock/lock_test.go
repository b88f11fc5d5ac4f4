package lock_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/lock"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/testing/enginetest"
)

var set = lock.Set{Namespace: "demo", ID: "id-of-web", Name: "web"}

// options returns the options of a run by somebody that waits for a time.
func options(user string, wait time.Duration) lock.Options {
	return lock.Options{Wait: wait, Manager: "muster", Holder: lock.Holder{
		User: user, Host: "laptop", PID: 1, Run: lock.NewRun(), Command: "apply", Since: time.Now(),
	}}
}

// acquire acquires the lock, which must succeed.
func acquire(
	t *testing.T, c cluster.Writer, o lock.Options,
) (*lock.Lock, context.Context) {
	t.Helper()
	l, ctx, err := lock.Acquire(t.Context(), c, set, o)
	if err != nil {
		t.Fatal(err)
	}
	return l, ctx
}

// settle lets some of the steps of a run settle.
func settle(l *lock.Lock, done, total int) {
	sink := l.Count(total, func(event.Event) {})
	for range done {
		sink(event.Event{Kind: event.Settled})
	}
}

// A lock costs one request at its beginning, one at its end, and one for every period in between.
func TestRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &enginetest.Cluster{}
		l, ctx := acquire(t, c, options("ann", 0))
		settle(l, 37, 120)
		time.Sleep(2*lock.RenewPeriod + time.Second)
		if text := c.Object(set.Ref()).GetAnnotations()["muster.dev/lock"]; !strings.Contains(text,
			`"done":37,"total":120`) {
			t.Errorf("the lease says %s", text)
		}
		if ctx.Err() != nil {
			t.Errorf("the run ended: %v", context.Cause(ctx))
		}
		l.Release(t.Context())
		if len(c.Sent) != 3 || len(c.Asked) != 0 || c.Object(set.Ref()) != nil {
			t.Errorf("%d writes, reads %v, left: %v", len(c.Sent), c.Asked, c.Object(set.Ref()))
		}
	})
}

// A run waits until the one before it has ended, and says for whom.
func TestWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &enginetest.Cluster{}
		first, _ := acquire(t, c, options("ann", 0))
		settle(first, 1, 4)
		time.AfterFunc(15*time.Second, func() { first.Release(t.Context()) })
		begun := time.Now()
		var heard []string
		o := options("bob", time.Minute)
		o.Waiting = func(h lock.Holder) { heard = append(heard, h.Describe(begun.Add(time.Minute))) }
		second, _ := acquire(t, c, o)
		defer second.Release(t.Context())
		if waited := time.Since(begun); waited < 15*time.Second || waited > 18*time.Second {
			t.Errorf("waited %s", waited)
		}
		want := "ann@laptop (apply, since 60s)|ann@laptop (apply, since 60s, 1 of 4 done)"
		if got := strings.Join(heard, "|"); got != want {
			t.Errorf("heard %s, want %s", got, want)
		}
	})
}

// A run that does not wait, or not long enough, gets the name of the holder.
func TestHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &enginetest.Cluster{}
		first, _ := acquire(t, c, options("ann", 0))
		defer first.Release(t.Context())
		for _, wait := range []time.Duration{0, time.Minute} {
			_, _, err := lock.Acquire(t.Context(), c, set, options("bob", wait))
			held := (*lock.HeldError)(nil)
			if !errors.As(err, &held) || held.Holder.User != "ann" || held.Waited != wait {
				t.Errorf("after %s: %v", wait, err)
			}
		}
	})
}

// A killed run costs the next one at most 30 seconds. The lock of the new run is kept.
func TestKilled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &enginetest.Cluster{}
		killed := &fails{Cluster: c, err: errors.New("the process is gone")}
		killed.works.Store(true)
		first, firstRun := acquire(t, killed, options("ann", 0))
		killed.works.Store(false)
		begun := time.Now()
		second, _ := acquire(t, c, options("bob", time.Minute))
		if waited := time.Since(begun); waited > 30*time.Second {
			t.Errorf("waited %s", waited)
		}
		lost := (*lock.LostError)(nil)
		if !errors.As(context.Cause(firstRun), &lost) {
			t.Errorf("the first run: %v", context.Cause(firstRun))
		}
		killed.works.Store(true) // it was suspended, and continues
		time.Sleep(2 * lock.RenewPeriod)
		first.Release(t.Context())
		if c.Object(set.Ref()) == nil {
			t.Error("the first run has released the lock of the second")
		}
		second.Release(t.Context())
		if c.Object(set.Ref()) != nil {
			t.Error("the second run did not have the lock any more")
		}
	})
}

// A run that is asked to yield ends, unless it does not yield.
func TestSupersede(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &enginetest.Cluster{}
		first, firstRun := acquire(t, c, options("ann", 0))
		go func() {
			<-firstRun.Done()
			time.Sleep(3 * time.Second) // it finishes what it began
			first.Release(t.Context())
		}()
		o := options("bob", time.Minute)
		o.Supersede = true
		begun := time.Now()
		second, _ := acquire(t, c, o)
		if waited := time.Since(begun); waited > lock.RenewPeriod+3*time.Second+lock.PollPeriod {
			t.Errorf("waited %s", waited)
		}
		by := (*lock.SupersededError)(nil)
		if !errors.As(context.Cause(firstRun), &by) || by.By != "bob@laptop" {
			t.Errorf("the first run: %v", context.Cause(firstRun))
		}
		second.Release(t.Context())

		stubborn := options("ann", 0)
		stubborn.Holder.NoYield = true
		third, thirdRun := acquire(t, c, stubborn)
		defer third.Release(t.Context())
		_, _, err := lock.Acquire(t.Context(), c, set, o)
		if held := (*lock.HeldError)(nil); !errors.As(err, &held) || !held.Refused {
			t.Errorf("the lock that is not yielded: %v", err)
		}
		time.Sleep(lock.RenewPeriod)
		if thirdRun.Err() != nil {
			t.Errorf("the run ended: %v", context.Cause(thirdRun))
		}
	})
}

// A lock that somebody removed by hand is lost.
func TestRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &enginetest.Cluster{}
		l, ctx := acquire(t, c, options("ann", 0))
		c.Remove(set.Ref())
		time.Sleep(lock.RenewPeriod + time.Second)
		if lost := (*lock.LostError)(nil); !errors.As(context.Cause(ctx), &lost) {
			t.Errorf("the run: %v", context.Cause(ctx))
		}
		l.Release(t.Context())
	})
}

// A lock that goes with its namespace, which the run may have deleted itself, is not lost: neither
// when the namespace is gone nor while it is being deleted.
func TestNamespaceDeleted(t *testing.T) {
	terminating := apierrors.NewForbidden(schema.GroupResource{Resource: "leases"}, "lock",
		errors.New("unable to create new content in namespace demo because it is being terminated"))
	terminating.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: "NamespaceTerminating"}}
	for name, answer := range map[string]error{
		"gone":        apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "demo"),
		"terminating": terminating,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := &fails{Cluster: &enginetest.Cluster{}, err: answer}
				c.works.Store(true)
				l, ctx := acquire(t, c, options("ann", 0))
				c.works.Store(false)
				time.Sleep(5 * lock.RenewPeriod)
				if ctx.Err() != nil {
					t.Errorf("the run ended: %v", context.Cause(ctx))
				}
				l.Release(t.Context())
			})
		})
	}
}

// A run whose lock was deleted continues while the server does not tell whether the namespace is.
func TestNamespaceUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &fails{Cluster: &enginetest.Cluster{}, err: context.DeadlineExceeded, onlyDryRuns: true}
		l, ctx := acquire(t, c, options("ann", 0))
		c.Remove(set.Ref())
		time.Sleep(lock.RenewPeriod + time.Second)
		if ctx.Err() != nil {
			t.Errorf("the run ended: %v", context.Cause(ctx))
		}
		time.Sleep(lock.RenewPeriod)
		if lost := (*lock.LostError)(nil); !errors.As(context.Cause(ctx), &lost) {
			t.Errorf("the run: %v", context.Cause(ctx))
		}
		l.Release(t.Context())
	})
}

// A run whose lock another run has taken ends at once, whatever the server answers otherwise.
func TestTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &fails{Cluster: &enginetest.Cluster{}, err: context.DeadlineExceeded, onlyDryRuns: true}
		l, ctx := acquire(t, c, options("ann", 0))
		time.Sleep(lock.RenewPeriod / 2)
		c.Remove(set.Ref())
		other, otherRun := acquire(t, c, options("bob", 0))
		time.Sleep(lock.RenewPeriod/2 + time.Second)
		if lost := (*lock.LostError)(nil); !errors.As(context.Cause(ctx), &lost) {
			t.Errorf("the run: %v", context.Cause(ctx))
		}
		l.Release(t.Context())
		if otherRun.Err() != nil {
			t.Errorf("the other run ended: %v", context.Cause(otherRun))
		}
		other.Release(t.Context())
	})
}

// Without rights, or without the namespace, the errors say so, and a run may continue unlocked.
func TestErrors(t *testing.T) {
	leases := schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}
	forbidden, absent := (*lock.ForbiddenError)(nil), (*lock.NoNamespaceError)(nil)
	for _, tc := range []struct {
		answer error
		as     any
	}{
		{apierrors.NewForbidden(leases, "", errors.New("no")), &forbidden},
		{apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "demo"), &absent},
	} {
		c := &fails{Cluster: &enginetest.Cluster{}, err: tc.answer}
		if _, _, err := lock.Acquire(t.Context(), c, set, options("ann", 0)); !errors.As(err, tc.as) {
			t.Errorf("%v: %v", tc.answer, err)
		}
		var reported *lock.ForbiddenError
		o := options("ann", 0)
		o.Forbidden = func(e *lock.ForbiddenError) { reported = e }
		l, run, err := lock.AcquireIfPossible(t.Context(), c, set, o)
		if l != nil || run != t.Context() || err != nil {
			t.Errorf("%v: lock %v, context %v, error %v", tc.answer, l, run, err)
		}
		if known := tc.as == any(&forbidden); (reported != nil) != known {
			t.Errorf("%v: reported %v", tc.answer, reported)
		}
	}
	c := &fails{Cluster: &enginetest.Cluster{}, err: errors.New("down")}
	if _, _, err := lock.AcquireIfPossible(t.Context(), c, set, options("ann", 0)); err == nil {
		t.Error("a cluster that does not answer is no error")
	}
}

// Sets have locks of their own.
func TestRef(t *testing.T) {
	refs := object.NewSet()
	for _, s := range []lock.Set{set, {Namespace: "demo", ID: "other"}, {Namespace: "b", ID: set.ID}} {
		refs.Insert(s.Ref())
	}
	if refs.Len() != 3 || len(set.Ref().Name) != len("muster-")+16 {
		t.Errorf("references %v", refs.Refs())
	}
}

// fails is a cluster whose requests fail with an error unless it works.
type fails struct {
	*enginetest.Cluster
	err   error
	works atomic.Bool
	// onlyDryRuns lets everything else work.
	onlyDryRuns bool
}

func (f *fails) Read(
	ctx context.Context, targets []cluster.Target,
) (*cluster.Snapshot, error) {
	if !f.works.Load() && !f.onlyDryRuns {
		return nil, f.err
	}
	return f.Cluster.Read(ctx, targets)
}

func (f *fails) Write(
	ctx context.Context, w cluster.Write,
) (*unstructured.Unstructured, error) {
	if !f.works.Load() && (w.DryRun || !f.onlyDryRuns) {
		return nil, f.err
	}
	return f.Cluster.Write(ctx, w)
}

func (f *fails) Delete(ctx context.Context, d cluster.Delete) (bool, error) {
	if !f.works.Load() {
		return false, f.err
	}
	return f.Cluster.Delete(ctx, d)
}

// losesAnswers stores writes and loses their answers: the next attempt finds the stored object.
type losesAnswers struct{ *enginetest.Cluster }

func (l losesAnswers) Write(
	ctx context.Context, w cluster.Write,
) (*unstructured.Unstructured, error) {
	stored, err := l.Cluster.Write(ctx, w)
	if err == nil && w.Method == cluster.Create {
		return nil, apierrors.NewAlreadyExists(
			schema.GroupResource{Group: lock.Kind.Group, Resource: "leases"}, stored.GetName())
	}
	return stored, err
}

// A run whose request to create the lock succeeded without an answer has the lock, and renews it.
func TestLostAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &enginetest.Cluster{}
		l, ctx := acquire(t, losesAnswers{c}, options("ann", 0))
		time.Sleep(3 * lock.RenewPeriod)
		if ctx.Err() != nil {
			t.Errorf("the run ended: %v", context.Cause(ctx))
		}
		l.Release(t.Context())
		if c.Object(set.Ref()) != nil {
			t.Error("the lock was not released")
		}
	})
}

// Who waits for locks to be free waits for the run that renews one, not for one that was killed.
func TestAwaitFree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, other := &enginetest.Cluster{}, lock.Set{Namespace: "demo", ID: "other", Name: "other"}
		began := time.Now()
		await := func() time.Duration {
			t.Helper()
			if err := lock.AwaitFree(t.Context(), c, []lock.Set{other, set}); err != nil {
				t.Fatal(err)
			}
			return time.Since(began)
		}
		if took := await(); took != 0 {
			t.Errorf("without a lock it took %s", took)
		}
		l, _ := acquire(t, c, options("ann", 0))
		time.AfterFunc(time.Minute, func() { l.Release(t.Context()) })
		if took := await(); took < time.Minute || took > time.Minute+lock.PollPeriod {
			t.Errorf("with a run of a minute it took %s", took)
		}
		began = time.Now()
		ctx, kill := context.WithCancel(t.Context())
		defer kill()
		dead := &enginetest.Cluster{}
		l, _, err := lock.Acquire(ctx, dead, set, options("ann", 0))
		if err != nil {
			t.Fatal(err)
		}
		lease := dead.Object(set.Ref())
		l.Release(ctx)
		c.Put(lease)
		if took := await(); took < lock.Duration || took > lock.Duration+lock.PollPeriod {
			t.Errorf("with a killed run it took %s", took)
		}
	})
}
