package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/base/limit"
	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/testing/enginetest"
)

// Objects that are about to time out are read once more, together: their watch may be silent.
func TestLastRead(t *testing.T) {
	for _, tc := range []struct {
		name   string
		limits engine.Limits
		ready  []string // what becomes ready after two seconds
		silent bool
		reads  int // after that of the plan
		took   time.Duration
		want   string
	}{
		{
			name: "of objects that are ready", limits: engine.Limits{Apply: limit.After(5 * time.Second)},
			ready: []string{"a", "b"}, silent: true, reads: 1, took: 5 * time.Second,
			want: `a succeeded, b succeeded`,
		},
		{
			name: "of one that is not", limits: engine.Limits{Apply: limit.After(5 * time.Second)},
			ready: []string{"a"}, silent: true, reads: 1, took: 5 * time.Second,
			want: `a succeeded, b timed out`,
		},
		{
			name: "when nothing happens", limits: engine.Limits{Idle: limit.After(5 * time.Second)},
			ready: []string{"a", "b"}, silent: true, reads: 1, took: 5 * time.Second,
			want: `a succeeded, b succeeded`,
		},
		{
			name: "when one becomes ready", limits: engine.Limits{Idle: limit.After(5 * time.Second)},
			ready: []string{"a"}, silent: true, reads: 2, took: 10 * time.Second,
			want: `a succeeded, b timed out`,
		},
		{
			name: "not of what was seen", limits: engine.Limits{Apply: limit.After(5 * time.Second)},
			ready: []string{"a", "b"}, took: 2 * time.Second, want: `a succeeded, b succeeded`,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(&enginetest.Cluster{
					Silent: tc.silent, Script: map[object.Ref][]enginetest.Change{},
				})
				for _, name := range tc.ready {
					w.Script[ref("Deployment/"+name)] = []enginetest.Change{
						{After: 2 * time.Second, Status: available},
					}
				}
				began := time.Now()
				o := engine.Options{DryRun: engine.DryRunNone, Limits: tc.limits, NoCauses: true}
				if _, err := w.apply(t.Context(), policy(), o,
					want(thing("Deployment/a"), thing("Deployment/b"))...); err != nil {
					t.Fatal(err)
				}
				if took := time.Since(began).Round(time.Second); took != tc.took {
					t.Errorf("took %s, want %s", took, tc.took)
				}
				if reads := len(w.Asked) - 1; reads != tc.reads {
					t.Errorf("%d reads, want %d: %v", reads, tc.reads, w.Asked)
				}
				var settled []string
				for _, text := range w.lines {
					if text, ok := strings.CutPrefix(text, "settled create deployment.apps/"); ok {
						text, _, _ = strings.Cut(text, " (")
						settled = append(settled, text)
					}
				}
				slices.Sort(settled)
				if diff := cmp.Diff(tc.want, strings.Join(settled, ", ")); diff != "" {
					t.Errorf("outcomes (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// A last read that fails changes nothing.
func TestLastReadFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(&enginetest.Cluster{Silent: true})
		w.hear = func(e event.Event) {
			w.Unreadable = map[object.Ref]error{e.Ref: errors.New("no")}
		}
		o := engine.Options{DryRun: engine.DryRunNone,
			Limits: engine.Limits{Apply: limit.After(time.Second)}, NoCauses: true}
		if _, err := w.apply(t.Context(), policy(), o, want(thing("Deployment/a"))...); err != nil {
			t.Fatal(err)
		}
		const timedOut = "settled create deployment.apps/a timed out (InProgress)"
		if got := w.lines[len(w.lines)-1]; got != timedOut {
			t.Errorf("the last event is %q", got)
		}
	})
}

// What is observed is read once more at the end of the timeout.
func TestObserveReadsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(&enginetest.Cluster{Silent: true, Script: map[object.Ref][]enginetest.Change{
			ref("Deployment/web"): {{After: 2 * time.Second, Status: available}},
		}})
		o := within(time.Second)
		if _, err := w.apply(t.Context(), policy(), o, want(thing("Deployment/web"))...); err != nil {
			t.Fatal(err)
		}
		var last event.Event
		e := &engine.Engine{Cluster: w.Cluster, Records: w.store}
		met, err := e.Observe(t.Context(), []object.Ref{ref("Deployment/web")},
			engine.ObserveOptions{Until: engine.UntilCurrent, Timeout: limit.After(time.Minute)},
			func(e event.Event) { last = e })
		if err != nil || !met || last.Status.State != "Current" {
			t.Errorf("met %t, %v, at last %v", met, err, last.Status)
		}
	})
}

// A server that refuses the credentials while objects are waited for ends the run, with one line.
func TestCredentialsRefused(t *testing.T) {
	refused := apierrors.NewUnauthorized("Unauthorized")
	const text = "the server has refused the credentials for 2m0s: Unauthorized"
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(&enginetest.Cluster{Unseen: func() error { return refused }})
		began := time.Now()
		summary, err := w.apply(t.Context(), policy(), engine.Options{DryRun: engine.DryRunNone,
			NoCauses: true},
			want(thing("Deployment/a"), thing("Deployment/b"))...)
		if err != nil || summary.Settled[event.Failed] != 1 || summary.Settled[event.Skipped] != 1 {
			t.Errorf("summary %v, %v", summary, err)
		}
		if took := time.Since(began); took < 2*time.Minute || took > 3*time.Minute {
			t.Errorf("took %s", took)
		}
		if said := strings.Join(w.lines, "\n"); strings.Count(said, text) != 1 {
			t.Errorf("events\n%s", said)
		}
		e := &engine.Engine{Cluster: w.Cluster, Records: w.store}
		only := true
		_, err = e.Observe(t.Context(), []object.Ref{ref("Deployment/a"), ref("Deployment/b")},
			engine.ObserveOptions{Until: engine.UntilCurrent},
			func(e event.Event) { only = only && e.Kind == event.Observed })
		if unauthorized := (*engine.UnauthorizedError)(nil); !errors.As(err, &unauthorized) ||
			err.Error() != text || !apierrors.IsUnauthorized(err) || !only {
			t.Errorf("observe: %v", err)
		}
	})
	synctest.Test(t, func(t *testing.T) { // a plugin may renew them
		began := time.Now()
		w := newWorld(&enginetest.Cluster{Unseen: func() error {
			if time.Since(began).Truncate(time.Minute) == time.Minute {
				return errors.New("no route to host")
			}
			return refused
		}})
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Second)
		defer cancel()
		o := engine.Options{DryRun: engine.DryRunNone, NoCauses: true}
		summary, err := w.apply(ctx, policy(), o, want(thing("Deployment/a"))...)
		if err != nil || !summary.Interrupted {
			t.Errorf("summary %v, %v", summary, err)
		}
	})
}

// An interrupted run says after a moment which writes it still waits for.
func TestInterruptedRunAnnouncesWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(&enginetest.Cluster{Slow: map[object.Ref]time.Duration{}})
		var objects []*unstructured.Unstructured
		for i := range 7 {
			name := fmt.Sprintf("ConfigMap/%d", i)
			objects = append(objects, thing(name))
			w.Slow[ref(name)] = 10 * time.Second
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		w.hear = func(e event.Event) {
			if e.Err != nil && time.Since(began) != 3*time.Second {
				t.Errorf("announced after %s", time.Since(began))
			}
		}
		summary, err := w.apply(ctx, policy(), realRun, want(objects...)...)
		const text = "observed create configmap/0: no answer yet to the write of n/configmap/0, " +
			"n/configmap/1, n/configmap/2, n/configmap/3, n/configmap/4 and 2 more"
		if err != nil || !slices.Contains(w.lines, text) {
			t.Errorf("%v, %v, events %q", summary, err, w.lines)
		}
	})
}

// A write that the server refused for the moment is not under way: the interrupt ends it.
func TestInterruptedWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tooMany := apierrors.NewTooManyRequests("too many", 30)
		w := newWorld(&enginetest.Cluster{Answers: map[object.Ref][]error{
			ref("ConfigMap/a"): {&cluster.InterruptedError{Last: tooMany}},
		}})
		summary, err := w.apply(t.Context(), policy(), realRun, want(thing("ConfigMap/a"))...)
		if err != nil || !summary.Interrupted {
			t.Errorf("summary %v, %v", summary, err)
		}
		const text = "interrupted before the request was repeated: too many"
		w.expect(t, `
			acted create configmap/a failed: `+text+`
			settled create configmap/a interrupted: `+text)
		w.expectRecord(t, "configmap/a Apply Failed Pending")
	})
}
