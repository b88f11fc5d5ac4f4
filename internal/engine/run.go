package engine

import (
	"context"
	"iter"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/ready"
)

// track is what a run knows of one step. It belongs to the goroutine of the loop.
type track struct {
	acted   event.Outcome // empty until the write is over
	settled event.Outcome // empty until the end
	ran     bool          // its turn came; else it was blocked or cut short
	stored  bool          // it failed, but a part of it was carried out
	gone    bool          // its deletion is not waited for, but the object is gone
	err     error

	waiting   bool      // written, not yet settled
	announced bool      // the Waiting event was emitted
	shown     shown     // what the last event said of it
	missed    int       // how often in a row it was not found by a look without a version
	failing   bool      // its status is Failed; it may still recover while others are waited for
	written   time.Time // when this run changed the object, by the clock of the server; zero if it did not
	created   bool      // this run made the object
	rests     time.Time // until then what is seen of the object is not believed; zero if it was never doubted

	since   time.Time // when waiting began, or the object was last seen as its controller did not know it
	changed time.Time // when something was seen of the object last

	began     time.Time     // when it was written
	stuck     time.Time     // since when there is a cause that will hardly pass; zero if there is none
	causes    []ready.Cause // that were emitted
	explained bool          // no more causes are emitted

	tried   time.Time  // when its turn came
	pause   pause      // why it is not being written although its turn came; empty if it is
	next    *plan.Step // what of it is carried out next; nil is the step itself
	queried bool       // its child objects are watched

	base observation // the object as our write left it, or as it was when its deletion was asked for
	seen observation // the latest that was seen of the object
}

// message is what workers and watches tell the loop.
type message struct {
	step int
	done *result // the write is over
	seen observation
}

// run carries out one plan. All fields belong to the goroutine of loop, others reach it through
// messages alone; but what never changes, which is engine, plan, options and index, workers read as
// well.
type run struct {
	engine   *Engine
	plan     *plan.Plan
	options  Options
	sink     event.Sink
	summary  event.Summary
	schedule *schedule
	tracks   []track
	early    map[int]*result // steps done before the record was saved
	groupOf  func(object.Ref) group
	groups   map[group][]int // the steps of each
	watched  map[group]bool
	shared   map[group]labels.Set // what all that is made for their objects has in common, once that was needed
	index    plan.Index
	sources  map[object.Ref]bool // objects that others take values from
	messages chan message

	inFlight int // writes under way
	writes   writeLimit
	pausing  int // paused steps
	waiting  int // steps written but not settled
	failing  int // of these, how many have failed
	alarms   alarms
	latest   time.Time // the latest deadline by the time of the run
	outage   string    // why the cluster cannot be seen; empty if it can
	due      []int     // resumed steps that wait for a slot, and some that have ended since
	active   time.Time // when a write was over or a step settled last
	ended    bool      // it failed fast: nothing new is started or waited for
	endedBy  int       // because of this step

	interrupted bool // by the context: as above

	diagnosis    diagnosis
	observing    *observing // nil for runs that apply a plan
	childTracker *childTracker
}

// objectsOf returns the objects of all steps that have one.
func objectsOf(p *plan.Plan) iter.Seq[object.Ref] {
	return func(yield func(object.Ref) bool) {
		for _, step := range p.Steps {
			if step.Op.IsObject() && !yield(step.Ref) {
				return
			}
		}
	}
}

func newRun(e *Engine, p *plan.Plan, o Options, sink event.Sink) *run {
	r := &run{
		engine:   e,
		plan:     p,
		options:  o,
		sink:     sink,
		schedule: newSchedule(p.Steps),
		tracks:   make([]track, len(p.Steps)),
		early:    map[int]*result{},
		groups:   map[group][]int{},
		watched:  map[group]bool{},
		shared:   map[group]labels.Set{},
		index:    p.Index(),
		sources:  sources(p),
		messages: make(chan message),
		writes: writeLimit{
			fixed:     o.Concurrency > 0,
			limit:     o.Concurrency,
			throttled: e.Cluster.Throttled(),
		},
	}
	if !r.writes.fixed {
		r.writes.limit = DefaultConcurrency
	}
	r.diagnosis.related = newRelatedWatcher(e.Cluster, o.LogLines)
	r.childTracker = newChildTracker(e.Cluster)
	r.groupOf = grouped(objectsOf(p))
	for i, step := range p.Steps {
		if step.Op.IsObject() {
			g := r.groupOf(step.Ref)
			r.groups[g] = append(r.groups[g], i)
		}
	}
	return r
}

// loop starts steps as their edges allow, and settles them on the reports of workers and watches,
// until all have settled. Watches end with the context watching.
func (r *run) loop(ctx, watching context.Context) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()

	r.finishBeforeRecord(watching)
	interrupts := ctx.Done()
	for {
		if ctx.Err() != nil && !r.interrupted {
			interrupts, r.interrupted = nil, true
			r.stop()
		}
		if !r.interrupted && !r.ended {
			r.start(watching)
		}
		if r.schedule.done() && r.inFlight == 0 {
			return
		}
		if r.hopeless() {
			r.giveUp()
			continue
		}
		r.arm(timer)
		select {
		case m := <-r.messages:
			r.handle(watching, m)
		case e := <-r.diagnosis.related.events:
			r.diagnosis.related.take(e)
			r.scheduleDiagnosis()
		case q := <-r.diagnosis.related.quotes:
			if r.tracks[q.step].waiting {
				r.emitCauses(q.step, q.causes)
			}
		case n := <-r.childTracker.news:
			for _, i := range r.childTracker.take(n) {
				if r.tracks[i].waiting {
					r.judge(watching, i)
				}
			}
		case <-timer.C:
			r.expire(watching, time.Now())
		case <-interrupts:
		}
	}
}

// start hands out steps while there are free slots. A slot is held while writing, never while
// waiting.
func (r *run) start(ctx context.Context) {
	for {
		if b, ok := r.schedule.blocked(); ok {
			r.skip(b)
			continue
		}
		if r.inFlight >= r.writes.limit {
			return
		}
		i, ok := r.takeDue()
		if !ok {
			i, ok = r.schedule.next()
		}
		if !ok {
			return
		}
		r.begin(ctx, i)
	}
}

// begin does what a step needs done now, or has a worker do it.
func (r *run) begin(ctx context.Context, i int) {
	step, t := &r.plan.Steps[i], &r.tracks[i]
	if t.next != nil {
		step = t.next
	}
	if t.tried.IsZero() {
		t.tried = time.Now()
	}
	switch {
	case !step.Op.IsObject():
		r.tracks[i].settled = r.schedule.joinOutcome(i)
		r.schedule.settle(i, r.tracks[i].settled)
	case step.Unknown != "" && r.options.DryRun != DryRunNone:
		r.finish(ctx, i, r.unknownResult(step))
	case !r.mustWrite(step):
		r.finish(ctx, i, r.withoutWriting(step))
	default:
		r.inFlight++
		known := r.sourceObjects(step)
		// The loop waits for this goroutine: it ends with its one message. The write is not cut short by
		// an interrupt.
		go func() {
			done := r.act(context.WithoutCancel(ctx), step, known)
			r.messages <- message{step: i, done: done}
		}()
	}
}

// handle handles one message.
func (r *run) handle(ctx context.Context, m message) {
	if m.done != nil {
		r.writes.over(time.Now(), r.engine.Cluster.Throttled(), r.inFlight >= r.writes.limit)
		r.inFlight--
		r.finish(ctx, m.step, m.done)
		return
	}
	t := &r.tracks[m.step]
	if m.seen.err == nil &&
		(t.settled == event.Succeeded && !r.sources[r.plan.Steps[m.step].Ref] || t.waiting && m.seen.before(t.base)) {
		return // nobody waits for the object any more, or the observation is older than our write
	}
	if m.seen.err != nil {
		r.unseen(m.step, m.seen.err)
		return
	}
	r.outage = ""
	if t.changed = time.Now(); m.seen.evidence == nil || !m.seen.evidence.Observed() {
		t.since = t.changed
	}
	if t.base.object != nil && !r.sources[r.plan.Steps[m.step].Ref] {
		t.base.object = nil // one of them is enough to judge by
	}
	if t.seen = m.seen; m.seen.unversioned() {
		t.missed++
	} else {
		t.missed = 0
	}
	if t.waiting {
		r.judge(ctx, m.step)
	} else if t.pause != "" {
		r.checkPaused(ctx, m.step)
	}
}

// unseen emits, once for all objects, that the cluster cannot be reached for the moment.
func (r *run) unseen(i int, err error) {
	if r.outage != err.Error() && r.waiting > 0 {
		r.outage = err.Error()
		r.emit(
			event.Event{
				Kind:   event.Observed,
				Step:   i,
				Op:     r.plan.Steps[i].Op,
				Status: r.tracks[i].seen.verdict.Status,
				Err:    err,
			},
		)
	}
}
