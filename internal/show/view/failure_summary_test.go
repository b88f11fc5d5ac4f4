package view_test

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/ready"
	"github.com/muster-deploy/muster/internal/show/view"
)

// TestFailureSummary prints the end of a run in which objects fell short in every way.
func TestFailureSummary(t *testing.T) {
	ref := func(kind, name string) object.Ref {
		return object.Ref{Kind: kind, Namespace: "shop", Name: name}
	}
	web := object.Ref{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "web"}
	p := &plan.Plan{Steps: []plan.Step{
		{Ref: ref("Service", "web"), Op: plan.Create},
		{Ref: web, Op: plan.Update, Source: "web.yaml:9"},
		{Ref: ref("PersistentVolumeClaim", "uploads"), Op: plan.Create, Source: "claim.yaml"},
		{Ref: ref("Service", "bad"), Op: plan.Create},
		{Ref: ref("Job", "after"), Op: plan.Create},
		{Ref: ref("ConfigMap", "foreign"), Op: plan.Skip, ReasonCode: plan.ReasonForeign},
		{Ref: ref("ConfigMap", "frozen"), Op: plan.Skip, ReasonCode: plan.ReasonCreateOnly},
		{Ref: ref("ConfigMap", "old"), Op: plan.Delete},
		{Ref: ref("ConfigMap", "held"), Op: plan.Keep, ReasonCode: plan.ReasonHeld},
		{Ref: ref("ConfigMap", "late"), Op: plan.Create},
		{Ref: ref("Pod", "gone"), Op: plan.Update},
	}}
	w := view.NewFailureSummary(p, func(_ *plan.Step, err error) string { return err.Error() })
	blocker := 3
	send := func(step int, e event.Event) {
		e.Step, e.Ref = step, p.Steps[step].Ref
		if e.Op == "" {
			e.Op = p.Steps[step].Op
		}
		w.Event(e)
	}
	acted := func(step int, o event.Outcome) { send(step, event.Event{Kind: event.Acted, Outcome: o}) }
	settled := func(step int, o event.Outcome, message string) {
		send(step, event.Event{Kind: event.Settled, Outcome: o, Status: ready.Status{Message: message}})
	}
	acted(0, event.Succeeded)
	settled(0, event.Succeeded, "")
	for _, i := range []int{1, 2, 7} {
		acted(i, event.Succeeded)
	}
	send(1, event.Event{Kind: event.Explained, Causes: []ready.Cause{{
		Object: ref("Pod", "web-7c9-abc"), Count: 2, Container: "main", Previous: true,
		Message: "container main crashes", Log: []string{"no database"},
	}}})
	settled(1, event.TimedOut, "Updated: 2/4")
	send(2, event.Event{Kind: event.Explained, Causes: []ready.Cause{{
		Object: p.Steps[2].Ref, Count: 1, Message: "storage class \"fast\" not found",
	}}})
	settled(2, event.TimedOut, "pending")
	send(3, event.Event{Kind: event.Acted, Outcome: event.Failed, Err: errors.New("no ports")})
	settled(3, event.Failed, "")
	send(4, event.Event{Kind: event.Acted, Outcome: event.Skipped, Blocker: &blocker})
	settled(4, event.Skipped, "")
	for _, i := range []int{5, 6, 8} {
		send(i, event.Event{Kind: event.Acted, Outcome: event.Skipped, Reason: "because"})
		settled(i, event.Skipped, "")
	}
	settled(7, event.TimedOut, "it has finalizers")
	settled(9, event.Interrupted, "")
	send(10, event.Event{Kind: event.Acted, Outcome: event.Failed, NotRecreated: true,
		Err: errors.New("deleted, but not created again: why")})
	settled(10, event.Interrupted, "")
	var out bytes.Buffer
	w.Print(&out, 40*time.Second+time.Millisecond)
	want := "error: 1 of 11 objects was deleted, but not created again after 40s; " +
		"2 are not ready; 1 is not deleted; 1 could not be applied; 2 were skipped; 1 was kept; " +
		"1 was interrupted\n" + `- shop/pod/gone was deleted, but not created again: why
- shop/deployment.apps/web is not ready: Updated: 2/4 (web.yaml:9)
    2 pods: container main crashes
      | no database
    next: kubectl -n shop logs web-7c9-abc -c main --previous
- shop/persistentvolumeclaim/uploads is not ready: pending (claim.yaml)
    storage class "fast" not found
    next: kubectl -n shop describe persistentvolumeclaim/uploads
- shop/configmap/old is not deleted: it has finalizers
    next: kubectl -n shop describe configmap/old
- shop/service/bad could not be applied: no ports
- shop/job/after was skipped: it depends on shop/service/bad, which failed
- shop/configmap/foreign was skipped: because
- shop/configmap/held was kept: because
`
	if got := out.String(); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

// Of an object that others have taken over, the last word says that it was not destroyed. That it
// is not pruned is no fault.
func TestFailureSummaryOfOthers(t *testing.T) {
	for _, destroys := range []bool{true, false} {
		p := &plan.Plan{Destroys: destroys, Steps: []plan.Step{{
			Ref: object.Ref{Kind: "ConfigMap", Namespace: "shop", Name: "a"}, Op: plan.Orphan,
			ReasonCode: plan.ReasonForeign,
		}}}
		w := view.NewFailureSummary(p, nil)
		w.Event(event.Event{Kind: event.Acted, Op: plan.Orphan, Outcome: event.Skipped,
			Reason: `it belongs to package "b"`, ReasonCode: plan.ReasonForeign})
		var out bytes.Buffer
		w.Print(&out, 0)
		want := ""
		if destroys {
			want = "error: 1 of 1 object was kept\n" +
				"- shop/configmap/a was kept: it belongs to package \"b\"\n"
		}
		if out.String() != want {
			t.Errorf("destroys %v: got %q", destroys, out.String())
		}
	}
}

// A run in which every object succeeded has no last word.
func TestNoFailureSummary(t *testing.T) {
	p := &plan.Plan{Steps: []plan.Step{{Ref: object.Ref{Kind: "ConfigMap", Name: "a"}}}}
	p.Steps[0].Op = plan.Create
	w := view.NewFailureSummary(p, nil)
	w.Event(event.Event{Kind: event.Acted, Op: plan.Create, Outcome: event.Succeeded})
	w.Event(event.Event{Kind: event.Settled, Op: plan.Create, Outcome: event.Succeeded})
	var out bytes.Buffer
	w.Print(&out, time.Minute)
	if out.Len() > 0 {
		t.Errorf("got %q", out.String())
	}
}

// TestNextCommandReplaces names the pod that somebody has to delete before the causes of others.
func TestNextCommandReplaces(t *testing.T) {
	set := object.Ref{Group: "apps", Kind: "StatefulSet", Namespace: "shop", Name: "kv"}
	pod := object.Ref{Kind: "Pod", Namespace: "shop", Name: "kv-1"}
	causes := []ready.Cause{{Object: pod, Container: "c"}, {Object: pod, Replace: true}}
	got := view.NextCommand(set, causes, "--context", "a b")
	if want := "kubectl -n shop delete pod kv-1 --context 'a b'"; got != want {
		t.Errorf("NextCommand() = %s, want %s", got, want)
	}
}

// TestNextCommandOmitsPodsThatAreGone describes the Job whose controller deleted the failed pod.
func TestNextCommandOmitsPodsThatAreGone(t *testing.T) {
	job := object.Ref{Group: "batch", Kind: "Job", Namespace: "shop", Name: "import"}
	pod := object.Ref{Kind: "Pod", Namespace: "shop", Name: "import-1"}
	got := view.NextCommand(job, []ready.Cause{{Object: pod, Container: "c", Gone: true}})
	if want := "kubectl -n shop describe job.batch/import"; got != want {
		t.Errorf("NextCommand() = %s, want %s", got, want)
	}
}
