package run

import (
	"context"
	"fmt"
	"sync"
	"time"

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
func (m *writtenObjects) add(e muster.Event) {
	if e.Type != muster.Written || e.Outcome != muster.Succeeded {
		return
	}
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.objects[e.Object] = true
}

// changed reports whether a plan creates or updates one of the objects.
func (m *writtenObjects) changed(p *muster.Plan) bool {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	for _, step := range p.Steps {
		if (step.Action == muster.Create || step.Action == muster.Update) && m.objects[step.Object] {
			return true
		}
	}
	return false
}

// compareOnRequest compares the objects that the run has written with the cluster whenever Compare
// asks for it, until stop is called. What cannot be compared then is compared after the run.
func (j *job) compareOnRequest(
	ctx context.Context, as *clusters.Identity, written *writtenObjects,
) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-j.run.compare:
			}
			changed, err := j.compare(ctx, as, written)
			if err == nil && changed {
				j.run.cancel(ErrOvertaken)
				return
			}
			j.run.mutex.Lock()
			j.run.asked, j.run.compared = err != nil, err == nil
			j.run.mutex.Unlock()
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
	leave, err := j.runner.Gate.Enter(ctx, j.set.Namespace)
	if err != nil {
		return false, err
	}
	defer leave()
	set, err := j.reopen(ctx, as)
	if err != nil {
		return false, err
	}
	p, err := set.Plan(ctx, planOptions(j.set))
	return err == nil && written.changed(p), err
}

// leastWait is how long a run waits for an object at least.
const leastWait = 30 * time.Second

// timeout returns how long the run waits for an object; 0 is without limit.
func (j *job) timeout() time.Duration {
	timeout := durationOf(j.set.Spec.Wait.Timeout)
	if timeout == 0 || j.run.waited == 0 {
		return timeout
	}
	return max(timeout-j.run.waited, min(timeout, leastWait))
}
