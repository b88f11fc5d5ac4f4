package sets

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/history"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/ready"
)

// To write a revision may take recordTime, which delays the end of a run by that at most, and
// interruptedTime after an interrupt. For recordGrace after it requests are repeated.
const (
	recordTime      = 30 * time.Second
	interruptedTime = 10 * time.Second
	recordGrace     = 1500 * time.Millisecond
)

// toRecord returns a context for what is written at the end of a run, which may be interrupted
// before or meanwhile.
func toRecord(ctx context.Context) (context.Context, context.CancelFunc) {
	closing, cancel := context.WithTimeout(cluster.Finish(ctx, recordGrace), recordTime)
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(interruptedTime, cancel) })
	return closing, func() { stop(); cancel() }
}

// HistoryManager is the field manager of revisions.
const HistoryManager = "muster"

// The limits of what a revision says about failures.
const maxFailures, maxFailureText = 5, 300

// HistoryOptions say how the history of a set is kept.
type HistoryOptions struct {
	Limit   int // of the number of revisions; 0 writes and deletes none
	Secrets history.DataPolicy
	Keep    bool // the history stays when the set is destroyed
	// Restores is the revision that the run restores, and that is kept, also beyond the limit; 0 is
	// none.
	Restores int
	// Describe returns what is known about the run beside its result. It is called once, if a
	// revision is written.
	Describe func(context.Context) history.Meta
	Now      func() time.Time
}

// Recorder is an operation that keeps the history of its set. Run collects what happens; Record
// writes a revision afterwards.
type Recorder struct {
	*Operation
	store   history.Store
	options HistoryOptions

	ran      bool
	dryRun   bool
	begun    time.Time
	ended    time.Time
	summary  event.Summary
	err      error
	changes  map[history.Change]int // by change without its number
	tried    bool                   // a change was sent
	revision history.Meta           // that was written
	failures []string
	causes   map[int]ready.Cause // the first cause of each step
	evidence evidence
	adopted  []object.Ref
	created  *object.Set
	wrote    *object.Set // also objects whose writes failed
	renewed  *object.Set // of these, those that were not updated in place
	unstored unstored
	complete completions // Jobs that the run has seen succeed
	jobs     forgotten   // before the run
	deleted  bool        // an object was deleted to be created again, and was not
	unseen   bool        // the run does not wait until objects are ready
	forgot   error       // why the history of a destroyed set is not deleted
}

// NewRecorder returns a recorder of an operation.
func NewRecorder(c cluster.Writer, op *Operation, o HistoryOptions) *Recorder {
	return &Recorder{
		Operation: op, options: o, changes: map[history.Change]int{}, causes: map[int]ready.Cause{},
		evidence: newEvidence(), created: object.NewSet(), wrote: object.NewSet(),
		renewed:  object.NewSet(),
		unstored: newUnstored(), complete: completions{},
		store: history.Store{
			Cluster: c, Manager: HistoryManager, Limit: o.Limit, Secrets: o.Secrets,
			Keep: o.Restores,
			Exists: func(ctx context.Context, id string) (bool, error) {
				now, err := recordOf(ctx, c, op.Locked.Namespace, id)
				return now != nil, err
			},
		},
	}
}

// AwaitOnly changes the plan so that only some objects are waited for; nil: none. The revision says
// so, unless all others that are applied are ready once they are written.
func (r *Recorder) AwaitOnly(awaits func(object.Ref) bool) {
	r.unseen = r.Plan.AwaitOnly(awaits) || r.unseen
}

// Run runs the plan. It deletes the history of a set that is destroyed just before its record:
// nobody would find a history without a record.
func (r *Recorder) Run(
	ctx context.Context, options engine.Options, sink event.Sink,
) (event.Summary, error) {
	r.begun, r.ran, r.dryRun = r.options.Now(), true, options.DryRun != engine.DryRunNone
	if r.Plan.Destroys && !r.dryRun && !r.options.Keep && r.options.Limit > 0 {
		options.BeforeForget = func(
			closing context.Context, try func(context.Context) error,
		) error {
			return r.forget(ctx, closing, try)
		}
	}
	if !r.dryRun {
		r.jobs = forgetStarted(ctx, r.store, r.Operation)
	}
	r.summary, r.err = r.Operation.Run(ctx, options, func(e event.Event) {
		r.add(e)
		sink(e)
	})
	r.ended = r.options.Now()
	return r.summary, r.err
}

// forget deletes the history, unless the guard of the run has ended. Closing is the context of the
// end of the run. The error keeps the record. A user who may not delete the history gets no error:
// the objects are gone, and so is the record of the set. If the record cannot be deleted, by try,
// the history stays with it.
func (r *Recorder) forget(
	run, closing context.Context, try func(context.Context) error,
) (refused error) {
	if r.store.Set = r.History(); r.store.Set == (history.Set{}) {
		return nil
	}
	err := cluster.PermitAtEnd(run, closing)
	if err == nil {
		r.store.BeforeDelete = func(ctx context.Context) error {
			refused = try(ctx)
			return refused
		}
		err = r.store.DeleteAll(closing)
	}
	if refused != nil {
		return refused
	}
	if apierrors.IsForbidden(err) {
		r.forgot, err = r.explain(err), nil
	}
	if err = r.explain(err); err != nil {
		return fmt.Errorf("delete the history first: %w", errors.Unwrap(err))
	}
	return nil
}

// verbs are the words for successful writes.
var verbs = map[plan.Op]string{
	plan.Create: "created", plan.Update: "configured", plan.Delete: "pruned", plan.Orphan: "orphaned",
}

// add collects one event.
func (r *Recorder) add(e event.Event) {
	if len(e.Causes) > 0 {
		r.causes[e.Step] = e.Causes[0]
	}
	r.evidence.add(e)
	switch e.Kind {
	case event.Acted:
		r.unstored.add(r.Plan, e)
		if e.Op.Writes() && e.Outcome != event.Skipped {
			r.tried = true
			r.wrote.Insert(e.Ref)
			if e.Op != plan.Update || e.NotRecreated {
				r.renewed.Insert(e.Ref)
			}
		}
		if e.Op.Writes() && e.Outcome == event.Succeeded {
			r.changes[history.Change{Op: verbs[e.Op], Kind: e.Ref.Kind}]++
			if e.Op == plan.Create && !r.existed(e.Step) {
				r.created.Insert(e.Ref)
			}
			r.adopt(e)
		}
		if e.Outcome == event.Failed {
			r.fail(e)
			r.deleted = r.deleted || e.NotRecreated
		}
	case event.Settled:
		r.complete.add(e)
		if e.Outcome == event.Failed || e.Outcome == event.TimedOut {
			r.fail(e)
		}
	}
}

// adopt collects an object that the run took over: from others, or from nobody.
func (r *Recorder) adopt(e event.Event) {
	p := r.Plan
	if e.Op != plan.Update || e.Step >= len(p.Steps) {
		return
	}
	step := &p.Steps[e.Step]
	if step.ReasonCode == plan.ReasonAdopted || step.Have != nil && !p.Owner.Owns(step.Have) {
		r.adopted = append(r.adopted, e.Ref)
	}
}

// fail adds a failure, once for each object.
func (r *Recorder) fail(e event.Event) {
	text := e.Status.Message
	switch cause, known := r.causes[e.Step]; {
	case e.Err != nil:
		text = e.Err.Error()
	case known:
		text = cause.Message
	}
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
	name := e.Ref.Short()
	known := slices.ContainsFunc(r.failures, func(f string) bool {
		return f == name || strings.HasPrefix(f, name+": ")
	})
	if known || len(r.failures) == maxFailures {
		return
	}
	if text != "" {
		name += ": " + text
	}
	if len(name) > maxFailureText {
		name = strings.ToValidUTF8(name[:maxFailureText], "") + " ..."
	}
	r.failures = append(r.failures, name)
}

// Record writes a revision of a run that has changed something, or has tried to, or has found that
// everything is as it should be though the history does not say so: the run before failed or was
// killed, another program has deployed the set, or drift was accepted into its files. Of a set that
// was destroyed, done, it writes none, and returns why the history was not deleted. It does nothing
// after a dry run. The end of the context does not break it off at once. The error is for the user:
// the history is not that important to the run.
func (r *Recorder) Record(ctx context.Context, done bool) error {
	done = done && !r.Plan.LeavesUnknown()
	if r.ran && !r.dryRun && !r.tried {
		r.jobs.takeBack(ctx, r.store, r.Operation)
	}
	if r.ran && done && r.Plan.Destroys && !r.options.Keep {
		return r.forgot
	}
	mayLack := done && !r.Plan.Destroys && r.Basis.Partial == ""
	if !r.ran || r.dryRun || r.options.Limit == 0 || !r.tried && !mayLack {
		return nil
	}
	if r.store.Set = r.History(); r.store.Set == (history.Set{}) {
		return nil
	}
	closing, cancel := toRecord(ctx)
	defer cancel()
	ctx = cluster.Unguarded(closing)
	if r.store.Set.ID == "" {
		return nil // no record was written, so that nothing was
	}
	if r.format.continueHistory(ctx, r.store.Predecessor) == nil { // else it begins a new one
		r.store.Set = r.History()
	}
	objects := r.objects()
	r.unstored.set(objects)
	completed := r.complete.set(objects) + countCompleted(r.Plan)
	if !r.tried && !r.lacks(ctx, objects, completed) {
		return nil
	}
	revision := history.Revision{Meta: r.options.Describe(ctx)}
	revision.Time, revision.Outcome = r.ended.UTC().Truncate(time.Second), r.outcome()
	revision.Duration = r.ended.Sub(r.begun).Round(time.Millisecond).Seconds()
	revision.Failures, revision.Changes = r.failures, r.counted()
	var err error
	if revision.Details, err = r.Basis.details(); err != nil {
		return r.explain(err)
	}
	revision.Partial, revision.Adopted = r.Basis.Partial, r.adopted
	if r.failed() {
		revision.Evidence = r.evidence.of(r.Manifests)
	}
	kept := cmp.Or(r.unstored.keep(ctx, &r.store, r.Basis.former, objects),
		keepCompleted(ctx, &r.store, r.Basis.former, objects, r.started()))
	revision.Objects = objects
	r.revision, err = r.store.Write(ctx, revision)
	return r.explain(cmp.Or(err, kept)) // nobody can read any more what the newest revision said
}

// objects returns the objects of the revision.
func (r *Recorder) objects() (objects []history.Object) {
	if r.Plan.Destroys {
		return nil
	}
	for _, d := range r.Manifests {
		objects = append(objects, history.Object{Unstructured: d.Object, Source: d.Source})
	}
	return objects
}

// lacks reports whether the newest revision of the whole set does not describe it as a run without
// changes has found it. It sends one request; without the right to list revisions, it returns
// false.
func (r *Recorder) lacks(ctx context.Context, objects []history.Object, completed int) bool {
	heads, err := r.store.ListToWrite(ctx)
	if err != nil {
		return false
	}
	heads = slices.DeleteFunc(heads, func(h history.Head) bool { return h.Partial != "" })
	if len(heads) == 0 {
		return true
	}
	newest := heads[0]
	if newest.Err != nil || newest.Outcome != history.Succeeded && newest.Outcome != r.outcome() {
		return true
	}
	if r.unstored.count() > newest.Unstored || completed > newest.Completed {
		return true
	}
	for _, withoutSecrets := range []bool{false, true} {
		content, err := history.Content(objects, withoutSecrets)
		if err != nil || content == newest.Content {
			return false
		}
	}
	return true
}

// explain returns the error for the user.
func (r *Recorder) explain(err error) error {
	switch {
	case err == nil, apierrors.IsNotFound(err), apierrors.HasStatusCause(err, "NamespaceTerminating"):
		return nil // the run has deleted the namespace of the record
	case cluster.RefusalOf(err) == cluster.ByRights:
		return fmt.Errorf("the history is not up to date: %w; it needs the right to list, create and "+
			"delete secrets in namespace %s; --history-limit=0 keeps no history", err,
			r.store.Set.Namespace)
	case apierrors.IsForbidden(err):
		return fmt.Errorf("the history is not up to date: %w; --history-limit=0 keeps no history", err)
	default:
		return fmt.Errorf("the history is not up to date: %w", err)
	}
}

// Revision returns the description of the revision that Record has written. Its number is 0 if
// there is none.
func (r *Recorder) Revision() history.Meta { return r.revision }

// Created reports whether the run has created an object.
func (r *Recorder) Created(ref object.Ref) bool { return r.created.Has(ref) }

// Wrote reports whether the run has sent a write of an object.
func (r *Recorder) Wrote(ref object.Ref) bool { return r.wrote.Has(ref) }

// FailedAfterChanges reports whether the run has changed objects and was no success.
func (r *Recorder) FailedAfterChanges() bool {
	return (len(r.changes) > 0 || r.deleted) && r.failed()
}

// failed reports whether the run was no success.
func (r *Recorder) failed() bool {
	outcome := r.outcome()
	return outcome != history.Succeeded && outcome != history.Applied
}

// started returns the Jobs that the run has started, or was to start.
func (r *Recorder) started() *object.Set {
	started := startedJobs(r.Plan)
	for _, ref := range r.renewed.Refs() {
		started.Insert(ref)
	}
	return started
}

// existed reports whether the object of a step that creates it existed before the run.
func (r *Recorder) existed(step int) bool {
	p := r.Plan
	return r.replaces(step) || step < len(p.Steps) && p.Steps[step].Leaving != nil
}

// replaces reports whether a step deletes an object and creates it again.
func (r *Recorder) replaces(step int) bool {
	p := r.Plan
	return step < len(p.Steps) && p.Steps[step].Op == plan.Update
}

// outcome returns how the run ended, as the record of the set has it.
func (r *Recorder) outcome() history.Outcome {
	switch failed := r.summary.Failures(); {
	case failed > r.summary.Settled[event.Interrupted], r.err != nil, r.summary.Refused > 0:
		return history.Failed
	case failed > 0:
		return history.Interrupted
	case r.unseen:
		return history.Applied
	default:
		return history.Succeeded
	}
}

// counted returns the changes with their numbers, by operation and kind.
func (r *Recorder) counted() []history.Change {
	var changes []history.Change
	for c, n := range maps.All(r.changes) {
		c.Count = n
		changes = append(changes, c)
	}
	slices.SortFunc(changes, func(a, b history.Change) int {
		return cmp.Or(cmp.Compare(a.Op, b.Op), cmp.Compare(a.Kind, b.Kind))
	})
	return changes
}
