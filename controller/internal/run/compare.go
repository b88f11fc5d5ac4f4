package run

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-deploy/muster"

	"github.com/muster-deploy/muster/controller/internal/clusters"
)

// Idle reports whether the run has written all that it could for now, and waits.
func (r *Run) Idle() bool {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.outcome == nil && r.progress.Idle
}

// Compare lets a run that waits compare what it has written with the cluster. If others have
// changed it, the run ends with the cause ErrOvertaken. It does not block.
func (r *Run) Compare() {
	r.mutex.Lock()
	r.asked = true
	r.mutex.Unlock()
	select {
	case r.compare <- struct{}{}:
	default: // it is about to
	}
}

// Compared reports whether nothing has to be compared after the run: it did what Compare asked for
// and, if it has written something, that was after the last write.
func (r *Run) Compared(wrote bool) bool {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return !r.asked && (r.compared || !wrote)
}

// writtenObjects are those that a run has written, or found as they should be.
type writtenObjects struct {
	mutex   sync.Mutex
	objects map[muster.Object]bool
}

// newWrittenObjects returns none.
func newWrittenObjects() *writtenObjects {
	return &writtenObjects{objects: map[muster.Object]bool{}}
}

// add notes the object of an event.
func (w *writtenObjects) add(e muster.Event) {
	if e.Type != muster.Written || e.Outcome != muster.Succeeded {
		return
	}
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.objects[e.Object] = true
}

// now returns the objects that there are now.
func (w *writtenObjects) now() map[muster.Object]bool {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return maps.Clone(w.objects)
}

// changes reports whether a plan creates or updates one of some objects.
func changes(p *muster.Plan, objects map[muster.Object]bool) bool {
	return slices.ContainsFunc(p.Steps, func(step muster.Step) bool {
		return (step.Action == muster.Create || step.Action == muster.Update) && objects[step.Object]
	})
}

// The pauses before a comparison is tried again that failed begin with compareFirst and double.
const (
	compareFirst = 5 * time.Second
	compareMost  = time.Minute
)

// compareOnRequest compares the objects that the run has written with the cluster whenever Compare
// asks for it, until stop is called. What cannot be compared until then is compared after the run.
func (j *job) compareOnRequest(
	ctx context.Context, as *clusters.Identity, written *writtenObjects,
) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() {
		for pause := compareFirst; ; {
			select {
			case <-ctx.Done():
				return
			case <-j.run.compare:
			}
			switch changed, err := j.compare(ctx, as, written); {
			case err == nil && changed:
				j.run.cancel(ErrOvertaken)
				return
			case err == nil:
				pause = compareFirst
			default:
				time.AfterFunc(pause, j.run.Compare)
				pause = min(2*pause, compareMost)
			}
		}
	})
	return func() {
		cancel()
		running.Wait()
	}
}

// compare reports whether others have changed objects that the run has written.
func (j *job) compare(
	ctx context.Context, as *clusters.Identity, written *writtenObjects,
) (changed bool, err error) {
	defer func() {
		if crash := recover(); crash != nil {
			err = fmt.Errorf("internal error: %v", crash)
		}
	}()
	load, err := j.weighNow()
	if err != nil {
		return false, err
	}
	defer load.Release()
	turn := j.newSlot()
	if err := turn.enter(ctx); err != nil {
		return false, err
	}
	defer turn.leave()
	defer time.AfterFunc(phaseTime, turn.leave).Stop()
	objects, writes := written.now(), j.run.beginCompare() // what is written later is no change
	set, err := j.reopen(ctx, as)
	if err != nil {
		return false, j.run.endCompare(writes, err)
	}
	p, err := set.Plan(ctx, planOptions(j.set))
	return err == nil && changes(p, objects), j.run.endCompare(writes, err)
}

// beginCompare notes that a comparison begins, and returns how many writes there were.
func (r *Run) beginCompare() (writes int) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.asked = false
	return r.progress.Written
}

// endCompare notes that a comparison has ended, and returns its error.
func (r *Run) endCompare(writes int, err error) error {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.asked = r.asked || err != nil
	r.compared = err == nil && writes == r.progress.Written
	return err
}

// Waited returns how long the run, and those that it continues, have waited without writing until
// a time.
func (r *Run) Waited(until time.Time) time.Duration {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.wrote.IsZero() {
		return r.waited
	}
	return r.waited + until.Sub(r.wrote)
}

// leastWait is how long a run waits for an object at least.
const leastWait = 30 * time.Second

// timeoutOf returns the timeout of a run by that of a Set, whose 0 is without limit.
func timeoutOf(spec *metav1.Duration) time.Duration {
	switch {
	case spec == nil:
		return 0
	case spec.Duration <= 0:
		return muster.NoLimit
	default:
		return spec.Duration
	}
}

// timeout returns how long the run waits for an object.
func (j *job) timeout() time.Duration {
	timeout := timeoutOf(j.set.Spec.Wait.Timeout)
	if timeout <= 0 || j.run.waited == 0 {
		return timeout
	}
	return max(timeout-j.run.waited, min(timeout, leastWait))
}
