package engine

import (
	"context"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/muster-deploy/muster/internal/base/crash"
	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/ready"
)

// A diagnosis is for people: soon, but not for objects that become ready at once, and not for every
// single change.
const (
	diagnoseAfter  = 750 * time.Millisecond  // without a change of the object
	diagnoseLatest = 2500 * time.Millisecond // with changes
	diagnosePause  = 300 * time.Millisecond  // in which changes of related objects are collected
	settleQuiet    = 50 * time.Millisecond   // without events, after which none is expected
	explainTimeout = 10 * time.Second        // for the diagnosis after a run
	maxLogs        = 20                      // objects whose logs a run reads
	concurrentLogs = 4
)

// diagnosis is the state of the search for causes.
type diagnosis struct {
	at    time.Time // of the next diagnosis; zero if none is due
	begun bool      // objects are watched for causes
	logs  logReader
}

// scheduleDiagnosis schedules the next diagnosis: soon if related objects are watched already.
func (r *run) scheduleDiagnosis() {
	pause := diagnoseAfter
	if r.diagnosis.begun {
		pause = diagnosePause
	}
	r.scheduleDiagnosisAfter(pause)
}

func (r *run) scheduleDiagnosisAfter(pause time.Duration) {
	if r.options.NoCauses {
		return
	}
	if at := time.Now().Add(pause); r.diagnosis.at.IsZero() || at.Before(r.diagnosis.at) {
		r.diagnosis.at = at
	}
}

// diagnose emits new causes of objects that make no progress. A pod that is starting is no cause.
func (r *run) diagnose(ctx context.Context, now time.Time) {
	d := &r.diagnosis
	d.at = time.Time{}
	d.begun = r.watchRelated(ctx, r.lingers(now)) || d.begun
	if r.related.listing > 0 {
		return // the end of the last list schedules the next diagnosis
	}
	r.withEvidence(r.lingers(now), func(i int) {
		t := &r.tracks[i]
		causes := r.causes(t, now)
		r.countReports(i, causes, now)
		switch {
		case addNew(&t.causes, causes):
			r.noteReasons(t, causes, now)
			if !d.logs.readLater(ctx, i, causes) {
				r.emitCauses(i, causes)
			}
		case r.isStuck(i, causes, now): // the cause is known, and has stood for long enough now
			r.settle(i, event.Failed, nil)
		}
	})
}

// lingers returns the condition for objects that are diagnosed: all that Observe watches, or those
// that their controller has seen and that make no progress.
func (r *run) lingers(now time.Time) func(*track) bool {
	return func(t *track) bool {
		if !t.waiting || r.observing != nil {
			return t.waiting
		}
		return !r.isUnreported(t) && t.seen.evidence.Observed() &&
			(t.seen.evidence.DeletesPods() || r.diagnosis.due(t.lingersAt(), now))
	}
}

// causesOf returns the causes of an object with some evidence, by the clock of this machine. Events
// about the object itself must not be older than a time.
func (r *run) causesOf(e *ready.Evidence, changed time.Time) []ready.Cause {
	ahead := r.engine.Cluster.ClockAhead()
	causes := r.related.evidence.Causes(e, changed, time.Now().Add(ahead))
	for i := range causes {
		if c := &causes[i]; !c.Until.IsZero() {
			c.Until = c.Until.Add(-ahead)
		}
	}
	return causes
}

// causes returns the causes of an object. During a run that writes, those that are older than the
// write do not count for a while, nor does a pod that is starting. Causes that are often transient
// count once they have lasted.
func (r *run) causes(t *track, now time.Time) []ready.Cause {
	causes := r.causesOf(t.seen.evidence, t.written)
	for _, c := range causes {
		if !c.Until.IsZero() {
			r.diagnosis.due(c.Until, now)
		}
	}
	if r.observing != nil {
		return causes
	}
	t.keepDoubts(causes, now)
	return slices.DeleteFunc(causes, func(c ready.Cause) bool {
		return c.Idle || t.predatesWrite(c.Since) && !r.diagnosis.due(t.began.Add(stalePeriod), now) ||
			c.Delay > 0 && !r.diagnosis.due(t.doubted(c).Add(c.Delay), now)
	})
}

// due reports whether a time has come. If not, the next diagnosis is not later than that time.
func (d *diagnosis) due(at, now time.Time) bool {
	if at.After(now) && (d.at.IsZero() || at.Before(d.at)) {
		d.at = at
	}
	return !at.After(now)
}

// lingersAt returns the time from which an object is taken to make no progress. One that is being
// deleted has that long in any case: what it waits for is a lot to read, and mostly gone by then.
func (t *track) lingersAt() time.Time {
	quiet, latest := t.changed.Add(diagnoseAfter), t.since.Add(diagnoseLatest)
	if latest.Before(quiet) || t.seen.evidence.Leaving() {
		return latest
	}
	return quiet
}

// withEvidence calls f for every step whose object is known not to be ready and that is wanted.
func (r *run) withEvidence(wanted func(*track) bool, f func(i int)) {
	for i := range r.tracks {
		if t := &r.tracks[i]; t.seen.evidence != nil && wanted(t) {
			f(i)
		}
	}
}

// addNew adds causes to those that are known, and reports whether one of them is new.
func addNew(known *[]ready.Cause, causes []ready.Cause) bool {
	found := false
	for _, c := range causes {
		if !slices.ContainsFunc(*known, c.Same) {
			found = true
			*known = append(*known, c)
		}
	}
	return found
}

// keepLogs keeps the logs that were read for causes of a step, and quotes them in causes whose logs
// were not read: a container that is starting again, or is gone, has none.
func (t *track) keepLogs(causes []ready.Cause) {
	for n := range causes {
		c := &causes[n]
		known := slices.IndexFunc(t.causes, func(k ready.Cause) bool {
			return c.Same(k) && c.Container == k.Container
		})
		switch {
		case known < 0 || c.Container == "":
		case len(c.Log) > 0:
			t.causes[known].Log = c.Log
		default:
			c.Log = t.causes[known].Log
		}
	}
}

// emitCauses emits the causes of a step, and fails it if it is stuck.
func (r *run) emitCauses(i int, causes []ready.Cause) {
	r.tracks[i].keepLogs(causes)
	e := event.Event{Kind: event.Explained, Step: i, Op: r.plan.Steps[i].Op, Causes: causes}
	if r.observing != nil {
		e.Status = r.tracks[i].seen.verdict.Status
	}
	r.emit(e)
	if r.isStuck(i, causes, time.Now()) {
		r.tracks[i].explained = true
		r.settle(i, event.Failed, nil)
	}
}

// masked returns causes without the values of the Secrets of the set. Programs write them into logs
// and into the messages with which they end.
func (r *run) masked(causes []ready.Cause) []ready.Cause {
	if len(causes) == 0 {
		return nil
	}
	causes = slices.Clone(causes)
	for i := range causes {
		c := &causes[i]
		c.Message, c.Log = r.secretTexts().Replace(c.Message), slices.Clone(c.Log)
		for j, line := range c.Log {
			c.Log[j] = r.secretTexts().Replace(line)
		}
	}
	return causes
}

// isStuck reports whether a step fails because of a cause: the run is to stop at such causes, and
// the cause has stood for its patience.
func (r *run) isStuck(i int, causes []ready.Cause, now time.Time) bool {
	t := &r.tracks[i]
	if !r.options.StopOn.Stuck || !t.waiting || r.plan.Steps[i].Op.AwaitsDeletion() {
		return false
	}
	found, stuck := false, false
	for _, c := range causes {
		if c.Stuck && !r.mayProvide(c.Missing) {
			if t.stuck.IsZero() {
				t.stuck = now
			}
			found, stuck = true, stuck || r.diagnosis.due(t.stuck.Add(c.Patience), now)
		}
	}
	if !found {
		t.stuck = time.Time{}
	}
	return stuck
}

// explainFailures emits, after the loop, why objects did not become ready, or gone. An interrupted
// run has no time for that. One whose time is over has: its context has ended, but people and
// reports need the causes.
func (r *run) explainFailures(ctx, watching context.Context) {
	failed := func(t *track) bool {
		return t.acted == event.Succeeded && t.settled.IsFailure() && !t.explained
	}
	if r.summary.Interrupted || r.options.NoCauses {
		return
	}
	r.related.once = !r.diagnosis.begun
	if !r.watchRelated(watching, failed) {
		return
	}
	if r.outOfTime {
		ctx = context.WithoutCancel(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, explainTimeout)
	defer cancel()
	r.related.handleAll(ctx, settleQuiet)

	var steps []int
	var causes [][]ready.Cause
	r.withEvidence(failed, func(i int) {
		found := r.causesOf(r.tracks[i].seen.evidence, r.tracks[i].written)
		if len(found) > 0 {
			steps, causes = append(steps, i), append(causes, found)
		}
	})
	r.diagnosis.logs.quoted = 0
	r.diagnosis.logs.read(ctx, causes)
	for n, i := range steps {
		r.emitCauses(i, causes[n])
	}
}

// logReader reads the logs of failed containers. It belongs to one goroutine, which receives
// quotes.
type logReader struct {
	cluster cluster.Writer
	lines   int // lines quoted from a log; 0 quotes nothing
	quoted  int // objects whose logs were read
	quotes  chan logQuote
}

// logQuote is the causes of a step with the logs that belong to them.
type logQuote struct {
	step   int
	causes []ready.Cause
}

// readLater starts a worker that reads the logs for the causes of a step and sends them as a quote.
// It reports false if there are no logs to read, or too many were read.
func (l *logReader) readLater(ctx context.Context, step int, causes []ready.Cause) bool {
	if !l.wants(causes) {
		return false
	}
	// It sends its one quote, or ends with the context.
	go func() {
		defer crash.Catch(ctx)
		l.add(ctx, causes)
		select {
		case l.quotes <- logQuote{step, causes}:
		case <-ctx.Done():
		}
	}()
	return true
}

// read adds logs to the causes of many objects. It returns when all are read or the context ends.
func (l *logReader) read(ctx context.Context, all [][]ready.Cause) {
	var logs errgroup.Group
	logs.SetLimit(concurrentLogs)
	for _, causes := range all {
		if l.wants(causes) {
			logs.Go(func() error {
				defer crash.Catch(ctx)
				l.add(ctx, causes)
				return nil
			})
		}
	}
	_ = logs.Wait() // the functions return no error
}

// wants reports whether logs are to be read for causes, and counts them.
func (l *logReader) wants(causes []ready.Cause) bool {
	crashed := func(c ready.Cause) bool { return c.Container != "" }
	if l.lines <= 0 || l.quoted >= maxLogs || !slices.ContainsFunc(causes, crashed) {
		return false
	}
	l.quoted++
	return true
}

// add adds the ends of the logs of failed containers to causes.
func (l *logReader) add(ctx context.Context, causes []ready.Cause) {
	ctx, cancel := context.WithTimeout(ctx, explainTimeout)
	defer cancel()
	for i, c := range causes {
		if c.Container != "" && !c.Gone {
			log := l.cluster.Log(ctx, c.Object, c.Container, c.Previous, max(l.lines, traceLines))
			causes[i].Log = excerpt(log, l.lines)
		}
	}
}
