package managed

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/object"
)

// Watcher is a cluster whose objects can be watched.
type Watcher interface {
	Watch(ctx context.Context, refs []object.Ref, handle func(cluster.ObjectEvent))
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

// Wait watches a Set until a run that was asked for with a value has ended or the context ends, and
// returns what it has seen last. Gone is a Set that does not exist any more, or that is another one
// with its name.
func Wait(
	ctx context.Context, c Watcher, s *Set, value string,
) (last *Set, outcome Outcome, gone bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	seen := make(chan cluster.ObjectEvent)
	ref := object.Ref{Group: Kind.Group, Kind: Kind.Kind, Namespace: s.Namespace, Name: s.Name}
	c.Watch(ctx, []object.Ref{ref}, func(e cluster.ObjectEvent) {
		select {
		case seen <- e:
		case <-ctx.Done():
		}
	})
	last = s
	for {
		select {
		case <-ctx.Done():
			return last, Pending, false, context.Cause(ctx)
		case e := <-seen:
			switch {
			case e.Err != nil || e.Listed:
				continue // the watch retries
			case e.Object == nil || e.Object.GetUID() != s.UID:
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
		}
	}
}
