package engine

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/ready"
)

// Explaining is for people, and bounded: so many objects, so much at once, so long, so many lines of a log.
const (
	explainMost        = 20
	explainConcurrency = 4
	explainTimeout     = 10 * time.Second
	logLines           = 3
)

// Explain finds out why a live object is not ready. It may be called by several goroutines at once; what cannot be found
// out is left out.
type Explain func(ctx context.Context, obj *unstructured.Unstructured) []ready.Cause

// ExplainBy looks for causes among the objects and events around an object, and in the logs of containers that ended badly.
func ExplainBy(c *cluster.Client) Explain {
	return func(ctx context.Context, obj *unstructured.Unstructured) []ready.Cause {
		family, err := c.Family(ctx, obj)
		if err != nil {
			return nil // the run has said what matters already
		}
		causes := ready.Causes(obj, family)
		for i, cause := range causes {
			if cause.Container != "" {
				causes[i].Log = c.Log(ctx, cause.Object, cause.Container, cause.Previous, logLines)
			}
		}
		return causes
	}
}

// explainAll explains objects, the first of them if they are many.
func (e *Engine) explainAll(ctx context.Context, objects []*unstructured.Unstructured) map[object.Ref][]ready.Cause {
	if e.Explain == nil || len(objects) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, explainTimeout)
	defer cancel()
	var mu sync.Mutex
	found := map[object.Ref][]ready.Cause{}
	var group errgroup.Group
	group.SetLimit(explainConcurrency)
	for _, obj := range objects[:min(len(objects), explainMost)] {
		group.Go(func() error {
			causes := e.Explain(ctx, obj)
			mu.Lock()
			defer mu.Unlock()
			found[object.RefOf(obj)] = causes
			return nil
		})
	}
	_ = group.Wait() // nothing of it fails
	return found
}

// explainBad tells why steps did not become ready, or gone, in the order of the plan. An interrupted run has no time for it.
func (e *Engine) explainBad(ctx context.Context, r *run) {
	if e.Explain == nil || r.summary.Interrupted {
		return
	}
	var targets []cluster.Target
	steps := map[object.Ref]int{}
	for i, t := range r.tracks {
		if t.acted == event.Succeeded && t.settled.Bad() {
			ref := r.plan.Steps[i].Ref
			steps[ref] = i
			targets = append(targets, cluster.Target{Ref: ref})
		}
	}
	if len(targets) == 0 {
		return
	}
	live, err := e.Cluster.Read(ctx, targets)
	if err != nil {
		return // the steps have said what matters already
	}
	var objects []*unstructured.Unstructured
	for _, target := range targets {
		if obj := live.Objects[target.Ref]; obj != nil {
			objects = append(objects, obj)
		}
	}
	causes := e.explainAll(ctx, objects)
	for _, target := range targets {
		if len(causes[target.Ref]) > 0 {
			r.emit(event.Event{Kind: event.Explained, Step: steps[target.Ref], Op: r.plan.Steps[steps[target.Ref]].Op, Causes: causes[target.Ref]})
		}
	}
}
