package engine

import (
	"context"
	"errors"
	"iter"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/base/crash"
	"github.com/muster-deploy/muster/internal/diff"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/ready"
)

// track is the state of one step in a run. Only the goroutine of loop uses it.
type track struct {
	op        plan.Op       // what was done in the end; empty before that
	acted     event.Outcome // outcome of the write; empty until it has ended
	settled   event.Outcome // final outcome; empty until the step has settled
	ran       bool          // it was started; false if it was blocked or skipped
	stored    bool          // it failed, but a part of it was stored
	late      bool          // it began after others before it were written or waited for
	delays    bool          // those behind it are late: it was written or waited for, or is late
	uncertain bool          // a failed attempt that is retried may have stored the object
	gone      bool          // the object of a deletion without a wait is gone
	deleted   bool          // to be recreated
	uncreated string        // why it is not created again yet, as it was emitted last
	err       error

	waiting   bool      // written, not settled
	announced bool      // the Waiting event was emitted
	shown     shown     // the status in the last event of the step
	statuses  []shown   // the statuses that the object has had; kept for Limits.Stall only
	missed    int       // consecutive reads without a version that did not find the object
	failing   bool      // its status is Failed; it may recover while the run waits for others
	written   time.Time // time of the change by the clock of the server; zero without a change
	created   bool      // this run created the object
	vanished  time.Time // time at which its object was first seen to be deleted
	fails     string    // key of the deadline of its verdict
	failsAt   time.Time // the deadline itself
	unserved  bool      // the server does not serve the definition yet, as far as is known
	rests     time.Time // end of the period in which its status is not trusted; or zero
	redeletes bool      // what a controller created in its place is being deleted

	since   time.Time // start of the wait, or the last time its controller was not up to date
	changed time.Time // time of the last observation

	began     time.Time     // time of the write
	stuck     time.Time     // first time of a cause that needs a change by the user; or zero
	doubts    []doubt       // causes that must last before they are printed
	certain   certainty     // the cause that is certain not to pass
	causes    []ready.Cause // causes that were emitted
	reasons   []string      // those of all causes of this run that were progress
	explained bool          // no more causes are emitted

	tried   time.Time  // time of the first attempt to write
	pause   pause      // reason why a started step is not being written; empty if it is
	next    *plan.Step // step to write next in place of the step itself; may be nil
	awaits  bool       // the workload that serves its webhook was emitted
	queried bool       // its child objects are watched
	ready   time.Time  // time since which its object is ready by the rules; or zero
	onTrial bool       // its object is ready by the rules, but not by its pods
	quiet   bool       // and nothing is wrong: it only has to last
	checkAt time.Time  // the next alarm of that check; or zero

	deadline time.Time // of its wait; zero for none
	relapsed bool      // its object was ready, and was not any more when all else had settled
	// generation of its object when it settled
	generation int64

	base observation // the object after our write, or when its deletion was requested
	seen observation // the latest observation of the object
}

// message is a report of a worker or a watch to the loop.
type message struct {
	step     int
	done     *result // result of a write that has ended
	seen     observation
	served   bool      // the server serves the definition of the step
	checked  []checked // the end of a check of unchanged objects
	lastRead *lastRead // the end of a last read
	redone   *redone   // the end of the deletion of a remnant
}

// run carries out one plan. Only the goroutine of loop uses its fields. Other goroutines send it
// messages. Workers also read the fields that never change: engine, plan, options, index and
// definitions.
type run struct {
	engine   *Engine
	plan     *plan.Plan
	options  Options
	sink     event.Sink
	summary  event.Summary
	schedule *schedule
	tracks   []track
	early    map[int]*result // results of steps written before the record was saved
	groupOf  func(object.Ref) group
	groups   map[group][]int // steps by group
	watched  map[group]bool
	// labels that all child objects of a group have in common; filled on demand
	shared map[group]labels.Set
	index  plan.Index
	// steps of definitions by the kinds that these define
	definitions    map[schema.GroupKind]*plan.Step
	triesCreations bool                // a client dry run asks the server about creations
	unproven       *object.Set         // those of the plan
	sources        map[object.Ref]bool // objects from which other objects take values
	messages       chan message
	secretTexts    func() *diff.Masker // hides the values of the Secrets of the set

	inFlight int // writes in progress
	writes   writeLimit
	pausing  int       // paused steps
	refusing time.Time // first write of a dry run for which a webhook could not be called; or zero
	waiting  int       // written steps that have not settled
	failing  int       // waiting steps whose objects have failed
	open     int       // steps with objects that have not settled
	// workloads behind the Services of webhooks that cannot be called
	serving   map[object.Ref][]int
	alarms    alarms
	latest    time.Time // latest deadline set by the limit of the run
	limited   []int     // steps with a limit of their own that were waited for
	outage    string    // error of a cluster that cannot be reached; else empty
	unchecked []int     // late unchanged steps that have begun
	atOnce    []int     // workloads that were ready at once, and are not watched yet
	due       []int     // resumed steps that wait for a slot; may contain settled ones
	active    time.Time // last time that a write ended or a step settled
	progress  time.Time // last time that there was a status or a cause not seen before
	ended     bool      // aborted by a failure: nothing is started or waited for
	endedBy   int       // the step that failed

	interrupted bool      // aborted by the context
	outOfTime   bool      // aborted by the context because of ErrOutOfTime
	announceAt  time.Time // time to emit which writes an interrupted run waits for; or zero

	overdue     []int // steps to read once more before they time out
	lastReading bool  // such a read is in progress

	unauthorized time.Time // time of the first refused credentials since an object was seen; or zero
	fatal        error     // the reason why nothing can be observed any more; or nil

	related   *relatedTracker
	diagnosis diagnosis
	observing *observing // nil for runs that apply a plan
	// unattended is that of ObserveOptions until it is closed; nil for runs that apply a plan
	unattended <-chan struct{}
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
	o = o.withLimits(p)
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

		definitions: definitionSteps(p), triesCreations: p.Creations() <= o.TryCreations,
		sources: sources(p), unproven: object.NewSet(p.Unproven...),
		messages: make(chan message), secretTexts: sync.OnceValue(p.SecretTexts),
		writes: writeLimit{
			fixed:     o.Concurrency > 0,
			limit:     o.Concurrency,
			throttled: e.Cluster.Throttled(),
		},
	}
	r.options.changed, r.options.served = changedSchemas(r.definitions), &sync.Map{}
	r.options.deleted = &deletedHolders{}
	if !r.writes.fixed {
		r.writes.limit = DefaultConcurrency
	}
	r.related = newRelatedTracker(e.Cluster, o.NoCauses)
	if o.Pods.Check {
		r.related.pods = ready.NewPodSet()
	}
	r.diagnosis.logs = logReader{
		cluster: e.Cluster, lines: o.LogLines, quotes: make(chan logQuote),
	}
	r.countOpen()
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
			r.outOfTime = errors.Is(context.Cause(ctx), ErrOutOfTime)
			r.announceAt = time.Now().Add(announceDelay)
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
		case e := <-r.related.events:
			steps := append(r.related.handle(e), r.stepsOnTrial(e)...)
			for _, i := range steps {
				if r.tracks[i].waiting {
					r.judge(watching, i)
				}
			}
			r.scheduleDiagnosis()
		case q := <-r.diagnosis.logs.quotes:
			if r.tracks[q.step].waiting {
				r.emitCauses(q.step, q.causes)
			}
		case <-timer.C:
			r.expire(watching, time.Now())
		case <-r.unattended:
			r.endAttended(watching)
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
			break
		}
		i, ok := r.takeDue()
		if !ok {
			i, ok = r.schedule.next()
		}
		if !ok {
			break
		}
		r.begin(ctx, i)
	}
	r.startCheck(ctx)
}

// begin starts a step: it settles it at once or starts a worker.
func (r *run) begin(ctx context.Context, i int) {
	step, t := &r.plan.Steps[i], &r.tracks[i]
	if t.next != nil {
		step = t.next
	}
	if t.tried.IsZero() {
		t.tried = time.Now()
		t.late = slices.ContainsFunc(step.Needs, r.delayed) || slices.ContainsFunc(step.After, r.delayed)
		t.delays = t.late
	}
	switch {
	case !step.Op.IsObject():
		r.tracks[i].settled = r.schedule.joinOutcome(i)
		r.schedule.settle(i, r.tracks[i].settled)
	case step.Unknown != "" && r.options.DryRun != DryRunNone:
		r.finish(ctx, i, r.unknownResult(step))
	case r.mustCheck(i, step):
		r.unchecked = append(r.unchecked, i)
	case !r.mustWrite(step):
		r.finish(ctx, i, r.withoutWriting(step))
	default:
		r.inFlight++
		known := r.sourceObjects(step)
		// The loop waits for this goroutine: it ends with its one message. The write is not cut
		// short by an interrupt.
		go func() {
			defer crash.Catch(ctx)
			done := r.act(context.WithoutCancel(ctx), step, known)
			r.messages <- message{step: i, done: done}
		}()
	}
}

// handle handles one message.
func (r *run) handle(ctx context.Context, m message) {
	if m.checked != nil {
		r.inFlight--
		r.endCheck(ctx, m.checked)
		return
	}
	if m.lastRead != nil {
		r.endLastRead(ctx, m.lastRead)
		return
	}
	if m.redone != nil {
		r.inFlight--
		r.endRedeletion(ctx, m.step, m.redone)
		return
	}
	if m.served {
		r.endUnserved(ctx, m.step)
		return
	}
	if m.done != nil {
		r.writes.over(time.Now(), r.engine.Cluster.Throttled(), r.inFlight >= r.writes.limit)
		r.inFlight--
		r.finish(ctx, m.step, m.done)
		return
	}
	t := &r.tracks[m.step]
	if t.settled == event.Succeeded && !r.sources[r.plan.Steps[m.step].Ref] && m.seen.err == nil {
		r.keep(m.step, m.seen)
		return // no step waits for the object
	}
	if t.waiting && m.seen.err == nil && m.seen.before(t.base) {
		return // the observation predates our write
	}
	if m.seen.err != nil {
		r.unseen(m.step, m.seen.err)
		return
	}
	r.outage, r.unauthorized = "", time.Time{}
	if t.changed = time.Now(); m.seen.evidence == nil || !m.seen.evidence.Observed() {
		t.since = t.changed
	}
	if t.base.object != nil && !r.sources[r.plan.Steps[m.step].Ref] {
		t.base.object = nil // seen.object is enough
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

// unseen emits, once for all objects, that the cluster cannot be reached for the moment. It ends a
// run whose credentials have been refused for too long.
func (r *run) unseen(i int, err error) {
	switch now := time.Now(); {
	case !apierrors.IsUnauthorized(err):
		r.unauthorized = time.Time{}
	case r.unauthorized.IsZero():
		r.unauthorized = now
	case r.waiting > 0 && now.Sub(r.unauthorized) >= unauthorizedLimit:
		r.endUnauthorized(err)
		return
	}
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
