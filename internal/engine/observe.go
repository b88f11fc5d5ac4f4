package engine

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/ready"
)

// Until tells what Observe waits for.
type Until string

// What can be waited for. UntilKnown is met as soon as every object's state could be read.
const (
	UntilKnown   Until = "known"
	UntilCurrent Until = "current"
	UntilDeleted Until = "deleted"
	UntilForever Until = "forever"
)

// ObserveOptions are the circumstances of Observe. The zero value looks once.
type ObserveOptions struct {
	Until    Until         // empty means UntilKnown
	Timeout  time.Duration // 0 is for ever
	LogLines int           // as in Options
}

// Observe judges objects: first all of them, in the order of refs and with the causes of what is not as it should be, then
// each that changes, with an Observed event for every new status and an Explained one for new causes. An Observed event with
// an error says that the objects cannot be seen for the moment. It ends when what is waited for holds, or cannot hold any
// more because all that is left has failed; when the time is up; or when the context ends. Met reports the first of these.
// Step counts the refs.
func (e *Engine) Observe(ctx context.Context, refs []object.Ref, o ObserveOptions, sink event.Sink) (met bool, err error) {
	targets := make([]cluster.Target, len(refs))
	for i, ref := range refs {
		targets[i].Ref = ref
	}
	live, err := e.Cluster.Read(ctx, targets)
	if err != nil {
		return false, fmt.Errorf("read the cluster: %w", err)
	}
	w := &observation{engine: e, refs: refs, views: make([]view, len(refs)), unserved: live.Unserved, options: o, sink: sink}
	for i, ref := range refs {
		w.views[i].sighting = look(e.rules(), cluster.ObjectEvent{Ref: ref, Object: live.Objects[ref]}, false)
		if live.Unserved.Has(ref) {
			w.views[i].verdict.Status = ready.Status{State: ready.Unknown, Message: fmt.Sprintf("the cluster does not know the kind %s", ref.GroupKind())}
		}
	}
	met, over := w.over()
	watching, stop := context.WithCancel(ctx)
	defer stop()
	w.kin = newDiagnoser(e.Cluster, over, o.LogLines)
	w.first(ctx, watching)
	if over {
		return met, nil
	}
	return w.follow(ctx, watching)
}

// observation is what is known of the objects. It belongs to the goroutine of Observe.
type observation struct {
	engine   *Engine
	refs     []object.Ref
	views    []view
	unserved *object.Set
	options  ObserveOptions
	sink     event.Sink
	kin      *diagnoser
	outage   string // why the cluster cannot be seen; empty if it can
}

// view is what is known of one object.
type view struct {
	sighting
	causes []ready.Cause // all that were told
}

// first shows all objects, after a look at what surrounds those that are not as they should be.
func (w *observation) first(ctx, watching context.Context) {
	looking, cancel := context.WithTimeout(ctx, explainTimeout)
	defer cancel()
	if roots := w.roots(); len(roots) > 0 {
		w.kin.around(watching, roots)
		w.kin.settle(looking, 0)
	}
	all := make([][]ready.Cause, len(w.refs))
	for i := range w.refs {
		all[i] = w.causes(i)
		w.views[i].causes = all[i]
	}
	w.kin.readLogs(looking, all)
	for i, ref := range w.refs {
		w.sink(event.Event{Kind: event.Observed, Step: i, Ref: ref, Status: w.views[i].verdict.Status, Facts: w.views[i].facts, Causes: all[i]})
	}
}

// causes are those why an object is not as it should be; none if it is.
func (w *observation) causes(i int) []ready.Cause {
	if w.views[i].evidence == nil {
		return nil
	}
	return w.kin.family.Causes(w.views[i].evidence, time.Time{})
}

// roots are the objects that are not as they should be.
func (w *observation) roots() []*ready.Evidence {
	var roots []*ready.Evidence
	for _, v := range w.views {
		if v.evidence != nil {
			roots = append(roots, v.evidence)
		}
	}
	return roots
}

// over reports whether there is nothing more to wait for, and whether what was waited for holds.
func (w *observation) over() (met, over bool) {
	states := map[ready.State]int{}
	for i, v := range w.views {
		if w.unserved.Has(w.refs[i]) {
			states["unserved"]++ // no watch will ever tell of it
		} else {
			states[v.verdict.State]++
		}
	}
	all := len(w.refs)
	switch w.options.Until {
	case UntilForever:
		return false, all == 0
	case UntilCurrent:
		hopeless := states[ready.Failed] + states["unserved"]
		return states[ready.Current] == all, states[ready.Current]+hopeless == all
	case UntilDeleted:
		return states[ready.NotFound] == all, states[ready.NotFound]+states["unserved"] == all
	default:
		return states[ready.Unknown] == 0, states[ready.Unknown] == 0
	}
}

// seen is what a watch reports of one object.
type seen struct {
	step int
	sighting
}

// follow watches the objects, one watch for each group, from the moment at which they were read, and what
// surrounds them.
func (w *observation) follow(ctx, watching context.Context) (bool, error) {
	sightings := make(chan seen)
	w.watch(watching, sightings)
	var expired <-chan time.Time
	if w.options.Timeout > 0 {
		timer := time.NewTimer(w.options.Timeout)
		defer timer.Stop()
		expired = timer.C
	}
	var explain <-chan time.Time // runs when there may be something to explain
	scheduleDiagnosis := func() {
		if explain == nil {
			explain = time.After(explainPause)
		}
	}
	for {
		select {
		case s := <-sightings:
			w.see(s)
			scheduleDiagnosis()
			if met, over := w.over(); over {
				return met, nil
			}
		case n := <-w.kin.news:
			w.kin.take(n)
			scheduleDiagnosis()
		case q := <-w.kin.logQuotes:
			w.tell(q.of, q.causes)
		case <-explain:
			explain = nil
			w.explain(watching)
		case <-expired:
			return false, nil
		case <-ctx.Done():
			return false, context.Cause(ctx)
		}
	}
}

// see takes in what a watch reported. Of an object that cannot be seen, what was seen last still holds.
func (w *observation) see(s seen) {
	v := &w.views[s.step]
	changed := !v.verdict.Same(s.verdict.Status)
	switch {
	case s.err != nil && w.outage == s.err.Error():
		return
	case s.err != nil:
		w.outage = s.err.Error()
	default:
		w.outage, v.sighting = "", s.sighting
		if !changed {
			return
		}
	}
	w.sink(event.Event{Kind: event.Observed, Step: s.step, Ref: w.refs[s.step], Status: v.verdict.Status, Facts: v.facts, Err: s.err})
}

// explain tells of causes that are new.
func (w *observation) explain(ctx context.Context) {
	if w.kin.around(ctx, w.roots()); w.kin.listing > 0 {
		return // the last of the lists has it called again
	}
	for i := range w.views {
		if causes := w.causes(i); addNew(&w.views[i].causes, causes) && !w.kin.readLogsOf(ctx, i, causes) {
			w.tell(i, causes)
		}
	}
}

func (w *observation) tell(i int, causes []ready.Cause) {
	w.sink(event.Event{Kind: event.Explained, Step: i, Ref: w.refs[i], Status: w.views[i].verdict.Status, Causes: causes})
}

func (w *observation) watch(ctx context.Context, sightings chan<- seen) {
	steps := make(map[object.Ref]int, len(w.refs))
	groups, groupOf := map[group][]object.Ref{}, grouped(slices.Values(w.refs))
	for i, ref := range w.refs {
		steps[ref] = i
		if !w.unserved.Has(ref) {
			groups[groupOf(ref)] = append(groups[groupOf(ref)], ref)
		}
	}
	for _, refs := range groups {
		w.engine.Cluster.Watch(ctx, refs, func(s cluster.ObjectEvent) {
			select {
			case sightings <- seen{steps[s.Ref], look(w.engine.rules(), s, false)}:
			case <-ctx.Done():
			}
		})
	}
}
