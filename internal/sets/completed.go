package sets

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/history"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/ready"
	"github.com/muster-deploy/muster/internal/sets/policy"
)

var jobKind = schema.GroupKind{Group: "batch", Kind: "Job"}

// clockSkew is how much the clock of the server may be ahead.
const clockSkew = time.Minute

// ttlOf returns how long a Job stays after its end; ok is false if it does not remove itself.
func ttlOf(obj *unstructured.Unstructured) (ttl time.Duration, ok bool) {
	if obj == nil || obj.GroupVersionKind().GroupKind() != jobKind {
		return 0, false
	}
	seconds, ok, err := unstructured.NestedInt64(obj.Object, "spec", "ttlSecondsAfterFinished")
	return time.Duration(seconds) * time.Second, ok && err == nil
}

// completion is a Job that was seen to succeed.
type completion struct {
	digest string // of its content
	at     time.Time
}

// removed reports whether a Job with this completion has removed itself: it has the same content,
// and its time is over. Before that somebody else has deleted it.
func (c completion) removed(job *unstructured.Unstructured, now time.Time) bool {
	ttl, ok := ttlOf(job)
	if !ok || c.at.IsZero() || now.Add(clockSkew).Before(c.at.Add(ttl)) {
		return false
	}
	digest, err := history.DigestOf(job)
	return err == nil && digest == c.digest
}

// completions are Jobs that were seen to succeed.
type completions map[object.Ref]completion

// completionsOf returns those of a revision.
func completionsOf(r *history.Revision) completions {
	found := completions{}
	for _, obj := range r.Objects {
		if !obj.Completed.IsZero() {
			found[object.RefOf(obj.Unstructured)] = completion{obj.Digest, obj.Completed}
		}
	}
	return found
}

// countCompleted returns how many Jobs of a plan have succeeded and removed themselves.
func countCompleted(p *plan.Plan) (n int) {
	for i := range p.Steps {
		if p.Steps[i].ReasonCode == plan.ReasonCompleted {
			n++
		}
	}
	return n
}

// newestCompletions returns those of the newest revision.
func newestCompletions(ctx context.Context, s *history.Store) (completions, error) {
	revision, err := newestCompleted(ctx, s)
	if revision == nil {
		return nil, err
	}
	return completionsOf(revision), nil
}

// newestCompleted returns the newest revision; nil if none of its Jobs was seen to succeed, for
// which it need not be read.
func newestCompleted(ctx context.Context, s *history.Store) (*history.Revision, error) {
	return newestWith(ctx, s, func(h history.Head) int { return h.Completed })
}

// newestWith returns the newest revision if it counts any of something.
func newestWith(
	ctx context.Context, s *history.Store, count func(history.Head) int,
) (*history.Revision, error) {
	heads, err := s.ListToWrite(ctx)
	switch {
	case err != nil || len(heads) == 0:
		return nil, err
	case heads[0].Err != nil:
		return nil, fmt.Errorf("read revision %d: %w", heads[0].Number, heads[0].Err)
	case count(heads[0]) == 0:
		return nil, nil
	}
	return s.Read(ctx, heads[0].Number)
}

// Finished returns a function that returns why some missing objects of a set are as they should be:
// Jobs that have succeeded and removed themselves. It reads the history only if Jobs are missing.
func Finished(
	c cluster.Writer, set Set, now func() time.Time,
) func(context.Context, []object.Ref) map[object.Ref]string {
	return func(ctx context.Context, missing []object.Ref) map[object.Ref]string {
		return finished(ctx, c, set, missing, now())
	}
}

func finished(
	ctx context.Context, c cluster.Writer, set Set, missing []object.Ref, now time.Time,
) map[object.Ref]string {
	isJob := func(ref object.Ref) bool { return ref.GroupKind() == jobKind }
	if !slices.ContainsFunc(missing, isJob) {
		return nil
	}
	store, err := OpenHistory(ctx, c, set)
	if err != nil {
		return nil
	}
	revision, err := newestCompleted(ctx, store)
	if err != nil || revision == nil {
		return nil // they are missing, as far as anybody knows
	}
	known, found := completionsOf(revision), map[object.Ref]string{}
	for _, obj := range revision.Objects {
		ref := object.RefOf(obj.Unstructured)
		if slices.Contains(missing, ref) && known[ref].removed(obj.Unstructured, now) {
			found[ref] = plan.CompletedText
		}
	}
	return found
}

// add collects a Job that a run has seen succeed.
func (c completions) add(e event.Event) {
	if e.Kind == event.Settled && e.Outcome == event.Succeeded && e.Op.Applies() && e.Facts != nil &&
		!e.Facts.Completed.IsZero() {
		c[e.Ref] = completion{at: e.Facts.Completed}
	}
}

// set sets when the Jobs of a revision have succeeded, as the run has seen, and returns how many
// have.
func (c completions) set(objects []history.Object) (n int) {
	for i := range objects {
		obj := &objects[i]
		if _, ok := ttlOf(obj.Unstructured); !ok {
			continue
		}
		if obj.Completed = c[object.RefOf(obj.Unstructured)].at; !obj.Completed.IsZero() {
			n++
		}
	}
	return n
}

// startedJobs returns the Jobs that remove themselves and that a plan creates, also in place of
// live ones or after these are gone. An update in place starts none.
func startedJobs(p *plan.Plan) *object.Set {
	started := object.NewSet()
	for i := range p.Steps {
		step := &p.Steps[i]
		starts := step.Op == plan.Create || step.Op == plan.Update && step.Replace != "" ||
			recreatesDeleted(step)
		if _, ok := ttlOf(step.Want); ok && starts {
			started.Insert(step.Ref)
		}
	}
	return started
}

// forgotten are Jobs of which a revision no longer says that they have succeeded.
type forgotten struct {
	revision int
	jobs     []object.Ref
}

// forgetStarted lets the newest revision no longer say that the Jobs have succeeded which a run is
// about to start: if the run is killed, it writes no revision that says what became of them. It
// asks for revisions only if there are such Jobs. A failure counts for nothing: a run that is not
// killed writes a revision, or takes back what was forgotten.
func forgetStarted(ctx context.Context, s history.Store, op *Operation) (f forgotten) {
	started := startedJobs(op.Plan)
	if started.Len() == 0 || !op.Recorded {
		return f
	}
	if s.Set = op.History(); s.Set.ID == "" {
		return f
	}
	revision, err := newestCompleted(ctx, &s)
	if err != nil || revision == nil {
		return f
	}
	f.revision = revision.Number
	for ref := range completionsOf(revision) {
		if started.Has(ref) {
			f.jobs = append(f.jobs, ref)
		}
	}
	if len(f.jobs) > 0 {
		_ = s.ForgetCompleted(ctx, f.revision, f.jobs)
	}
	return f
}

// takeBack lets the revision say again that the Jobs have succeeded, after a run that has written
// nothing, unless the guard of the run has ended: another run may start them. A failure counts for
// nothing: the Jobs are started once more.
func (f forgotten) takeBack(ctx context.Context, s history.Store, op *Operation) {
	if len(f.jobs) == 0 {
		return
	}
	closing, cancel := toRecord(ctx)
	defer cancel()
	if s.Set = op.History(); s.Set.ID == "" || cluster.PermitAtEnd(ctx, closing) != nil {
		return
	}
	_ = s.RememberCompleted(cluster.Unguarded(closing), f.revision, f.jobs)
}

// keepCompleted sets, of the Jobs that a run was not to start and has not started, what the newest
// revision says or, if that is not nil, the one of the set whose objects they were.
func keepCompleted(
	ctx context.Context, s *history.Store, former *history.Revision, objects []history.Object,
	started *object.Set,
) (err error) {
	var earlier completions
	for i := range objects {
		obj, ref := &objects[i], object.RefOf(objects[i].Unstructured)
		if _, ok := ttlOf(obj.Unstructured); !ok || !obj.Completed.IsZero() || started.Has(ref) {
			continue
		}
		if earlier == nil {
			if former != nil {
				earlier = completionsOf(former)
			} else if earlier, err = newestCompletions(ctx, s); len(earlier) == 0 {
				return err
			}
		}
		digest, err := history.DigestOf(obj.Unstructured)
		if was := earlier[ref]; err == nil && was.digest == digest {
			obj.Completed = was.at
		}
	}
	return nil
}

// leaveCompleted lets a plan not create the Jobs that have succeeded and removed themselves, unless
// their kind is to be recreated, others take values from them, or all that was deployed beside them
// is to be created again. It reads the history only if the plan creates such a Job. Members are the
// objects of the record, nil if it lists none: a Job that is not among them is a new one.
func leaveCompleted(
	ctx context.Context, op *Operation, o policy.Options, members []object.Ref, now time.Time,
) {
	jobs, set := createdJobs(op.Plan, members), op.History()
	if len(jobs) == 0 || o.Recreates(jobKind) || !op.Recorded || set.ID == "" {
		return
	}
	revision, err := newestCompleted(ctx, storeOf(op.cluster, set))
	switch {
	case err != nil:
		for _, step := range jobs {
			step.Reason = fmt.Sprintf("it may have succeeded before and removed itself, which the history "+
				"would say: %v", err)
		}
	case revision != nil:
		completeJobs(op, jobs, revision, now)
	}
}

// createdJobs returns the steps of a plan that create Jobs which remove themselves, also in place
// of those that are doing so, and from which no other object takes values.
func createdJobs(p *plan.Plan, members []object.Ref) (jobs []*plan.Step) {
	sources := object.NewSet()
	for i := range p.Steps {
		for _, s := range p.Steps[i].Substitutions {
			sources.Insert(s.Source)
		}
	}
	for i := range p.Steps {
		step := &p.Steps[i]
		_, ok := ttlOf(step.Want)
		created := step.Op == plan.Create && step.Leaving == nil
		if ok && (created || isEnding(step)) && step.Draft == nil &&
			!sources.Has(step.Ref) && (members == nil || slices.Contains(members, step.Ref)) {
			jobs = append(jobs, step)
		}
	}
	return jobs
}

// isEnding reports whether a step creates its object once the live one is gone, a Job that is
// removing itself.
func isEnding(step *plan.Step) bool {
	return step.Op == plan.Create && ready.IsRemovingItself(step.Leaving) ||
		recreatesDeleted(step) && ready.IsRemovingItself(step.Have)
}

// recreatesDeleted reports whether a step of an app creates its unchanged object once that, which
// is being deleted, is gone.
func recreatesDeleted(step *plan.Step) bool {
	return step.Op == plan.Unchanged && step.Recreate != nil && step.Have != nil &&
		step.Have.GetDeletionTimestamp() != nil
}

// completeJobs lets those of the steps do nothing whose Jobs have succeeded, as a revision says,
// and have removed themselves.
func completeJobs(op *Operation, jobs []*plan.Step, revision *history.Revision, now time.Time) {
	known := completionsOf(revision)
	manifests := map[object.Ref]*unstructured.Unstructured{}
	for _, d := range op.Manifests {
		manifests[object.RefOf(d.Object)] = d.Object
	}
	p := op.Plan
	index := p.Index()
	for _, step := range jobs {
		if known[step.Ref].removed(manifests[step.Ref], now) &&
			!isRenewed(p, index, revision.Objects, step.Ref.Namespace) {
			step.Complete()
		}
	}
}

// isRenewed reports whether a plan creates a namespace, or all that a revision had in it beside
// Jobs that remove themselves: what these have done is gone.
func isRenewed(p *plan.Plan, index plan.Index, before []history.Object, namespace string) bool {
	home := object.Ref{Kind: plan.NamespaceKind.Kind, Name: namespace}
	if i, ok := index[home]; ok && p.Steps[i].Op == plan.Create {
		return true
	}
	created, others := 0, 0
	for _, obj := range before {
		i, ok := index[object.RefOf(obj.Unstructured)]
		if _, isJob := ttlOf(obj.Unstructured); isJob || !ok || p.Steps[i].Ref.Namespace != namespace {
			continue
		}
		others++
		if p.Steps[i].Op == plan.Create {
			created++
		}
	}
	return others > 0 && created == others
}
