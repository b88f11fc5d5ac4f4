package run

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-deploy/muster"

	"github.com/muster-deploy/muster/controller/api/v1alpha1"
	"github.com/muster-deploy/muster/controller/internal/clusters"
	"github.com/muster-deploy/muster/controller/internal/gate"
	"github.com/muster-deploy/muster/controller/internal/source"
)

// job is one run of one Set.
type job struct {
	runner         *Runner
	set            *v1alpha1.Set
	run            *Run
	serviceAccount string
	source         muster.Source // with the files that were fetched
	slot           *slot         // of the gate
	ended          func()        // notes in the journal that the run only waits; nil for nothing
	load           *gate.Load    // the memory of the manifests; nil for none
	size           int64         // of the files that were fetched, in bytes
	idle           *time.Timer   // leaves the gate when nothing was written for a while
}

// name returns the name of the Set.
func (j *job) name() types.NamespacedName {
	return types.NamespacedName{Namespace: j.set.Namespace, Name: j.set.Name}
}

// do runs the job, with a slot of the gate until it only waits.
func (j *job) do(ctx context.Context, out *Outcome) {
	defer func() {
		if crash := recover(); crash != nil {
			out.Err, out.Phase = fmt.Errorf("internal error: %v", crash), j.run.Progress().Phase
		}
	}()
	defer j.unload()
	if err := j.slot.enter(ctx); err != nil {
		out.Err, out.Phase = err, Connecting
		return
	}
	defer j.slot.leave()
	out.Err = j.work(ctx, out)
	if out.Err != nil {
		out.Phase = j.run.Progress().Phase
	}
}

// work does the task.
func (j *job) work(ctx context.Context, out *Outcome) error {
	as, err := j.connect(ctx)
	if err != nil {
		return err
	}
	if j.run.Task == Destroy {
		return j.destroy(ctx, as, out)
	}
	if j.ended, err = j.runner.Journal.begin(j.set); err != nil {
		return err
	}
	defer j.ended()
	fetched, opened, err := j.open(ctx, as, out)
	if err != nil {
		return err
	}
	defer fetched.Release()
	out.Record = RecordOf(j.set)
	j.enter(Planning)
	if j.run.Task == Look {
		return j.look(ctx, as, opened, out)
	}
	if out.Opens, out.Held = j.heldUntil(out.Revision, j.runner.now()); out.Held {
		return j.hold(ctx, as, opened, out)
	}
	return j.deploy(ctx, as, opened, fetched, out)
}

// connect returns the identity as which the Set is deployed, and makes sure that the kinds of its
// cluster are known. Without a kubeconfig that may be used, nothing is watched with it any longer.
func (j *job) connect(ctx context.Context) (*clusters.Identity, error) {
	j.enter(Connecting)
	as, err := j.runner.Pool.As(ctx, j.set, j.serviceAccount)
	if err != nil {
		j.runner.Members.Forget(j.name())
		return nil, err
	}
	j.runner.Members.ForgetOthers(j.name(), as)
	if j.run.Task == Destroy || j.set.Status.Failures > 0 {
		err = as.Cluster.Rediscover(ctx) // kinds may have been defined since
	} else {
		_, _, err = as.Cluster.Resource(ctx, muster.Object{Kind: "Namespace"})
	}
	if err != nil {
		return nil, fmt.Errorf("connect to the cluster: %w", err)
	}
	return as, nil
}

// open opens the set: with the files of its source, or as the revision that is pinned has it.
func (j *job) open(
	ctx context.Context, as *clusters.Identity, out *Outcome,
) (*source.Fetched, *muster.Set, error) {
	j.source = sourceOf(j.set)
	if pin := int(j.set.Spec.Pin); pin > 0 {
		j.enter(Fetching)
		if err := j.weigh(ctx, pinnedBytes); err != nil {
			return nil, nil, err
		}
		j.enter(Opening)
		out.Revision = fmt.Sprintf("revision %d", pin)
		opened, err := j.reopen(ctx, as)
		return &source.Fetched{Revision: out.Revision, Release: func() {}}, opened, err
	}
	j.enter(Fetching)
	rules, err := j.runner.Sources.Rules(ctx, j.set)
	if err != nil {
		return nil, nil, err
	}
	fetched, err := j.fetch(ctx)
	if err != nil {
		return nil, nil, err
	}
	out.Revision = fetched.Revision
	j.opens(fetched.Revision)
	j.source.Files, j.source.FilesName = []string{fetched.Folder}, fetched.Name
	j.source.Root, j.source.Images, j.source.Rules = fetched.Root, fetched.Images, rules
	opened, err := j.reopen(ctx, as)
	if err != nil {
		fetched.Release()
	}
	return fetched, opened, err
}

// reopen opens the set with the files that were fetched, or as the revision that is pinned has it.
func (j *job) reopen(ctx context.Context, as *clusters.Identity) (*muster.Set, error) {
	if pin := int(j.set.Spec.Pin); pin > 0 {
		return muster.OpenRevision(ctx, as.Cluster, j.source, pin)
	}
	return muster.Open(ctx, as.Cluster, j.source)
}

// look finds out what an apply would do, and what others changed.
func (j *job) look(
	ctx context.Context, as *clusters.Identity, opened *muster.Set, out *Outcome,
) (err error) {
	out.Plan, out.Drifted, err = opened.Look(ctx, planOptions(j.set))
	if out.Plan == nil {
		return err
	}
	j.bind(as, out.Plan)
	if absent := (*muster.NoRecordError)(nil); errors.As(err, &absent) {
		out.Absent, err = true, nil
	}
	if err == nil {
		j.track(ctx, as, out)
	}
	return err
}

// deploy applies the set, if its mode allows that.
func (j *job) deploy(
	ctx context.Context, as *clusters.Identity, opened *muster.Set, fetched *source.Fetched,
	out *Outcome,
) (err error) {
	options := muster.ApplyOptions{
		PlanOptions: planOptions(j.set), Timeout: j.timeout(),
		Exact:   j.set.Spec.Mode == v1alpha1.ModePlan,
		History: j.history(fetched), Holder: j.holder(), Check: func(p *muster.Plan) error {
			out.Plan = p
			return j.check(ctx, as, p, out)
		},
	}
	written := newWrittenObjects()
	stop := j.compareOnRequest(ctx, as, written)
	out.Result, err = opened.Apply(ctx, options, j.hear(written.add))
	stop()
	if waiting := (*waitingError)(nil); errors.As(err, &waiting) {
		out.Waiting, err = true, nil
	}
	return err
}

// bind makes the digest of a plan that of one for its cluster, if that is another one: an approval
// does not count for still another.
func (j *job) bind(as *clusters.Identity, p *muster.Plan) {
	if j.set.Spec.Cluster != nil {
		p.Digest = fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(p.Digest+" "+as.Config.Host)))
	}
}

// waitingError ends an apply whose plan waits for its approval.
type waitingError struct{}

func (*waitingError) Error() string { return "the plan waits for its approval" }

// check looks at the plan before anything is written.
func (j *job) check(
	ctx context.Context, as *clusters.Identity, p *muster.Plan, out *Outcome,
) error {
	j.bind(as, p)
	if j.run.Outcome() != nil { // it was abandoned: another one may be under way
		return ErrTooLong
	}
	if j.unapproved(p) {
		return cmp.Or[error](j.writePlan(ctx, as, p), &waitingError{})
	}
	if len(p.Steps) > 0 { // objects that existed before go with the Set, too
		if err := j.runner.BeforeWrite(ctx, j.set); err != nil {
			return fmt.Errorf("prepare the Set for its deletion: %w", err)
		}
	}
	j.write(p)
	j.track(ctx, as, out)
	if p.Changes() {
		j.runner.Changed(j.name())
	}
	return nil
}

// write notes that a plan is about to be run.
func (j *job) write(p *muster.Plan) {
	j.progress(func(to *Progress) {
		to.Phase, to.Total, to.Changes = Writing, len(p.Steps), p.Changes()
	})
	j.idle.Reset(j.runner.quiet())
}

// track watches the objects of the plan. What cannot be watched is compared at every interval all
// the same, so that it is no error.
func (j *job) track(ctx context.Context, as *clusters.Identity, out *Outcome) {
	if j.set.Spec.Drift == v1alpha1.DriftIgnore || out.Plan == nil {
		return
	}
	var objects []muster.Object
	for _, step := range out.Plan.Steps {
		if step.Source != "" && step.Action != muster.Delete && step.Action != muster.Leave {
			objects = append(objects, step.Object)
		}
	}
	// Without a watch the objects are compared at every interval all the same.
	out.Fresh, _ = j.runner.Members.Track(ctx, j.name(), as, objects)
}

// holder returns how the run is called by those who wait for its lock. The lock of a process that
// was killed is free after less than half a minute.
func (j *job) holder() muster.Holder {
	return muster.Holder{
		Name: j.runner.Name, Command: "controller, " + string(j.run.Task), Wait: time.Minute,
		Waiting: func(string) { j.slot.leave() },
	}
}

// commitOf returns the branch or tag and the commit of a revision as Flux writes those of git:
// main@sha1:HASH, or sha1:HASH. Those of other artifacts have none.
func commitOf(revision string) (branch, commit string) {
	branch, digest, found := strings.Cut(revision, "@")
	if !found {
		branch, digest = "", revision
	}
	commit, isGit := strings.CutPrefix(digest, "sha1:")
	if !isGit {
		return "", ""
	}
	return branch, commit
}

// history returns what the history of the set keeps of the run.
func (j *job) history(fetched *source.Fetched) muster.HistoryOptions {
	o := muster.HistoryOptions{Tool: j.runner.Tool}
	if j.set.Spec.Pin > 0 {
		o.Message = fmt.Sprintf("Set %s, pinned to %s", j.name(), fetched.Revision)
	} else if oci := j.set.Spec.Source.OCI; oci != nil {
		separator := ":" // of a tag, which the digest follows
		if strings.HasPrefix(fetched.Revision, "sha256:") {
			separator = "@"
		}
		o.Source, o.Message = oci.URL+separator+fetched.Revision, "Set "+j.name().String()
	} else {
		o.Message = fmt.Sprintf("Set %s from %s", j.name(), fetched.Name)
		if j.set.Spec.Source.Artifact != nil {
			o.Message += ", " + fetched.Revision
			o.Branch, o.Commit = commitOf(fetched.Revision)
		}
	}
	if keep := j.set.Spec.History.Keep; keep != nil {
		o.Limit, o.Disabled = int(*keep), *keep == 0
	}
	return o
}
