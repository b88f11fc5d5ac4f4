package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/base/limit"
	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/diff"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/ready"
)

// Until is the condition that ends Observe.
type Until string

// The conditions. UntilKnown holds as soon as the state of every object could be read.
const (
	UntilKnown   Until = "known"
	UntilCurrent Until = "current"
	UntilDeleted Until = "deleted"
	UntilForever Until = "forever"
)

// ObserveOptions say how objects are observed. The zero value reads each object once.
type ObserveOptions struct {
	Until    Until      // empty means UntilKnown
	Timeout  limit.Time // if it is not set, only Stall ends the wait
	Stall    limit.Time // as in Limits; none for UntilForever
	NoCauses bool       // as in Options
	LogLines int        // as in Options
	Pods     PodPolicy  // as in Options

	// Unattended is closed as soon as no run is in progress that could create objects. From then on
	// an object that does not exist counts as failed if all are to become current. Nil is never.
	Unattended <-chan struct{}

	// Finished returns why some objects that do not exist are as they should be: they have done their
	// work and removed themselves, and count as current. It is called once, if objects are missing.
	Finished func(ctx context.Context, missing []object.Ref) map[object.Ref]string
}

// Observe emits the status of every object, in the order of refs and with the causes of those that
// are not ready. Then it emits an Observed event for every new status and an Explained event for
// new causes, until the condition holds, can hold no more because the remaining objects have
// failed, a limit is over, or the context ends. Met reports whether the condition holds. An
// Observed event with an error says that the cluster cannot be reached for the moment. If it
// refuses the credentials for too long, Observe returns an *UnauthorizedError. At the end of a
// limit all objects are read once more, since a watch may be silent. At last there is a Settled
// event for each object that was awaited to be current, or deleted, and is not.
//
// Observing is a run of steps that only wait: Step is the index of the ref.
func (e *Engine) Observe(
	ctx context.Context, refs []object.Ref, o ObserveOptions, sink event.Sink,
) (met bool, err error) {
	p := &plan.Plan{Steps: make([]plan.Step, len(refs))}
	targets := make([]cluster.Target, len(refs))
	for i, ref := range refs {
		targets[i].Ref = ref
		p.Steps[i] = plan.Step{Ref: ref, Op: plan.Observe, Wait: true}
	}
	reading, cancel := o.Timeout.Context(ctx)
	live, err := e.Cluster.Read(reading, targets)
	cancel()
	if err != nil {
		return false, fmt.Errorf("read the cluster: %w", err)
	}
	if o.Until == UntilForever {
		o.Stall = limit.None() // what it is asked for
	}
	options := Options{
		DryRun: DryRunNone, NoCauses: o.NoCauses, LogLines: o.LogLines, Limits: Limits{Stall: o.Stall},
		Pods: o.Pods,
	}
	r := newRun(e, p, options, func(ev event.Event) {
		if ev.Op = ""; ev.Kind == event.Observed || ev.Kind == event.Explained {
			sink(ev)
		}
	})
	r.observing, r.unattended = &observing{
		until: o.Until, unserved: live.Unserved, finished: o.finished(ctx, refs, live),
	}, o.Unattended
	r.secretTexts = sync.OnceValue(func() *diff.Masker {
		return diff.SecretTexts(slices.Collect(maps.Values(live.Objects))...)
	})
	for i, ref := range refs {
		r.observeFirst(i, live.Objects[ref])
	}
	watching, stop := context.WithCancel(ctx)
	defer stop()
	met, over := r.observedEnough()
	r.related.once = over && o.Until != UntilCurrent
	r.checkFirstPods(ctx, watching)
	met, over = r.observedEnough()
	r.emitFirst(ctx, watching)
	if over {
		r.emitUnmet(sink)
		return met, nil
	}
	limited, cancel := o.Timeout.Context(ctx)
	defer cancel()
	for i, ref := range refs {
		if !live.Unserved.Has(ref) {
			r.watch(watching, r.groupOf(p.Steps[i].Ref))
		}
	}
	r.loop(limited, watching)
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	if r.fatal != nil {
		return false, r.fatal
	}
	if met, over = r.observedEnough(); !over && r.interrupted && o.Until != UntilForever {
		r.observeAgain(ctx)
		met, _ = r.observedEnough()
	}
	r.emitUnmet(sink)
	return met, nil
}

// finished returns why objects that do not exist are as they should be, unless deletions are
// awaited.
func (o *ObserveOptions) finished(
	ctx context.Context, refs []object.Ref, live *cluster.Snapshot,
) map[object.Ref]string {
	var missing []object.Ref
	for _, ref := range refs {
		if live.Objects[ref] == nil && !live.Unserved.Has(ref) {
			missing = append(missing, ref)
		}
	}
	if o.Finished == nil || o.Until == UntilDeleted || len(missing) == 0 {
		return nil
	}
	return o.Finished(ctx, missing)
}

// errAbsent is the error of an awaited object that does not exist.
var errAbsent = errors.New("it does not exist, and no run is in progress that could create it")

// emitUnmet emits which objects are not as they were awaited to be.
func (r *run) emitUnmet(sink event.Sink) {
	awaited := map[Until]ready.State{UntilCurrent: ready.Current, UntilDeleted: ready.NotFound}
	for i := range r.tracks {
		status := r.tracks[i].seen.verdict.Status
		if want := awaited[r.observing.until]; want == "" || status.State == want {
			continue
		}
		e := event.Event{
			Kind: event.Settled, Step: i, Ref: r.plan.Steps[i].Ref, Status: status,
			Outcome: event.TimedOut,
		}
		switch {
		case r.isAbsent(i):
			e.Outcome, e.Err = event.Failed, errAbsent
		case status.State == ready.Failed:
			e.Outcome = event.Failed
		}
		sink(r.withoutSecrets(e))
	}
}

// endAttended begins to count objects that do not exist as failed. It reads them again: the last
// run may just have created them.
func (r *run) endAttended(ctx context.Context) {
	r.unattended, r.observing.unattended = nil, true
	var absent []int
	for i := range r.tracks {
		if r.tracks[i].seen.verdict.State == ready.NotFound {
			absent = append(absent, i)
		}
	}
	for k, seen := range r.readAgain(ctx, absent) {
		if t := &r.tracks[absent[k]]; !seen.isZero() {
			t.seen, t.vanished = seen, time.Now().Add(-settlePeriod)
		}
	}
	for _, i := range absent {
		if r.tracks[i].waiting {
			r.judge(ctx, i)
		}
	}
}

// isAbsent reports whether an object does not exist that nobody is creating.
func (r *run) isAbsent(i int) bool {
	return r.observing.unattended && r.observing.until == UntilCurrent &&
		r.tracks[i].seen.verdict.State == ready.NotFound && !r.mayReappear(i)
}

// observeAgain reads all objects and emits which have a new status.
func (r *run) observeAgain(ctx context.Context) {
	steps := make([]int, len(r.tracks))
	for i := range steps {
		steps[i] = i
	}
	for i, seen := range r.readAgain(ctx, steps) {
		if !seen.isZero() {
			r.tracks[i].seen = seen
			r.judgePods(ctx, i)
			r.wait(i)
		}
	}
}

// observing is the part of a run that only Observe has.
type observing struct {
	until    Until
	unserved *object.Set // objects of kinds that the server does not serve
	finished map[object.Ref]string

	unattended bool // no run is in progress that could create objects
}

// observeFirst starts waiting for an object with its first status.
func (r *run) observeFirst(i int, live *unstructured.Unstructured) {
	t := &r.tracks[i]
	ref := r.plan.Steps[i].Ref
	t.seen = r.look(i, cluster.ObjectEvent{Ref: ref, Object: live})
	if r.observing.unserved.Has(ref) {
		text := fmt.Sprintf("the cluster does not know the kind %s", ref.GroupKind())
		t.seen.verdict.Status = ready.Status{State: ready.Unknown, Message: text}
	}
	t.waiting, t.announced = true, true
	t.shown = shown{t.seen.verdict.Status, t.seen.verdict.Children}
	r.noteProgress(t)
	r.waiting++
	r.schedule.take(i)
	r.schedule.acted(i)
}

// emitFirst emits the first status of every object, after a diagnosis of those that are not ready.
func (r *run) emitFirst(ctx, watching context.Context) {
	causes := make([][]ready.Cause, len(r.tracks))
	if !r.options.NoCauses {
		r.findFirstCauses(ctx, watching, causes)
	}
	for i := range r.tracks {
		seen := &r.tracks[i].seen
		r.emit(event.Event{
			Kind: event.Observed, Step: i, Status: seen.verdict.Status, Facts: seen.facts, Causes: causes[i],
		})
	}
}

// findFirstCauses finds the causes of all objects that are not ready.
func (r *run) findFirstCauses(ctx, watching context.Context, causes [][]ready.Cause) {
	looking, cancel := context.WithTimeout(ctx, explainTimeout)
	defer cancel()
	all := func(*track) bool { return true }
	if r.watchRelated(watching, all) {
		r.related.handleAll(looking, 0)
	}
	r.withEvidence(all, func(i int) {
		causes[i] = r.causesOf(r.tracks[i].seen.evidence, time.Time{})
		r.tracks[i].causes = causes[i]
	})
	r.diagnosis.logs.read(looking, causes)
}

// observed emits a new status of an object, and ends the run if that was the last one to wait for.
func (r *run) observed(ctx context.Context, i int) {
	r.judgePods(ctx, i)
	r.wait(i)
	if _, over := r.observedEnough(); over {
		r.stop()
	}
}

// observedEnough reports whether the condition of Observe holds, and whether nothing can change
// that.
func (r *run) observedEnough() (met, over bool) {
	states, unserved, absent, all := map[ready.State]int{}, 0, 0, len(r.tracks)
	for i := range r.tracks {
		if r.observing.unserved.Has(r.plan.Steps[i].Ref) {
			unserved++ // no watch reports it
			continue
		}
		states[r.tracks[i].seen.verdict.State]++
		if r.isAbsent(i) {
			absent++
		}
	}
	switch r.observing.until {
	case UntilForever:
		return false, all == 0
	case UntilCurrent:
		failed := states[ready.Failed] + absent + unserved
		return states[ready.Current] == all, states[ready.Current]+failed == all
	case UntilDeleted:
		return states[ready.NotFound] == all, states[ready.NotFound]+unserved == all
	default:
		known := states[ready.Unknown] == 0
		return known, known
	}
}
