package engine

import (
	"context"
	"slices"
	"time"

	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/ready"
)

// Explaining is for people: soon, but not for what becomes ready at once, and not each piece of news by itself.
const (
	explainAfter   = 750 * time.Millisecond // how long an object is waited for without a change before it is explained
	explainLong    = 5 * time.Second        // and how long with changes
	explainPause   = 300 * time.Millisecond // how long news gather before they are told
	explainQuiet   = 50 * time.Millisecond  // after how long without news none is expected that belongs to what was seen
	explainTimeout = 10 * time.Second       // how long the look around takes at most once the run is over
	logsMost       = 20                     // objects of whose containers a run reads the logs
	logsAtOnce     = 4
)

// explaining is what a run knows of its explanations.
type explaining struct {
	kin   *diagnoser
	at    time.Time // when to look next; zero if there is nothing to look at
	begun bool      // what surrounds the objects is being surveyed
}

// stir has causes looked for: at once if that has begun, else when the run has waited long enough.
func (r *run) scheduleDiagnosis() {
	if r.options.NoCauses {
		return
	}
	pause := explainAfter
	if r.explaining.begun {
		pause = explainPause
	}
	if at := time.Now().Add(pause); r.explaining.at.IsZero() || at.Before(r.explaining.at) {
		r.explaining.at = at
	}
}

// explain tells of new causes why objects linger. A pod that is merely being started is none yet.
func (r *run) explain(ctx context.Context, now time.Time) {
	x := &r.explaining
	x.at = time.Time{}
	lingers := func(t *track) bool {
		return t.waiting && !r.isUnreported(t) && t.seen.evidence.Observed() && x.due(t.lingersAt(), now)
	}
	var roots []*ready.Evidence
	r.explainable(lingers, func(i int) { roots = append(roots, r.tracks[i].seen.evidence) })
	x.begun = x.begun || len(roots) > 0
	if x.kin.around(ctx, roots); x.kin.listing > 0 {
		return // the last of the lists stirs
	}
	r.explainable(lingers, func(i int) {
		t := &r.tracks[i]
		causes := slices.DeleteFunc(x.kin.family.Causes(t.seen.evidence, t.written), func(c ready.Cause) bool {
			return c.Idle || t.predatesWrite(c.Since) && !x.due(t.began.Add(stalePeriod), now)
		})
		switch {
		case addNew(&t.causes, causes):
			if !x.kin.readLogsOf(ctx, i, causes) {
				r.emitCauses(i, causes)
			}
		case r.isStuck(i, causes, now): // told before, but not that bad, or not for so long
			r.settle(i, event.Failed, nil)
		}
	})
}

// due reports whether a moment has come. If it has not, there is something to look at then.
func (x *explaining) due(at, now time.Time) bool {
	if at.After(now) && (x.at.IsZero() || at.Before(x.at)) {
		x.at = at
	}
	return !at.After(now)
}

// lingersAt is from when on a step is waited for longer than it should be: nothing has changed for a moment, or it changes for
// long.
func (t *track) lingersAt() time.Time {
	quiet, long := t.changed.Add(explainAfter), t.since.Add(explainLong)
	if long.Before(quiet) {
		return long
	}
	return quiet
}

// explainable calls f for every step of whose object something is known and that is wanted.
func (r *run) explainable(wanted func(*track) bool, f func(i int)) {
	for i := range r.tracks {
		if t := &r.tracks[i]; t.seen.evidence != nil && wanted(t) {
			f(i)
		}
	}
}

// fresh reports whether one of the causes was not told yet, and adds to what was told.
func addNew(told *[]ready.Cause, causes []ready.Cause) bool {
	found := false
	for _, c := range causes {
		if !slices.ContainsFunc(*told, c.Same) {
			found = true
			*told = append(*told, c)
		}
	}
	return found
}

// tellCauses emits the causes of a step, and ends it if they doom it.
func (r *run) emitCauses(i int, causes []ready.Cause) {
	r.emit(event.Event{Kind: event.Explained, Step: i, Op: r.plan.Steps[i].Op, Causes: causes})
	if r.isStuck(i, causes, time.Now()) {
		r.tracks[i].explained = true
		r.settle(i, event.Failed, nil)
	}
}

// dooms reports whether a step is not waited for any longer because of one of its causes: the run is to fail fast, and the
// cause will hardly pass, and has stood for as long as that takes to be seen.
func (r *run) isStuck(i int, causes []ready.Cause, now time.Time) bool {
	t := &r.tracks[i]
	if !r.options.StopOn.Stuck || !t.waiting || r.plan.Steps[i].Op.AwaitsDeletion() {
		return false
	}
	stuck, doomed := false, false
	for _, c := range causes {
		if c.Stuck {
			if t.stuck.IsZero() {
				t.stuck = now
			}
			stuck, doomed = true, doomed || r.explaining.due(t.stuck.Add(c.Patience), now)
		}
	}
	if !stuck {
		t.stuck = time.Time{}
	}
	return doomed
}

// explainBad tells, after the loop, why steps did not become ready, or gone, with all that is known by then. An interrupted
// run has no time for it.
func (r *run) explainFailures(ctx, watching context.Context) {
	bad := func(t *track) bool { return t.acted == event.Succeeded && t.settled.IsFailure() && !t.explained }
	var roots []*ready.Evidence
	r.explainable(bad, func(i int) { roots = append(roots, r.tracks[i].seen.evidence) })
	if r.summary.Interrupted || r.options.NoCauses || len(roots) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, explainTimeout)
	defer cancel()
	x := &r.explaining
	x.kin.once, x.kin.quoted = !x.begun, 0
	x.kin.around(watching, roots)
	x.kin.settle(ctx, explainQuiet)

	var steps []int
	var causes [][]ready.Cause
	r.explainable(bad, func(i int) {
		if found := x.kin.family.Causes(r.tracks[i].seen.evidence, r.tracks[i].written); len(found) > 0 {
			steps, causes = append(steps, i), append(causes, found)
		}
	})
	x.kin.readLogs(ctx, causes)
	for n, i := range steps {
		r.emitCauses(i, causes[n])
	}
}
