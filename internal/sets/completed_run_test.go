package sets

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/history"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/sets/policy"
	"github.com/muster-deploy/muster/internal/testing/enginetest"
)

func jobOf(name string, completed time.Time) history.Object {
	job := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "batch/v1", "kind": "Job",
		"metadata": map[string]any{"name": name, "namespace": "shop"},
		"spec":     map[string]any{"ttlSecondsAfterFinished": int64(0)},
	}}
	return history.Object{Unstructured: job, Completed: completed}
}

// completedJobs returns the names of the Jobs that the newest revision calls completed.
func completedJobs(t *testing.T, server *enginetest.Cluster) (names []string) {
	t.Helper()
	store := &history.Store{Cluster: server, Set: historySet}
	known, err := newestCompletions(t.Context(), store)
	if err != nil {
		t.Fatal(err)
	}
	for ref := range known {
		names = append(names, ref.Name)
	}
	slices.Sort(names)
	return names
}

// runJobs lets a run with some steps for Jobs end with events, after one that has seen all
// succeed. It returns the recorder of the run, which has written no revision yet.
func runJobs(
	t *testing.T, server *enginetest.Cluster, steps map[string]plan.Step, events []event.Event,
	mode engine.DryRun,
) *Recorder {
	t.Helper()
	completed := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	var jobs []history.Object
	p := &plan.Plan{}
	for _, name := range []string{"a", "b", "c", "d"} {
		job := jobOf(name, completed)
		jobs = append(jobs, job)
		if step, ok := steps[name]; ok {
			step.Ref, step.Want = object.RefOf(job.Unstructured), job.Unstructured
			p.Steps = append(p.Steps, step)
		}
	}
	store := &history.Store{Cluster: server, Set: historySet, Limit: 9}
	meta := history.Meta{Outcome: history.Succeeded}
	if _, err := store.Write(t.Context(), history.Revision{Meta: meta, Objects: jobs}); err != nil {
		t.Fatal(err)
	}
	op := emitting(p, events...)
	op.Recorded = true
	for _, job := range jobs {
		op.Manifests = append(op.Manifests, plan.Desired{Object: job.Unstructured, Source: job.Source})
	}
	r := NewRecorder(server, op, HistoryOptions{Limit: 9, Now: time.Now,
		Describe: func(context.Context) history.Meta { return history.Meta{} }})
	_, err := r.Run(t.Context(), engine.Options{DryRun: mode}, func(event.Event) {})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestKilledRunForgetsCompletion: a run that is killed writes no revision. The one before it no
// longer calls the Jobs completed that the run was to start. An update in place starts none.
func TestKilledRunForgetsCompletion(t *testing.T) {
	steps := map[string]plan.Step{
		"a": {Op: plan.Create}, "b": {Op: plan.Update},
		"c": {Op: plan.Update, Replace: plan.ReplaceImmutable}, "d": {Op: plan.Skip},
	}
	for mode, want := range map[engine.DryRun][]string{
		engine.DryRunNone: {"b", "d"}, engine.DryRunServer: {"a", "b", "c", "d"},
	} {
		server := &enginetest.Cluster{}
		runJobs(t, server, steps, nil, mode)
		if got := completedJobs(t, server); !slices.Equal(got, want) {
			t.Errorf("mode %q: Jobs %q are completed, want %q", mode, got, want)
		}
	}
}

// TestKilledRunForgetsCompletionOfDeleted: the plan of an app leaves a Job unchanged that is being
// deleted, and its run creates the Job once it is gone.
func TestKilledRunForgetsCompletionOfDeleted(t *testing.T) {
	job := jobOf("a", time.Time{}).Unstructured
	leaving := job.DeepCopy()
	leaving.SetDeletionTimestamp(&metav1.Time{Time: time.Now()})
	server := &enginetest.Cluster{}
	runJobs(t, server, map[string]plan.Step{
		"a": {Op: plan.Unchanged, Have: leaving, Recreate: job},
		"b": {Op: plan.Unchanged, Have: job, Recreate: job}, "c": {Op: plan.Unchanged, Have: leaving},
	}, nil, engine.DryRunNone)
	want := []string{"b", "c", "d"}
	if got := completedJobs(t, server); !slices.Equal(got, want) {
		t.Errorf("Jobs %q are completed, want %q", got, want)
	}
}

// TestFailedRunForgetsCompletion: the revision of a run that failed calls Jobs completed that the
// run has not written: whether they were unchanged, left out of the run, or not in the plan.
func TestFailedRunForgetsCompletion(t *testing.T) {
	steps := map[string]plan.Step{
		"a": {Op: plan.Create}, "b": {Op: plan.Unchanged}, "c": {Op: plan.Skip},
	}
	failed := object.RefOf(jobOf("a", time.Time{}).Unstructured)
	server := &enginetest.Cluster{}
	r := runJobs(t, server, steps, []event.Event{
		{Kind: event.Acted, Op: plan.Create, Ref: failed, Outcome: event.Succeeded},
		{Kind: event.Settled, Op: plan.Create, Ref: failed, Outcome: event.Failed,
			Err: errors.New("BackoffLimitExceeded")},
	}, engine.DryRunNone)
	if err := r.Record(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	if number := r.Revision().Number; number != 2 {
		t.Fatalf("revision %d was written", number)
	}
	want := []string{"b", "c", "d"}
	if got := completedJobs(t, server); !slices.Equal(got, want) {
		t.Errorf("Jobs %q are completed, want %q", got, want)
	}
}

// TestFailedRunKeepsCompletionOfUpdated: an update in place, done or left out, starts no Job.
func TestFailedRunKeepsCompletionOfUpdated(t *testing.T) {
	update := plan.Step{Op: plan.Update}
	refs := map[string]object.Ref{}
	for _, name := range []string{"a", "b", "c"} {
		refs[name] = object.RefOf(jobOf(name, time.Time{}).Unstructured)
	}
	server := &enginetest.Cluster{}
	r := runJobs(t, server, map[string]plan.Step{"a": update, "b": update, "c": update},
		[]event.Event{
			{Kind: event.Acted, Op: plan.Update, Ref: refs["a"], Outcome: event.Succeeded},
			{Kind: event.Acted, Op: plan.Update, Ref: refs["b"], Outcome: event.Failed,
				NotRecreated: true},
			{Kind: event.Acted, Op: plan.Update, Ref: refs["c"], Outcome: event.Skipped},
		}, engine.DryRunNone)
	if err := r.Record(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	want := []string{"a", "c", "d"}
	if got := completedJobs(t, server); r.Revision().Number != 2 || !slices.Equal(got, want) {
		t.Errorf("revision %d calls Jobs %q completed, want %q", r.Revision().Number, got, want)
	}
}

// TestUntriedRunKeepsCompletion: a run that ends before its first write writes no revision and has
// started no Job. What others have started meanwhile stays started.
func TestUntriedRunKeepsCompletion(t *testing.T) {
	server := &enginetest.Cluster{}
	create := plan.Step{Op: plan.Create}
	r := runJobs(t, server, map[string]plan.Step{"a": create, "b": create}, []event.Event{{
		Kind: event.Acted, Op: plan.Create, Outcome: event.Skipped,
		Ref: object.RefOf(jobOf("a", time.Time{}).Unstructured),
	}}, engine.DryRunNone)
	store := &history.Store{Cluster: server, Set: historySet}
	others := []object.Ref{object.RefOf(jobOf("d", time.Time{}).Unstructured)}
	if err := store.ForgetCompleted(t.Context(), 1, others); err != nil {
		t.Fatal(err)
	}
	if got, want := completedJobs(t, server), []string{"c"}; !slices.Equal(got, want) {
		t.Errorf("during the run Jobs %q are completed, want %q", got, want)
	}
	if err := r.Record(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	want := []string{"a", "b", "c"}
	if got := completedJobs(t, server); r.Revision().Number != 0 || !slices.Equal(got, want) {
		t.Errorf("revision %d: Jobs %q are completed, want %q", r.Revision().Number, got, want)
	}
}

// TestRunForgetsCompletionOfReplaced: a Job was unchanged when the plan was made, and the run has
// created it, since others had deleted it meanwhile.
func TestRunForgetsCompletionOfReplaced(t *testing.T) {
	created := object.RefOf(jobOf("a", time.Time{}).Unstructured)
	server := &enginetest.Cluster{}
	r := runJobs(t, server, map[string]plan.Step{"a": {Op: plan.Unchanged}}, []event.Event{
		{Kind: event.Acted, Op: plan.Create, Ref: created, Outcome: event.Succeeded},
		{Kind: event.Settled, Op: plan.Create, Ref: created, Outcome: event.TimedOut},
	}, engine.DryRunNone)
	if err := r.Record(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	want := []string{"b", "c", "d"}
	if got := completedJobs(t, server); !slices.Equal(got, want) {
		t.Errorf("Jobs %q are completed, want %q", got, want)
	}
}

// damage makes the revisions unreadable.
func damage(t *testing.T, server *enginetest.Cluster) {
	t.Helper()
	for _, ref := range server.Refs().Refs() {
		if ref.Kind != "Secret" {
			continue
		}
		secret := server.Object(ref)
		data, ok := secret.Object["data"].(map[string]any)
		if !ok || data["objects"] == nil {
			t.Fatalf("%s has no objects", ref)
		}
		data["objects"] = "AAAA"
		server.Put(secret)
	}
}

// TestDamagedHistory: nobody can read whether Jobs have succeeded. The plan creates them and says
// so, and the run says that the history lacks it.
func TestDamagedHistory(t *testing.T) {
	server := &enginetest.Cluster{}
	r := runJobs(t, server, map[string]plan.Step{"a": {Op: plan.Create}}, nil, engine.DryRunServer)
	damage(t, server)
	r.Operation.cluster = server
	leaveCompleted(t.Context(), r.Operation, policy.Options{}, nil, time.Now())
	step := r.Plan.Steps[0]
	if step.Op != plan.Create || !strings.Contains(step.Reason, "it may have succeeded before") {
		t.Errorf("the step is %s: %s", step.Op, step.Reason)
	}
	server = &enginetest.Cluster{}
	created := object.RefOf(jobOf("a", time.Time{}).Unstructured)
	r = runJobs(t, server, map[string]plan.Step{"a": {Op: plan.Create}}, []event.Event{
		{Kind: event.Acted, Op: plan.Create, Ref: created, Outcome: event.Succeeded},
		{Kind: event.Settled, Op: plan.Create, Ref: created, Outcome: event.TimedOut},
	}, engine.DryRunNone)
	damage(t, server)
	if err := r.Record(t.Context(), false); err == nil ||
		!strings.Contains(err.Error(), "the history is not up to date: ") {
		t.Errorf("the run says: %v", err)
	}
}
