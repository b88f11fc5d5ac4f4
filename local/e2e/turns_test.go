package e2e

import (
	"cmp"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// turns lets some scripts and generated tests run at once, those first that take longest: one that
// is slow and starts last has the others wait for it.
var turns turnQueue

// turnQueue hands out turns. Who waits for one is sorted, the next first.
type turnQueue struct {
	mu      sync.Mutex
	free    int
	waiting []turn
	slow    map[string]time.Duration // how long some take, about
}

// turn is a test that waits until it may start.
type turn struct {
	takes time.Duration
	start chan struct{}
}

// take returns when it is the turn of a test, whose name is DIR/SCRIPT or that of a Go test. The
// test calls done at its end.
func (q *turnQueue) take(name string) (done func()) {
	q.mu.Lock()
	t := turn{q.slow[name], make(chan struct{})}
	at, _ := slices.BinarySearchFunc(q.waiting, t, func(other, t turn) int {
		return cmp.Or(-cmp.Compare(other.takes, t.takes), -1) // after its equals
	})
	q.waiting = slices.Insert(q.waiting, at, t)
	q.startNext()
	q.mu.Unlock()
	<-t.start
	return func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.free++
		q.startNext()
	}
}

// startNext starts as many of those that wait as may run.
func (q *turnQueue) startNext() {
	for q.free > 0 && len(q.waiting) > 0 {
		q.free--
		close(q.waiting[0].start)
		q.waiting = q.waiting[1:]
	}
}

// readSlow reads how long the slowest scripts take: lines of a name and seconds, as a run prints
// them.
func (q *turnQueue) readSlow(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	q.slow = map[string]time.Duration{}
	for line := range strings.Lines(string(text)) {
		seconds, name, _ := strings.Cut(strings.TrimSpace(line), "s  ")
		took, err := strconv.ParseFloat(seconds, 64)
		if err != nil {
			return err
		}
		q.slow[name] = time.Duration(took * float64(time.Second))
	}
	return nil
}

// inTurn has a test that is no script run beside others, when it is its turn.
func inTurn(t *testing.T) {
	t.Helper()
	t.Parallel()
	t.Cleanup(turns.take(t.Name()))
}

// Those that take longest start first, others in the order in which they came.
func TestTurns(t *testing.T) {
	q := turnQueue{slow: map[string]time.Duration{"a": time.Second, "b": time.Minute}}
	var order []string
	var all sync.WaitGroup
	for i, name := range []string{"x", "a", "y", "b"} {
		all.Go(func() {
			done := q.take(name)
			order = append(order, name) // one at a time
			done()
		})
		for { // until it waits
			q.mu.Lock()
			waiting := len(q.waiting)
			q.mu.Unlock()
			if waiting > i {
				break
			}
		}
	}
	q.mu.Lock()
	q.free = 1
	q.startNext()
	q.mu.Unlock()
	all.Wait()
	if !slices.Equal(order, []string{"b", "a", "x", "y"}) {
		t.Errorf("started in the order %q", order)
	}
}
