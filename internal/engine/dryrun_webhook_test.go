package engine_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/testing/enginetest"
)

// dead returns a cluster whose webhook for some ConfigMaps cannot be called.
func dead(names ...string) *enginetest.Cluster {
	c := &enginetest.Cluster{Fails: map[object.Ref]error{}}
	for _, name := range names {
		c.Fails[ref("ConfigMap/"+name)] = hiccup
	}
	return c
}

// A dry run ends although a webhook cannot be called, and so does a run whose options say nothing:
// a limit of time that is not set is not endless.
func TestWebhookThatNobodyServes(t *testing.T) {
	for _, tc := range []struct {
		name    string
		mode    engine.DryRun
		most    time.Duration
		outcome event.Outcome
	}{
		{"server dry run", engine.DryRunServer, 15 * time.Second, event.Failed},
		{"client dry run", engine.DryRunClient, time.Second, event.Succeeded},
		{"run", engine.DryRunNone, time.Minute, event.Failed},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(dead("a", "b"))
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				e := &engine.Engine{Cluster: w.Cluster, Records: w.store}
				p, err := e.Plan(ctx, engine.Request{
					Desired: want(thing("ConfigMap/a"), thing("ConfigMap/b")), Policy: policy(),
				})
				if err != nil {
					t.Fatal(err)
				}
				began, retried := time.Now(), 0
				options := engine.Options{DryRun: tc.mode, TryCreations: 10, Concurrency: 1}
				_, err = e.Apply(ctx, p, options, func(e event.Event) {
					switch {
					case e.Kind == event.Retried:
						retried++
					case e.Kind != event.Acted || e.Ref.Kind != "ConfigMap":
					case e.Outcome != tc.outcome:
						t.Errorf("%s: %s, %v", e.Ref, e.Outcome, e.Err)
					case e.Err != nil && !strings.Contains(e.Err.Error(), "failed calling webhook"):
						t.Errorf("%s: error %v", e.Ref, e.Err)
					case e.Err == nil && !strings.Contains(e.Reason, "failed calling webhook"):
						t.Errorf("%s: reason %q", e.Ref, e.Reason)
					}
				})
				if err != nil || ctx.Err() != nil {
					t.Errorf("%v, %v", err, ctx.Err())
				}
				if took := time.Since(began); took > tc.most {
					t.Errorf("took %s", took)
				}
				if announced := tc.mode != engine.DryRunClient; (retried > 0) != announced {
					t.Errorf("%d retries were announced", retried)
				}
			})
		})
	}
}

// An object whose deletion never ends does not hold a run whose options set no limit.
func TestUnsetLimitsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(&enginetest.Cluster{})
		ctx, cancel := context.WithTimeout(t.Context(), 24*time.Hour)
		defer cancel()
		began := time.Now()
		summary, err := w.apply(ctx, policy(), realRun, want(thing("Deployment/never"))...)
		if err != nil || ctx.Err() != nil || summary.Settled[event.TimedOut] != 1 {
			t.Errorf("%+v, %v, %v", summary, err, ctx.Err())
		}
		if took := time.Since(began); took > time.Hour {
			t.Errorf("took %s", took)
		}
	})
}
