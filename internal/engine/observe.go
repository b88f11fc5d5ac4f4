package engine

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/ready"
)

// Until tells what Observe waits for.
type Until string

// What can be waited for. UntilKnown is met as soon as every object's state could be read.
const (
	UntilKnown   Until = "known"
	UntilCurrent Until = "current"
	UntilDeleted Until = "deleted"
	UntilForever Until = "forever"
)

// ObserveOptions are the circumstances of Observe. The zero value looks once.
type ObserveOptions struct {
	Until   Until         // empty means UntilKnown
	Timeout time.Duration // 0 is for ever
}

// Observe judges objects: first all of them, in the order of refs and with the causes of what is not as it should be, then
// each that changes, with an Observed event for every new status. It ends when what is waited for holds, or cannot hold any more because all that is left has failed; when the
// time is up; or when the context ends. Met reports the first of these. Step counts the refs.
func (e *Engine) Observe(ctx context.Context, refs []object.Ref, o ObserveOptions, sink event.Sink) (met bool, err error) {
	targets := make([]cluster.Target, len(refs))
	for i, ref := range refs {
		targets[i].Ref = ref
	}
	live, err := e.Cluster.Read(ctx, targets)
	if err != nil {
		return false, fmt.Errorf("read the cluster: %w", err)
	}
	w := &observation{refs: refs, statuses: make([]ready.Status, len(refs)), unserved: live.Unserved, rules: e.Rules, until: o.Until, sink: sink}
	for i, ref := range refs {
		w.statuses[i] = e.Rules.Of(live.Objects[ref])
		if live.Unserved.Has(ref) {
			w.statuses[i] = ready.Status{State: ready.Unknown, Message: fmt.Sprintf("the cluster does not know the kind %s", ref.GroupKind())}
		}
	}
	causes := e.explainAll(ctx, w.troubled(live.Objects))
	for i, ref := range refs {
		sink(event.Event{Kind: event.Observed, Step: i, Ref: ref, Status: w.statuses[i], Causes: causes[ref]})
	}
	if met, over := w.over(); over {
		return met, nil
	}
	return w.follow(ctx, e.Cluster, o.Timeout)
}

// observation is what is known of the objects. It belongs to the goroutine of Observe.
type observation struct {
	refs     []object.Ref
	statuses []ready.Status
	unserved *object.Set
	rules    *ready.RuleSet
	until    Until
	sink     event.Sink
}

func (w *observation) see(i int, status ready.Status) {
	w.statuses[i] = status
	w.sink(event.Event{Kind: event.Observed, Step: i, Ref: w.refs[i], Status: status})
}

// troubled are the objects that exist and are not as they should be.
func (w *observation) troubled(live map[object.Ref]*unstructured.Unstructured) []*unstructured.Unstructured {
	var found []*unstructured.Unstructured
	for i, ref := range w.refs {
		if obj := live[ref]; obj != nil && w.statuses[i].State != ready.Current {
			found = append(found, obj)
		}
	}
	return found
}

// over reports whether there is nothing more to wait for, and whether what was waited for holds.
func (w *observation) over() (met, over bool) {
	states := map[ready.State]int{}
	for i, status := range w.statuses {
		if w.unserved.Has(w.refs[i]) {
			states["unserved"]++ // no watch will ever tell of it
		} else {
			states[status.State]++
		}
	}
	all := len(w.refs)
	switch w.until {
	case UntilForever:
		return false, all == 0
	case UntilCurrent:
		hopeless := states[ready.Failed] + states["unserved"]
		return states[ready.Current] == all, states[ready.Current]+hopeless == all
	case UntilDeleted:
		return states[ready.NotFound] == all, states[ready.NotFound]+states["unserved"] == all
	default:
		return states[ready.Unknown] == 0, states[ready.Unknown] == 0
	}
}

// seen is what a watch reports of one object.
type seen struct {
	step   int
	status ready.Status
}

// follow watches the objects, one watch for each kind and namespace, from the moment at which they were read.
func (w *observation) follow(ctx context.Context, c Cluster, timeout time.Duration) (bool, error) {
	watching, stop := context.WithCancel(ctx)
	defer stop()
	sightings := make(chan seen)
	w.watch(watching, c, sightings)
	var expired <-chan time.Time
	if timeout > 0 {
		timer := time.NewTimer(timeout)
		defer timer.Stop()
		expired = timer.C
	}
	for {
		select {
		case s := <-sightings:
			if w.statuses[s.step] != s.status {
				w.see(s.step, s.status)
			}
			if met, over := w.over(); over {
				return met, nil
			}
		case <-expired:
			return false, nil
		case <-ctx.Done():
			return false, context.Cause(ctx)
		}
	}
}

func (w *observation) watch(ctx context.Context, c Cluster, sightings chan<- seen) {
	steps := make(map[object.Ref]int, len(w.refs))
	groups := map[group][]object.Ref{}
	for i, ref := range w.refs {
		steps[ref] = i
		if !w.unserved.Has(ref) {
			groups[groupOf(ref)] = append(groups[groupOf(ref)], ref)
		}
	}
	for _, refs := range groups {
		c.Watch(ctx, refs, func(s cluster.Sighting) {
			if s.Err != nil {
				return // what was seen last still holds; the watch goes on trying
			}
			select {
			case sightings <- seen{step: steps[s.Ref], status: look(w.rules, s).status}:
			case <-ctx.Done():
			}
		})
	}
}
