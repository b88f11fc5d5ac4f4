package engine

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/mutation"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/record"
)

// saveTimeout bounds the last write of a run, so that a cluster that is gone cannot hold the
// process. For saveGrace after an interrupt it is repeated if the server refuses it for the moment:
// the record covers all objects already.
const (
	saveTimeout = 30 * time.Second
	saveGrace   = 1500 * time.Millisecond
)

// Apply runs a plan. The record covers, from before the first write until after the last, every
// object that may exist because of this run: an interruption at any moment leaves nothing
// untracked. When the context ends, nothing new is started, writes in flight finish, and the record
// is saved. How the steps went is in the summary. The error is a *RecordError of the record, or a
// *LostError.
func (e *Engine) Apply(
	ctx context.Context, p *plan.Plan, o Options, sink event.Sink,
) (event.Summary, error) {
	if o.DryRun == "" {
		return event.Summary{}, errors.New("it is not said whether the run is a dry run")
	}
	r := newRun(e, p, o, sink)
	watching, stopWatching := context.WithCancel(cluster.Finish(ctx, 0))
	defer stopWatching()
	if o.DryRun != DryRunNone {
		r.loop(ctx, watching)
		return r.summary, nil
	}
	if err := r.actBeforeRecord(ctx); err != nil {
		return r.summary, err
	}
	if err := e.saveIntent(ctx, p); err != nil {
		return r.summary, err
	}
	r.loop(ctx, watching)
	err := r.recordOutcome(ctx)
	if err == nil {
		err = r.checkLost(ctx)
	}
	r.explainFailures(ctx, watching)
	return r.summary, err
}

// recordOutcome saves the members that remain, within a time limit, also after an interrupt.
func (r *run) recordOutcome(ctx context.Context) error {
	closing := cluster.Unguarded(cluster.Finish(ctx, saveGrace)) // also if the lock is lost
	saving, cancel := context.WithTimeout(closing, saveTimeout)
	defer cancel()
	r.checkDeleted(saving)
	result := record.RunSucceeded
	switch failed := r.summary.Failures(); {
	case failed > r.summary.Settled[event.Interrupted]:
		result = record.RunFailed
	case failed > 0:
		result = record.RunInterrupted
	}
	return r.saveOutcome(saving, result)
}

// saveIntent stores the recorded members and those that the plan writes, so that the record covers
// whatever happens. Recorded members that an apply writes are pending: nothing that an earlier run
// found out about them holds any more. The others keep their conditions, and new ones have none. A
// plan that writes nothing new is covered already. A record that lists objects which the plan
// creates is written in any case: another run may see that they do not exist.
func (e *Engine) saveIntent(ctx context.Context, p *plan.Plan) error {
	recorded := object.NewSet(p.Recorded...)
	members := object.NewSet(p.Recorded...)
	changes := false
	state, pending := &record.State{}, map[object.Ref]record.Member{}
	for _, step := range p.Steps {
		if step.Op.Writes() && recorded.Has(step.Ref) && !p.Destroys {
			pending[step.Ref] = memberDuring(step)
		}
		state.Touch = state.Touch || step.Op == plan.Create && recorded.Has(step.Ref)
		if step.Op == plan.Create || step.Op == plan.Update || step.Op == plan.Unchanged ||
			step.Op == plan.Skip && isMarked(p.Owner, step) {
			members.Insert(step.Ref)
		}
		changes = changes || step.Op.Writes() || step.Op.External()
	}
	if !changes && members.Len() == recorded.Len() {
		return nil
	}
	for _, ref := range members.Refs() {
		member := pending[ref]
		member.Ref = ref
		state.Members = append(state.Members, member)
	}
	if err := e.Records.Save(ctx, state); err != nil {
		return &RecordError{Action: "save the record before the first write", Before: true, Err: err}
	}
	return nil
}

// saveOutcome stores what is left: every object that exists, or may exist, because of this set.
// After a destroy that left nothing the record goes as well.
func (r *run) saveOutcome(ctx context.Context, result record.Result) error {
	p, tracks, store := r.plan, r.tracks, r.engine.Records
	members := map[object.Ref]record.Member{}
	var untouched []object.Ref
	var doubtful []plan.Step
	order := object.NewSet(p.Recorded...)
	recorded, unadopted := object.NewSet(p.Recorded...), object.NewSet(p.Unadopted...)
	for i, step := range p.Steps {
		if !step.Op.IsObject() {
			continue
		}
		order.Insert(step.Ref)
		known := recorded.Has(step.Ref) && !unadopted.Has(step.Ref) || isMarked(p.Owner, step)
		if member, ok := memberAfter(step, &tracks[i], known); ok {
			if r.isUnproven(i, recorded.Has(step.Ref)) {
				member.Reconcile = record.Skipped
			}
			members[step.Ref] = member
			if !known && step.Op.Applies() && tracks[i].acted != event.Succeeded {
				doubtful = append(doubtful, step)
			}
			if step.Op.Removes() || !tracks[i].ran {
				untouched = append(untouched, step.Ref)
			}
		}
	}
	for _, ref := range r.unowned(ctx, doubtful) {
		delete(members, ref)
	}
	left, appeared := len(members) > 0, r.present(ctx, r.absent())
	for _, ref := range appeared {
		members[ref] = record.Member{Ref: ref}
	}
	state := &record.State{Result: result, Untouched: untouched}
	for _, ref := range order.Refs() {
		if member, ok := members[ref]; ok {
			state.Members = append(state.Members, member)
		} else if recorded.Has(ref) {
			state.Gone = append(state.Gone, ref)
		}
	}
	if p.Destroys && !left {
		return r.deleteRecord(ctx, state)
	}
	err := store.Save(ctx, state)
	if homeless := (*record.NamespaceGoneError)(nil); errors.As(err, &homeless) &&
		leaving(p, tracks, homeless.Namespace) {
		return nil // it went with its namespace, which went after all that the record had
	}
	if err != nil {
		return &RecordError{Action: saving, Err: err}
	}
	if p.Destroys && len(appeared) > 0 {
		return &RecordError{Action: deleting, Err: &record.ChangedError{Added: appeared}}
	}
	return nil
}

// The last things that a run does with the record.
const saving, deleting = "save the record after the last write", "delete the record"

// deleteRecord deletes the record of a destroy whose steps left no object. The state has members if
// objects have appeared meanwhile. If there are any, or if another run has written the record, all
// objects are read again. The record stays with those that exist, with those that the other run
// added, and with those that it may be about to create because this run has not deleted them.
func (r *run) deleteRecord(ctx context.Context, state *record.State) error {
	store, changed := r.engine.Records, &record.ChangedError{}
	if len(state.Members) == 0 {
		if err := store.Delete(ctx, state.Gone, r.options.BeforeForget); err == nil {
			return nil
		} else if !errors.As(err, &changed) {
			return &RecordError{Action: deleting, Err: err}
		}
	}
	existing := r.present(ctx, r.plan.Recorded)
	state = &record.State{Gone: r.absent(), Result: record.RunFailed}
	for _, ref := range existing {
		state.Members = append(state.Members, record.Member{Ref: ref})
	}
	changed.Added = append(changed.Added, existing...)
	exists, gone := object.NewSet(existing...), object.NewSet(state.Gone...)
	changed.Gone = slices.DeleteFunc(slices.Clone(changed.Gone), func(ref object.Ref) bool {
		return exists.Has(ref) || !gone.Has(ref)
	})
	if len(changed.Added)+len(changed.Gone) == 0 {
		if err := store.Delete(ctx, nil, r.options.BeforeForget); err != nil {
			return &RecordError{Action: deleting, Err: err}
		}
		return nil
	}
	if err := store.Save(ctx, state); err != nil {
		return &RecordError{Action: saving, Err: err}
	}
	return &RecordError{Action: deleting, Err: changed}
}

// absent returns the recorded objects that have no step: they were not desired and did not exist
// when the plan was made.
func (r *run) absent() []object.Ref {
	var refs []object.Ref
	forgotten := object.NewSet(r.plan.Forgotten...)
	for _, ref := range r.plan.Recorded {
		if _, planned := r.index[ref]; !planned && !forgotten.Has(ref) {
			refs = append(refs, ref)
		}
	}
	return refs
}

// present returns those of the objects that exist and belong to the set. Objects that cannot be
// read count as existing, also if their kind cannot be described.
func (r *run) present(ctx context.Context, refs []object.Ref) []object.Ref {
	if len(refs) == 0 {
		return nil
	}
	targets := make([]cluster.Target, len(refs))
	for i, ref := range refs {
		targets[i] = cluster.Target{Ref: ref}
	}
	live, err := r.engine.readFresh(ctx, targets, object.NewSet(refs...))
	if err != nil {
		return refs
	}
	var found []object.Ref
	for _, ref := range refs {
		if obj := live.Objects[ref]; obj != nil && r.plan.Owner.Owns(obj) ||
			live.Unserved.Has(ref) && !live.NoKind.Has(ref) {
			found = append(found, ref)
		}
	}
	return found
}

// unowned returns those objects of steps, whose writes failed, that exist without the mark of the
// set. A later run would delete what was never adopted. Objects that cannot be read count as owned.
func (r *run) unowned(ctx context.Context, steps []plan.Step) []object.Ref {
	if len(steps) == 0 {
		return nil
	}
	var targets []cluster.Target
	for _, step := range steps {
		targets = append(targets, cluster.Target{Ref: step.Ref})
	}
	live, err := r.engine.Cluster.Read(ctx, targets)
	if err != nil {
		return nil
	}
	var refs []object.Ref
	for _, step := range steps {
		if obj := live.Objects[step.Ref]; obj != nil && !r.plan.Owner.Owns(obj) {
			refs = append(refs, step.Ref)
		}
	}
	return refs
}

// leaving reports whether the run has requested the deletion of a namespace.
func leaving(p *plan.Plan, tracks []track, namespace string) bool {
	i, ok := p.Index()[object.Ref{Kind: plan.NamespaceKind.Kind, Name: namespace}]
	return ok && p.Steps[i].Op == plan.Delete && tracks[i].acted == event.Succeeded
}

// checkDeleted finds out which objects are gone whose deletion was not waited for. An object that
// cannot be read counts as existing.
func (r *run) checkDeleted(ctx context.Context) {
	var targets []cluster.Target
	steps := map[object.Ref]*track{}
	for i, step := range r.plan.Steps {
		if t := &r.tracks[i]; step.Op == plan.Delete && !step.Wait && t.settled == event.Succeeded &&
			!t.gone {
			targets = append(targets, cluster.Target{Ref: step.Ref})
			steps[step.Ref] = t
		}
	}
	if len(targets) == 0 {
		return
	}
	refs := object.NewSet(slices.Collect(maps.Keys(steps))...)
	live, err := r.engine.readFresh(ctx, targets, refs)
	if err != nil {
		return
	}
	for ref, t := range steps {
		obj := live.Objects[ref]
		t.gone = live.NoKind.Has(ref) ||
			!live.Unserved.Has(ref) && (obj == nil || obj.GetUID() != t.base.uid)
	}
}

// isMarked reports whether the object of a step carries the mark of the set, recorded or not. One
// of others, too, is theirs.
func isMarked(owner plan.Owner, step plan.Step) bool {
	have := cmp.Or(step.Have, step.Leaving)
	return have != nil && owner.Marks() && owner.Owns(have) &&
		step.ReasonCode != plan.ReasonForeign
}

// memberDuring returns the member of the record for the object of a step that a run is about to
// write.
func memberDuring(step plan.Step) record.Member {
	strategy := record.Apply
	if step.Op.Removes() {
		strategy = record.Delete
	}
	return record.Member{
		Ref: step.Ref, Strategy: strategy, Actuation: record.Pending, Reconcile: record.Pending,
	}
}

// memberAfter returns the member of the record for the object of a step after the run, and whether
// there is one. Known means that the object belonged to the set before.
func memberAfter(step plan.Step, t *track, known bool) (record.Member, bool) {
	member := record.Member{Ref: step.Ref, Strategy: record.Apply}
	member.Actuation, member.Reconcile = progress(t.acted), progress(t.settled)
	if step.Op.External() {
		return member, known && (step.Op == plan.AwaitCreated || t.settled != event.Succeeded)
	}
	if step.Op.Removes() {
		member.Strategy = record.Delete
		switch cmp.Or(t.op, step.Op) {
		case plan.Delete:
			if t.settled == event.Succeeded && !step.Wait {
				member.Reconcile = record.Pending
				return member, !t.gone
			}
			return member, t.settled != event.Succeeded
		case plan.Orphan:
			return member, !t.ran || t.acted == event.Failed
		default:
			return member, true
		}
	}
	switch t.acted {
	case event.Succeeded:
		return member, true
	case event.Failed:
		return member, known || t.stored || t.uncertain ||
			!cluster.Refused(t.err) && !neverWritten(step, t.err)
	default:
		return member, known || t.uncertain
	}
}

// isUnproven reports whether the object of a step was applied and not waited for, so that nobody
// knows whether it is ready. What was not changed is as ready as after the run before, and what has
// no state is ready once it is written.
func (r *run) isUnproven(i int, recorded bool) bool {
	step, t := &r.plan.Steps[i], &r.tracks[i]
	proven := cmp.Or(t.op, step.Op) == plan.Unchanged && recorded && !r.unproven.Has(step.Ref)
	return step.Op.Applies() && t.settled == event.Succeeded && !step.Wait && !proven &&
		!plan.WithoutState(step.Ref.GroupKind())
}

// neverWritten reports whether an object was not created: its values could not be completed, or
// another object was not gone in time.
func neverWritten(step plan.Step, err error) bool {
	incomplete, there := (*mutation.Error)(nil), (*StillThereError)(nil)
	return step.Have == nil && errors.As(err, &incomplete) || errors.As(err, &there)
}

// progress returns an outcome in the terms of the record.
func progress(outcome event.Outcome) record.Progress {
	switch outcome {
	case event.Succeeded:
		return record.Succeeded
	case event.Failed:
		return record.Failed
	case event.Skipped:
		return record.Skipped
	case event.TimedOut:
		return record.TimedOut
	default:
		return record.Pending
	}
}
