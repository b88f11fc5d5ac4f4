package engine

import (
	"context"
	"slices"
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
	explainAfter       = 5 * time.Second  // how long a run waits without a change before it looks for causes
	explainAgain       = 15 * time.Second // and how often it looks again
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

// explainTargets reads objects as they are now and explains them.
func (e *Engine) explainTargets(ctx context.Context, targets []cluster.Target) map[object.Ref][]ready.Cause {
	ctx, cancel := context.WithTimeout(ctx, explainTimeout)
	defer cancel()
	live, err := e.Cluster.Read(ctx, targets)
	if err != nil {
		return nil // what matters is said elsewhere
	}
	var objects []*unstructured.Unstructured
	for _, target := range targets {
		if obj := live.Objects[target.Ref]; obj != nil {
			objects = append(objects, obj)
		}
	}
	return e.explainAll(ctx, objects)
}

// targets are the objects of the steps that are wanted, the first of them if they are many.
func (r *run) targets(wanted func(*track) bool) []cluster.Target {
	var targets []cluster.Target
	for i := range r.tracks {
		if wanted(&r.tracks[i]) && len(targets) < explainMost {
			targets = append(targets, cluster.Target{Ref: r.plan.Steps[i].Ref})
		}
	}
	return targets
}

// explainBad tells, after the loop, why steps did not become ready, or gone. An interrupted run has no time for it.
func (r *run) explainBad(ctx context.Context) {
	targets := r.targets(func(t *track) bool { return t.acted == event.Succeeded && t.settled.Bad() })
	if r.engine.Explain == nil || r.summary.Interrupted || len(targets) == 0 {
		return
	}
	causes := r.engine.explainTargets(ctx, targets)
	for i := range r.tracks {
		if found := causes[r.plan.Steps[i].Ref]; len(found) > 0 {
			r.tell(i, found)
		}
	}
}

// explainWaiting has a worker find out why steps are still being waited for.
func (r *run) explainWaiting(ctx context.Context) {
	targets := r.targets(func(t *track) bool { return t.waiting && !r.unreported(t) })
	if len(targets) == 0 {
		return
	}
	r.explaining = true
	// It sends its one message, or ends with the context when the loop is over.
	go func() {
		causes := r.engine.explainTargets(ctx, targets)
		select {
		case r.messages <- message{causes: causes, explained: true}:
		case <-ctx.Done():
		}
	}()
}

// explained tells of causes that are new. A pod that is merely being started is none yet.
func (r *run) explained(causes map[object.Ref][]ready.Cause) {
	r.explaining = false
	for i := range r.tracks {
		t := &r.tracks[i]
		found := slices.DeleteFunc(slices.Clone(causes[r.plan.Steps[i].Ref]), func(c ready.Cause) bool { return c.Idle })
		if !t.waiting || len(found) == 0 || slices.EqualFunc(found, t.causes, ready.Cause.Same) {
			continue
		}
		t.causes = found
		r.tell(i, found)
	}
}

func (r *run) tell(i int, causes []ready.Cause) {
	r.emit(event.Event{Kind: event.Explained, Step: i, Op: r.plan.Steps[i].Op, Causes: causes})
}
