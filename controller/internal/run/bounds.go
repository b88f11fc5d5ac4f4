package run

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"sync"
	"time"

	"github.com/muster-deploy/muster/controller/internal/gate"
	"github.com/muster-deploy/muster/controller/internal/source"
)

// ErrTooLong is the cause of the end of a run that has spent too long in one phase.
var ErrTooLong = fmt.Errorf("the run has read and planned for more than %s", phaseTime)

// errBusy reports that there is no memory for a comparison at the moment.
var errBusy = errors.New("other runs have the memory that a comparison takes")

// How much memory a run counts for. Objects take many times the bytes of their manifests while they
// are read and compared, and fewer once the run only waits.
const (
	workFactor  = 20
	waitFactor  = 4
	leastBytes  = 1 << 20
	smallSource = 4 << 20  // ConfigMaps, Secrets, and manifests in the Set
	largeSource = 50 << 20 // what is fetched, as its limit is
	pinnedBytes = 64 << 20 // of a revision, whose size is not known before it is read
)

// slot is the turn of a run, which has it or has left it.
type slot struct {
	job *job

	mutex  sync.Mutex
	held   func()      // leaves the gate; nil if it was left
	late   *time.Timer // leaves it; nil for never
	closed bool        // the run was abandoned
}

// newSlot returns a slot that was not entered yet.
func (j *job) newSlot() *slot {
	s := &slot{job: j}
	j.run.mutex.Lock()
	defer j.run.mutex.Unlock()
	j.run.slots = append(j.run.slots, s)
	return s
}

// enter waits for a turn, unless the slot has it. A Set in another cluster, which may not answer
// for long, loses it after a while.
func (s *slot) enter(ctx context.Context) error {
	s.mutex.Lock()
	has := s.held != nil
	s.mutex.Unlock()
	if has {
		return nil
	}
	leave, err := s.job.runner.Gate.Enter(ctx, s.job.set.Namespace)
	if err != nil {
		return err
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.closed {
		leave()
		return ErrTooLong
	}
	s.held = leave
	if s.job.set.Spec.Cluster != nil {
		s.late = time.AfterFunc(s.job.runner.quiet(), leave)
	}
	return nil
}

// leave ends the turn. It may be called again.
func (s *slot) leave() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.held != nil {
		s.held()
		s.held = nil
	}
	if s.late != nil {
		s.late.Stop()
	}
}

// close ends the turn, and prevents another one.
func (s *slot) close() {
	s.mutex.Lock()
	s.closed = true
	s.mutex.Unlock()
	s.leave()
}

// fetch fetches the source. While that is slow, the run has no turn, but the memory that it takes.
// Afterwards it has a turn again, and the memory for the objects.
func (j *job) fetch(ctx context.Context) (*source.Fetched, error) {
	bytes := int64(smallSource)
	if from := j.set.Spec.Source; from.OCI != nil || from.Artifact != nil {
		bytes = largeSource
	}
	if err := j.weigh(ctx, bytes); err != nil {
		return nil, err
	}
	slow := time.AfterFunc(j.runner.quiet(), j.slot.leave)
	fetched, err := j.runner.Sources.Fetch(ctx, j.set)
	slow.Stop()
	if err != nil {
		return nil, err
	}
	if j.size, err = sizeOf(fetched.Folder); err == nil {
		j.unload()
		err = j.weigh(ctx, workFactor*j.size)
	}
	if err != nil {
		fetched.Release()
		return nil, err
	}
	return fetched, nil
}

// weigh takes memory for a number of bytes, and makes sure that the run has a turn. It has none
// while it waits, so that nobody waits for memory who keeps others from working. A Set whose run
// was under way at a crash works alone.
func (j *job) weigh(ctx context.Context, bytes int64) (err error) {
	if limit := j.runner.Bytes; limit != nil {
		bytes = max(bytes, leastBytes)
		if j.set.Status.Crashes.Count > 0 {
			bytes = limit.Total()
		}
		if j.load = limit.Try(j.set.Namespace, bytes); j.load == nil {
			j.slot.leave()
			if j.load, err = limit.Acquire(ctx, j.set.Namespace, bytes); err != nil {
				return err
			}
		}
	}
	return j.slot.enter(ctx)
}

// weighNow takes the memory for a comparison while the run waits, and fails if there is none.
func (j *job) weighNow() (*gate.Load, error) {
	limit := j.runner.Bytes
	if limit == nil {
		return nil, nil
	}
	load := limit.Try(j.set.Namespace, max(workFactor*j.size, leastBytes))
	if load == nil {
		return nil, errBusy
	}
	return load, nil
}

// lighten keeps the memory of a run that only waits.
func (j *job) lighten() { j.load.Shrink(max(waitFactor*j.size, leastBytes)) }

// unload frees the memory of the run.
func (j *job) unload() { j.load.Release() }

// sizeOf returns the bytes of the files in a folder.
func sizeOf(dir string) (bytes int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			bytes += info.Size()
		}
		return err
	})
	return bytes, err
}
