package engine_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/base/limit"
	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/testing/enginetest"
)

// guarded calls a webhook for ConfigMaps, which the Deployment "hook" serves when it is available.
type guarded struct{ *enginetest.Cluster }

func (g guarded) Write(ctx context.Context, w cluster.Write) (*unstructured.Unstructured, error) {
	hook := g.Object(ref("Deployment/hook"))
	if w.Object.GetKind() == "ConfigMap" {
		replicas := int64(0)
		if hook != nil {
			replicas, _, _ = unstructured.NestedInt64(hook.Object, "status", "availableReplicas")
		}
		if replicas == 0 {
			return nil, apierrors.NewInternalError(errors.New(`failed calling webhook "check": failed ` +
				`to call webhook: Post "https://hook.n.svc:443/?timeout=2s": no endpoints available`))
		}
	}
	return g.Cluster.Write(ctx, w)
}

// A write that needs a webhook of the set is tried for as long as the workload behind the webhook
// is waited for, and says so once. A workload that times out, or is another, does not extend it.
func TestWebhookThatStartsSlowly(t *testing.T) {
	for _, tc := range []struct {
		name   string
		ready  time.Duration // of the workload
		labels map[string]any
		limit  time.Duration // of waits
		took   time.Duration
		failed int
	}{
		{"slow start", 5 * time.Minute, map[string]any{"app": "hook"}, 0, 5 * time.Minute, 0},
		{"out of time", 5 * time.Minute, map[string]any{"app": "hook"}, time.Minute, time.Minute, 2},
		{"pods of another Service", 5 * time.Minute, map[string]any{"app": "x"}, 0, 5 * time.Minute, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(&enginetest.Cluster{Script: map[object.Ref][]enginetest.Change{
					ref("Deployment/hook"): {{After: tc.ready, Status: available}},
				}})
				service, hook := thing("Service/hook"), thing("Deployment/hook")
				service.Object["spec"] = map[string]any{"selector": map[string]any{"app": "hook"}}
				hook.Object["spec"] = map[string]any{"template": map[string]any{
					"metadata": map[string]any{"labels": tc.labels},
				}}
				e := &engine.Engine{Cluster: guarded{w.Cluster}, Records: w.store}
				p, err := e.Plan(t.Context(), engine.Request{
					Desired: want(thing("ConfigMap/a"), service, hook), Policy: policy(),
				})
				if err != nil {
					t.Fatal(err)
				}
				options, said, began := realRun, 0, time.Now()
				if tc.limit > 0 {
					options.Limits.Apply = limit.After(tc.limit)
				}
				summary, err := e.Apply(t.Context(), p, options, func(e event.Event) {
					if e.Kind == event.Retried && e.Awaits != nil &&
						*e.Awaits == ref("Deployment/hook") {
						said++
					}
					if e.Kind == event.Acted && e.Err != nil &&
						!strings.Contains(e.Err.Error(), "failed calling webhook") {
						t.Errorf("%s failed: %v", e.Ref, e.Err)
					}
				})
				if err != nil || summary.Failures() != tc.failed {
					t.Errorf("%d failures, %v; want %d", summary.Failures(), err, tc.failed)
				}
				serves := tc.labels["app"] == "hook"
				if took := time.Since(began); took < tc.took || took > tc.took+engine.WebhookTimeout {
					t.Errorf("took %s, want about %s", took, tc.took)
				}
				if serves != (said == 1) || !serves && said > 0 {
					t.Errorf("said %d times what it waits for", said)
				}
			})
		})
	}
}

// hanging answers writes of ConfigMaps, once the Deployment "hook" exists, after a long time only:
// its webhook accepts calls and does not answer.
type hanging struct{ *enginetest.Cluster }

func (h hanging) Write(ctx context.Context, w cluster.Write) (*unstructured.Unstructured, error) {
	if w.Object.GetKind() != "ConfigMap" {
		return h.Cluster.Write(ctx, w)
	}
	if h.Object(ref("Deployment/hook")) != nil {
		time.Sleep(10*time.Second + time.Duration(w.Object.GetName()[0])*37*time.Millisecond)
	}
	return nil, apierrors.NewInternalError(errors.New(`failed calling webhook "check": failed to ` +
		`call webhook: Post "https://hook.n.svc:443/?timeout=10s": context deadline exceeded`))
}

// A run ends that makes no progress, although it always has a write in progress that is repeated.
func TestWebhookThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(&enginetest.Cluster{})
		service, hook := thing("Service/hook"), thing("Deployment/hook")
		service.Object["spec"] = map[string]any{"selector": map[string]any{"app": "hook"}}
		hook.Object["spec"] = map[string]any{"template": map[string]any{
			"metadata": map[string]any{"labels": map[string]any{"app": "hook"}},
		}}
		objects := []*unstructured.Unstructured{service, hook}
		for _, name := range strings.Split("abcdefgh", "") {
			objects = append(objects, thing("ConfigMap/"+name))
		}
		e := &engine.Engine{Cluster: hanging{w.Cluster}, Records: w.store}
		p, err := e.Plan(t.Context(), engine.Request{Desired: want(objects...), Policy: policy()})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Hour)
		defer cancel()
		options := engine.Options{DryRun: engine.DryRunNone,
			Limits: engine.Limits{Stall: limit.After(time.Minute)}}
		summary, err := e.Apply(ctx, p, options, func(event.Event) {})
		if err != nil || summary.Failures() != 9 || ctx.Err() != nil {
			t.Errorf("%d failures, %v, %v", summary.Failures(), err, ctx.Err())
		}
	})
}
