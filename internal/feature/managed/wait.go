package managed

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/object"
)

// Watcher is a cluster whose objects can be watched.
type Watcher interface {
	Watch(ctx context.Context, refs []object.Ref, handle func(cluster.ObjectEvent))
	WatchQuery(ctx context.Context, q cluster.Query, handle func(cluster.ObjectEvent))
}

// Outcome is how a run ended that was asked for.
type Outcome int

// The outcomes.
const (
	Pending Outcome = iota // it has not ended
	Succeeded
	Stopped // nothing more happens without a change of the source or the Set
	Waiting // its plan waits for an approval
	Held    // its plan waits for a window
	Idle    // the Set is suspended
)

// Outcome returns how the run ended that was asked for with a value, or with a later one.
func (s *Set) Outcome(value string) Outcome {
	handled := s.Status.LastHandledReconcileAt
	if s.Spec.Suspend {
		return Idle
	}
	if !s.Observed() || handled != value && (s.Requested == value || handled != s.Requested) {
		return Pending
	}
	switch {
	case s.isTrue(ready):
		return Succeeded
	case s.isTrue(stalled):
		return Stopped
	case s.Waits():
		return Waiting
	case s.held():
		return Held
	}
	return Pending
}

func (s *Set) isTrue(condition string) bool {
	c := s.condition(condition)
	return c != nil && c.Status == metav1.ConditionTrue
}

// Happening is an Event about a Set.
type Happening struct {
	Type    string `json:"eventType"` // Normal or Warning
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// Watch is a watch of a Set and of the Events about it.
type Watch struct {
	set    *Set
	client Watcher
	events chan *unstructured.Unstructured // those that come after NewWatch
}

// NewWatch begins to watch the Events about a Set, and returns when those are known that there were
// before. Unseen says why they cannot be watched; it is nil if they can. The watch ends with the
// context.
func NewWatch(ctx context.Context, c Watcher, s *Set) (w *Watch, unseen error) {
	w = &Watch{set: s, client: c, events: make(chan *unstructured.Unstructured)}
	listed, versions, begun := make(chan error, 1), map[object.Ref]string{}, false
	query := cluster.Query{
		Kind: schema.GroupKind{Kind: "Event"}, Namespace: s.Namespace,
		Fields: "involvedObject.uid=" + string(s.UID),
	}
	c.WatchQuery(ctx, query, func(e cluster.ObjectEvent) {
		switch {
		case e.Listed:
			begun = true
			listed <- e.Err
		case e.Object == nil:
			delete(versions, e.Ref)
		case versions[e.Ref] == e.Object.GetResourceVersion(): // the watch has begun again
		default:
			versions[e.Ref] = e.Object.GetResourceVersion()
			if begun {
				select {
				case w.events <- e.Object:
				case <-ctx.Done():
				}
			}
		}
	})
	select {
	case unseen = <-listed:
	case <-ctx.Done():
	}
	return w, unseen
}

// Seen receives what a watch sees. Both are called by the goroutine that waits.
type Seen struct {
	Set   func(*Set) // another state of the Set, before the awaited run has ended
	Event func(Happening)
}

// Wait waits until a run that was asked for with a value has ended or the context ends, and returns
// the state of the Set then. Gone is a Set that does not exist any more, or that is another one
// with its name.
func (w *Watch) Wait(
	ctx context.Context, value string, seen Seen,
) (last *Set, outcome Outcome, gone bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	changes := make(chan cluster.ObjectEvent)
	ref := object.Ref{
		Group: Kind.Group, Kind: Kind.Kind, Namespace: w.set.Namespace, Name: w.set.Name,
	}
	w.client.Watch(ctx, []object.Ref{ref}, func(e cluster.ObjectEvent) {
		select {
		case changes <- e:
		case <-ctx.Done():
		}
	})
	last = w.set
	for {
		select {
		case <-ctx.Done():
			return last, Pending, false, context.Cause(ctx)
		case e := <-w.events:
			seen.Event(newHappening(e))
		case e := <-changes:
			switch {
			case e.Err != nil || e.Listed:
				continue // the watch retries
			case e.Object == nil || e.Object.GetUID() != w.set.UID:
				return last, Pending, true, nil
			}
			now, err := decode(e.Object)
			if err != nil {
				return last, Pending, false, err
			}
			last = &now
			if outcome := last.Outcome(value); outcome != Pending {
				return last, outcome, false, nil
			}
			seen.Set(last)
		}
	}
}

// newHappening returns what an Event reports.
func newHappening(e *unstructured.Unstructured) (h Happening) {
	h.Type, _, _ = unstructured.NestedString(e.Object, "type")
	h.Reason, _, _ = unstructured.NestedString(e.Object, "reason")
	h.Message, _, _ = unstructured.NestedString(e.Object, "message")
	return h
}
