package engine_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/base/limit"
	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/testing/enginetest"
)

// unlisting is a cluster whose first lists of pods fail for a while.
type unlisting struct {
	*enginetest.Cluster
	until time.Time
}

// WatchQuery reports the failure of a list, and later its objects.
func (c *unlisting) WatchQuery(
	ctx context.Context, q cluster.Query, see func(cluster.ObjectEvent),
) {
	wait := time.Until(c.until)
	if q.Kind.Kind != "Pod" || wait <= 0 {
		c.Cluster.WatchQuery(ctx, q, see)
		return
	}
	time.AfterFunc(time.Millisecond, func() {
		see(cluster.ObjectEvent{Listed: true, Err: errors.New("the server is not available")})
	})
	time.AfterFunc(wait, func() { c.Cluster.WatchQuery(ctx, q, see) })
}

// A list of pods that fails for a while says nothing about the pods.
func TestPodsThatCannotBeListedYet(t *testing.T) {
	for name, run := range map[string]func(*testing.T, *engine.Engine) bool{
		"apply": func(t *testing.T, e *engine.Engine) bool {
			obj := thing("StatefulSet/a")
			obj.Object["spec"] = replayed(false, 1).Object["spec"]
			p, err := e.Plan(t.Context(), engine.Request{Desired: want(obj), Policy: policy()})
			if err != nil {
				t.Fatal(err)
			}
			summary, err := e.Apply(t.Context(), p, podsRun, func(event.Event) {})
			return err == nil && summary.Failures() == 0
		},
		"status": func(t *testing.T, e *engine.Engine) bool {
			o := engine.ObserveOptions{Until: engine.UntilCurrent, Pods: engine.CheckPods(),
				Timeout: limit.After(time.Minute)}
			met, err := e.Observe(t.Context(), []object.Ref{ref("StatefulSet/a")}, o,
				func(event.Event) {})
			return err == nil && met
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(&enginetest.Cluster{})
				obj := thing("StatefulSet/a")
				obj.Object["spec"] = replayed(false, 1).Object["spec"]
				time.AfterFunc(time.Second, func() { w.becomeReady("StatefulSet/a", nil) })
				if _, err := w.apply(t.Context(), policy(), podsRun, want(obj)...); err != nil {
					t.Fatal(err)
				}
				w.Put(w.restarted("StatefulSet/a", 0))
				began := time.Now()
				c := &unlisting{w.Cluster, began.Add(4 * time.Second)}
				good := run(t, &engine.Engine{Cluster: c, Records: w.store})
				if took := time.Since(began); !good || took < 9*time.Second || took > 11*time.Second {
					t.Errorf("ready: %t, after %s", good, took)
				}
			})
		})
	}
}

// A user who may not list pods gets one warning that crashes may go unnoticed, if that matters.
func TestPodsThatMayNotBeListed(t *testing.T) {
	for _, probed := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(&enginetest.Cluster{
				Unlistable: map[schema.GroupKind][]string{{Kind: "Pod"}: {"n"}},
			})
			var warnings []string
			w.hear = func(e event.Event) {
				if e.Kind == event.Settled && e.Status.Warns {
					warnings = append(warnings, e.Status.Message)
				}
			}
			var objects []*unstructured.Unstructured
			for _, name := range []string{"StatefulSet/a", "StatefulSet/b"} {
				obj := thing(name)
				obj.Object["spec"] = replayed(probed, 1).Object["spec"]
				objects = append(objects, obj)
				time.AfterFunc(time.Second, func() { w.becomeReady(name, nil) })
			}
			summary, err := w.apply(t.Context(), policy(), podsRun, want(objects...)...)
			if err != nil || summary.Failures() > 0 {
				t.Fatalf("%+v, error %v", summary, err)
			}
			if probed != (len(warnings) == 0) || len(warnings) > 1 {
				t.Errorf("probed %t: warnings %q", probed, warnings)
			}
		})
	}
}
