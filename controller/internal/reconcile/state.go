package reconcile

import (
	"math/rand/v2"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-deploy/muster/controller/api/v1alpha1"
	"github.com/muster-deploy/muster/controller/internal/run"
)

// The defaults of what a Set leaves out.
const (
	defaultInterval = time.Hour
	defaultFirst    = 5 * time.Second
	defaultMax      = 10 * time.Minute
	defaultPoll     = time.Minute
)

// The pauses between corrections of one Set begin with correctFirst and double as long as each
// finds something to correct: somebody else writes the same fields again and again. After
// correctCalm without a correction they are short again.
const (
	correctFirst = time.Second
	correctCalm  = 10 * time.Minute
)

// The pauses between comparisons that find nothing double up to idleMost: somebody writes the same
// fields again and again, of which the Set says nothing. A write of other fields, or by somebody
// else, is looked at at once, and so is the first one after idleMost without any.
const idleMost = time.Minute

// state is what the controller remembers of a Set. A controller that was started again begins
// without, and looks at every Set once.
type state struct {
	uid  types.UID    // of the Set
	run  *run.Run     // that was started last; nil for none
	last *run.Outcome // of the last run that was not superseded
	key  string       // of that run

	silent   bool          // the status does not announce the run, unless it changes something
	stale    bool          // the source has another revision than the one that is applied
	held     bool          // what the last run would have applied waits for a window
	dirty    bool          // an object was changed since the run began, or was not watched
	notUntil time.Time     // no run of a dirty Set begins earlier
	fights   int           // corrections in a row
	fought   time.Time     // when the last one was
	waited   time.Duration // by runs that were overtaken

	waitedKey string    // of these
	idle      int       // comparisons in a row that found nothing
	touched   time.Time // when an object was changed last
	failures  int32     // runs in a row that failed
	retryAt   time.Time // when a run that failed is repeated

	poll poll // of a registry
}

// states holds the states by Set.
type states struct {
	mutex sync.Mutex
	bySet map[types.NamespacedName]*state
}

// of returns the state of a Set. It belongs to the one worker that reconciles the Set, except for
// what the methods of states change.
func (s *states) of(name types.NamespacedName) *state {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.bySet == nil {
		s.bySet = map[types.NamespacedName]*state{}
	}
	if s.bySet[name] == nil {
		s.bySet[name] = &state{}
	}
	return s.bySet[name]
}

// forget removes the state of a Set, and returns it; nil if there was none.
func (s *states) forget(name types.NamespacedName) *state {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	known := s.bySet[name]
	delete(s.bySet, name)
	return known
}

// running reports whether a run is under way.
func (s *state) running() bool { return s.run != nil && s.run.Outcome() == nil }

// intervalOf returns the time between two comparisons of a Set; 0 is never.
func intervalOf(set *v1alpha1.Set) time.Duration {
	if set.Spec.Interval == nil {
		return defaultInterval
	}
	return set.Spec.Interval.Duration
}

// jittered returns a duration that is up to a tenth longer if it is a minute or more, so that Sets
// that were created together are not compared together.
func jittered(d time.Duration) time.Duration {
	if d < time.Minute {
		return d
	}
	return d + rand.N(d/10)
}

// backoff returns the pause before a run is repeated that has failed a number of times.
func backoff(set *v1alpha1.Set, failures int32) time.Duration {
	first, most := defaultFirst, defaultMax
	if d := set.Spec.Retry.First; d != nil && d.Duration > 0 {
		first = d.Duration
	}
	if d := set.Spec.Retry.Max; d != nil && d.Duration > 0 {
		most = d.Duration
	}
	return doubled(first, most, int(failures)-1)
}

// doubled returns a duration doubled a number of times, up to a limit.
func doubled(d, most time.Duration, times int) time.Duration {
	for ; times > 0 && d < most; times-- {
		d *= 2
	}
	return min(d, most)
}
