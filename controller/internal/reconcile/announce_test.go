package reconcile

import (
	"errors"
	"testing"
	"time"

	"k8s.io/client-go/tools/events"

	"github.com/muster-deploy/muster"
	"github.com/muster-deploy/muster/controller/internal/run"
)

// TestAnnounce checks the event of each outcome of a run, of one that brings news and of one that
// keeps a Set as it was.
func TestAnnounce(t *testing.T) {
	nothing := &muster.Plan{Digest: "d1"}
	result := func(outcome muster.Outcome, written int) *muster.Result {
		return &muster.Result{Outcome: outcome, Written: written}
	}
	web := muster.Object{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "web"}
	for name, test := range map[string]struct {
		out        run.Outcome
		news, kept string
	}{
		"error": {run.Outcome{Err: errors.New("line 3"), Phase: run.Opening},
			"Warning ManifestsInvalid line 3", "Warning ManifestsInvalid line 3"},
		"approval": {run.Outcome{Waiting: true, Plan: nothing},
			"Normal WaitingForApproval nothing to change: d1",
			"Normal WaitingForApproval nothing to change: d1"},
		"failure": {run.Outcome{Result: result(muster.Failed, 1), Plan: nothing},
			"Warning Failed objects were left alone that belong to others",
			"Warning Failed objects were left alone that belong to others"},
		"window": {run.Outcome{Held: true, Plan: nothing, Revision: "r1",
			Opens: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)},
			"Normal WaitingForWindow r1: nothing to change; the window opens at 2026-01-02T03:04:05Z",
			""},
		"drift": {run.Outcome{Drifted: []muster.Drifted{{Object: web}, {Object: web}}},
			"Warning Drifted objects that differ: 2, first " + web.String(),
			"Warning Drifted objects that differ: 2, first " + web.String()},
		"written": {run.Outcome{Result: result(muster.Succeeded, 2), Plan: nothing, Revision: "r1"},
			"Normal Applied r1: nothing to change", "Normal Corrected objects put back: 2"},
		"unchanged": {run.Outcome{Result: result(muster.Succeeded, 0), Plan: nothing, Revision: "r1"},
			"Normal Applied r1: nothing to change", ""},
		"comparison": {run.Outcome{}, "", ""},
	} {
		for news, want := range map[bool]string{true: test.news, false: test.kept} {
			recorder := events.NewFakeRecorder(1)
			(&Reconciler{Recorder: recorder}).announce(inCluster(""), &test.out, news)
			got := ""
			if len(recorder.Events) > 0 {
				got = <-recorder.Events
			}
			if got != want {
				t.Errorf("%s, news %t: %q, want %q", name, news, got, want)
			}
		}
	}
}
