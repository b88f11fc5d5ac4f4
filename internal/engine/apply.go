package engine

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/mutation"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/record"
)

// saveTimeout bounds the last write of an interrupted run, so that a cluster that is gone cannot
// hold the process.
const saveTimeout = 30 * time.Second

// Apply runs a plan. The record covers, from before the first write until after the last, every
// object that may exist because of this run: an interruption at any moment leaves nothing
// untracked. When the context ends, nothing new is started, writes in flight finish, and the record
// is saved. The error is that of the record alone; how the steps went is in the summary. The error
// of the record is a *RecordError.
func (e *Engine) Apply(
	ctx context.Context,
	p *plan.Plan,
	o Options,
	sink event.Sink,
) (event.Summary, error) {
	r := newRun(e, p, o, sink)
	watching, stopWatching := context.WithCancel(context.WithoutCancel(ctx))
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
	r.explainFailures(ctx, watching)
	return r.summary, err
}

// recordOutcome saves the members that remain, within a time limit, also after an interrupt.
func (r *run) recordOutcome(ctx context.Context) error {
	saving, cancel := context.WithTimeout(context.WithoutCancel(ctx), saveTimeout)
	defer cancel()
	r.checkDeleted(saving)
	result := record.RunSucceeded
	if r.summary.Interrupted || r.summary.Failures() > 0 {
		result = record.RunFailed
	}
	return r.engine.saveOutcome(saving, r.plan, r.tracks, result)
}

// saveIntent stores the recorded members and those that the plan writes, without their conditions,
// so that the record covers whatever happens. A plan that writes nothing new is covered already.
func (e *Engine) saveIntent(ctx context.Context, p *plan.Plan) error {
	recorded := object.NewSet(p.Recorded...)
	members := object.NewSet(p.Recorded...)
	changes := false
	for _, step := range p.Steps {
		if step.Op == plan.Create || step.Op == plan.Update || step.Op == plan.Unchanged {
			members.Insert(step.Ref)
		}
		changes = changes || step.Op.Writes() || step.Op.External()
	}
	if !changes && members.Len() == recorded.Len() {
		return nil
	}
	state := &record.State{}
	for _, ref := range members.Refs() {
		state.Members = append(state.Members, record.Member{Ref: ref})
	}
	if err := e.Records.Save(ctx, state); err != nil {
		return &RecordError{Action: "save the record before the first write", Before: true, Err: err}
	}
	return nil
}

// saveOutcome stores what is left: every object that exists, or may exist, because of this set.
// After a destroy that left nothing the record goes as well.
func (e *Engine) saveOutcome(
	ctx context.Context,
	p *plan.Plan,
	tracks []track,
	result record.Result,
) error {
	members := map[object.Ref]record.Member{}
	order := object.NewSet(p.Recorded...)
	recorded := object.NewSet(p.Recorded...)
	for i, step := range p.Steps {
		if !step.Op.IsObject() {
			continue
		}
		order.Insert(step.Ref)
		if member, ok := memberAfter(step, &tracks[i], recorded.Has(step.Ref)); ok {
			members[step.Ref] = member
		}
	}
	state := &record.State{Result: result}
	for _, ref := range order.Refs() {
		if member, ok := members[ref]; ok {
			state.Members = append(state.Members, member)
		}
	}
	if p.Destroys && len(state.Members) == 0 {
		if err := e.Records.Delete(ctx); err != nil {
			return &RecordError{Action: "delete the record", Err: err}
		}
		return nil
	}
	err := e.Records.Save(ctx, state)
	if homeless := (*record.NamespaceGoneError)(nil); errors.As(err, &homeless) &&
		leaving(p, tracks, homeless.Namespace) {
		return nil // it went with its namespace, which went after all that the record had
	}
	if err != nil {
		return &RecordError{Action: "save the record after the last write", Err: err}
	}
	return nil
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
	live, err := r.engine.Cluster.Read(ctx, targets)
	if err != nil {
		return
	}
	for ref, t := range steps {
		obj := live.Objects[ref]
		t.gone = !live.Unserved.Has(ref) && (obj == nil || obj.GetUID() != t.base.uid)
	}
}

// memberAfter returns the member of the record for the object of a step after the run, and whether
// there is one.
func memberAfter(step plan.Step, t *track, recorded bool) (record.Member, bool) {
	member := record.Member{Ref: step.Ref, Strategy: record.Apply}
	member.Actuation, member.Reconcile = progress(t.acted), progress(t.settled)
	if step.Op.External() {
		return member, recorded && (step.Op == plan.AwaitCreated || t.settled != event.Succeeded)
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
		return member, recorded || t.stored || t.uncertain ||
			!cluster.Refused(t.err) && !neverWritten(step, t.err)
	default:
		return member, recorded || t.uncertain
	}
}

// neverWritten reports whether an object does not exist because its values could not be completed.
func neverWritten(step plan.Step, err error) bool {
	incomplete := (*mutation.Error)(nil)
	return step.Have == nil && errors.As(err, &incomplete)
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
