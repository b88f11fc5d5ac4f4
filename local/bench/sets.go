package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"
)

// The steps of the scenario sets. All but the first two are latencies, one Set after the other. The
// last one takes turns with that of changed sources.
const (
	setsApplied   = "all applied"
	setsIdle      = "a minute of nothing"
	sourceChanged = "source changed"
	driftUndone   = "drift put back"
	driftReported = "drift reported"
	goodAfterBad  = "good after bad"
	besideStuck   = "source changed, one Set stuck"
)

var setSteps = []string{
	setsApplied, setsIdle, sourceChanged, driftUndone, driftReported, goodAfterBad,
}

// How many Sets are changed for some steps, how many are changed before and beside a stuck one by
// turns, and how long nothing is changed.
const (
	someSets = 100
	fewSets  = 30
	perTurn  = 25
	idleTime = time.Minute
)

// sets measures the controller with many Sets: what it needs while nothing changes, and how long it
// takes to notice what changes.
func sets(ctx context.Context, s *site) (results []*Result, err error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	g, err := s.raise(ctx, "plane")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, g.down(ctx)) }()
	f, err := newFleet(g, s.objects)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(f.install(ctx), f.prepare(ctx)); err != nil {
		return nil, err
	}
	if err := errors.Join(f.watchObjects(ctx), f.watchSets(ctx)); err != nil {
		return nil, err
	}
	c, err := s.startController(ctx, g)
	if err != nil {
		return nil, err
	}
	defer c.end()
	var set resultSet
	for _, step := range setSteps {
		result := set.of(s, controllerTool, "", step)
		fmt.Fprintf(os.Stderr, "bench: %s, %d objects, %s\n", s.name, s.objects, step)
		err := c.measure(ctx, result, func() error {
			if step == sourceChanged {
				return f.change(ctx, result, set.of(s, controllerTool, "", besideStuck))
			}
			return f.step(ctx, step, result)
		})
		if ctx.Err() != nil {
			return set.all, context.Cause(ctx)
		}
		if err != nil {
			result.Failed = err.Error()
			fmt.Fprintf(os.Stderr, "bench: %s: %v\n", step, err)
			break
		}
	}
	return set.all, nil
}

// step does a step.
func (f *fleet) step(ctx context.Context, step string, result *Result) error {
	corrects := func(m *member) bool { return !m.reports }
	switch step {
	case setsApplied:
		return f.apply(ctx)
	case setsIdle:
		return f.idle(ctx, result)
	case driftUndone:
		return f.one(ctx, result, someSets, corrects, f.disturb)
	case driftReported:
		return f.one(ctx, result, someSets, func(m *member) bool { return m.reports }, f.report)
	default:
		return f.one(ctx, result, fewSets, anyMember, f.replace)
	}
}

// anyMember returns true for every Set.
func anyMember(*member) bool { return true }

// apply creates all Sets, and waits until they are ready.
func (f *fleet) apply(ctx context.Context) error {
	if err := f.create(ctx); err != nil {
		return err
	}
	ready, since := 0, time.Now()
	return poll(ctx, func() (bool, error) {
		now, err := f.sets.count(setReady)
		if now > ready {
			ready, since = now, time.Now()
		}
		if err == nil && time.Since(since) > patience {
			err = fmt.Errorf("%d of %d Sets are ready, and no more", ready, len(f.members))
		}
		return ready == len(f.members), err
	})
}

// idle waits until the controller sends no more requests, and counts those of a time in which
// nothing changes.
func (f *fleet) idle(ctx context.Context, result *Result) error {
	quiet := func() (bool, error) { return notWatches(f.ground.counter.take()) == 0, nil }
	if err := pollEvery(ctx, 5*time.Second, quiet); err != nil {
		return err
	}
	select {
	case <-time.After(idleTime):
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	result.Traffic = f.ground.counter.take()
	return nil
}

// one calls for some of the Sets, one after the other, and takes the latencies.
func (f *fleet) one(
	ctx context.Context, result *Result, most int, which func(*member) bool,
	latency func(ctx context.Context, m *member) (time.Duration, error),
) error {
	for _, m := range f.members {
		if len(result.Latency) == most {
			break
		}
		if !which(m) {
			continue
		}
		took, err := latency(ctx, m)
		if err != nil {
			return err
		}
		result.Latency = append(result.Latency, milli(took))
	}
	return nil
}

// milli returns a duration in milliseconds.
func milli(d time.Duration) float64 {
	return float64(d.Microseconds()) / 1000
}

// change changes the sources of some Sets, and again while another Set is stuck, and so on, so that
// what the machine does besides falls on both alike.
func (f *fleet) change(ctx context.Context, alone, beside *Result) error {
	stuck, others := f.members[0], f.members[1:]
	for part := range slices.Chunk(others, perTurn) {
		if err := f.changeAll(ctx, part, alone); err != nil {
			return err
		}
		if err := f.spoil(ctx, stuck); err != nil {
			return err
		}
		if err := f.changeAll(ctx, part, beside); err != nil {
			return err
		}
		if _, err := f.reach(ctx, stuck, false); err != nil {
			return err
		}
		if err := f.sets.await(ctx, stuck.setKey(), setReady); err != nil {
			return err
		}
	}
	return nil
}

// changeAll changes the sources of Sets, and takes how long it takes until their objects change.
func (f *fleet) changeAll(ctx context.Context, part []*member, result *Result) error {
	for _, m := range part {
		took, err := f.reach(ctx, m, false)
		if err != nil {
			return err
		}
		result.Latency = append(result.Latency, milli(took))
	}
	return nil
}

// reach writes the next edition of a source, and returns how long it takes until its object has
// changed.
func (f *fleet) reach(ctx context.Context, m *member, bad bool) (time.Duration, error) {
	m.edition++
	want := m.value()
	wait := f.objects.expect(m.objectKey(), want, func(v string) bool { return v == want })
	begun := time.Now()
	if err := f.edit(ctx, m, bad); err != nil {
		return 0, err
	}
	at, err := wait(ctx)
	return at.Sub(begun), err
}

// drift is the value that somebody gives to an object.
const drift = "drifted"

// disturb changes an object of a Set, and returns how long it takes until it is put back.
func (f *fleet) disturb(ctx context.Context, m *member) (time.Duration, error) {
	if err := f.sets.await(ctx, m.setKey(), setReady); err != nil {
		return 0, err
	}
	drifted, want := false, m.value()
	undone := f.objects.expect(m.objectKey(), want, func(v string) bool {
		drifted = drifted || v == drift
		return drifted && v == want
	})
	begun := time.Now()
	if err := f.patch(ctx, m.namespace, m.watched(), map[string]string{"value": drift}); err != nil {
		return 0, err
	}
	at, err := undone(ctx)
	return at.Sub(begun), err
}

// report changes an object of a Set, and returns how long it takes until the status says which
// field was changed, and by whom. Then it changes the object back.
func (f *fleet) report(ctx context.Context, m *member) (time.Duration, error) {
	if err := f.sets.await(ctx, m.setKey(), setReady); err != nil {
		return 0, err
	}
	reported := f.sets.expect(m.setKey(), setDrifted, func(v string) bool { return v == setDrifted })
	begun := time.Now()
	err := f.patch(ctx, m.namespace, m.watched(), map[string]string{"value": drift})
	if err != nil {
		return 0, err
	}
	at, err := reported(ctx)
	if err != nil {
		return 0, err
	}
	err = f.patch(ctx, m.namespace, m.watched(), map[string]string{"value": m.value()})
	return at.Sub(begun), err
}

// spoil writes an edition of a source that never becomes ready, and waits until the Set reports it.
func (f *fleet) spoil(ctx context.Context, m *member) error {
	waits := f.sets.expect(m.setKey(), setWaits, func(v string) bool { return v == setWaits })
	if _, err := f.reach(ctx, m, true); err != nil {
		return err
	}
	_, err := waits(ctx)
	return err
}

// replace writes an edition of a source that never becomes ready and then a good one, and returns
// how long it takes until that is begun.
func (f *fleet) replace(ctx context.Context, m *member) (time.Duration, error) {
	if err := f.spoil(ctx, m); err != nil {
		return 0, err
	}
	took, err := f.reach(ctx, m, false)
	if err != nil {
		return 0, err
	}
	return took, f.sets.await(ctx, m.setKey(), setReady)
}
