package kapp

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/muster-deploy/muster/internal/compat/kapp/change"
	"github.com/muster-deploy/muster/internal/compat/kapp/deploy"
	"github.com/muster-deploy/muster/internal/compat/kapp/ui"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/ready"
	"github.com/muster-deploy/muster/internal/sets/policy/config"
)

// TestErrorsOfARun checks the errors of runs in which changes fail.
func TestErrorsOfARun(t *testing.T) {
	refused := func(step int, text string) []event.Event {
		err := errors.New(text)
		return []event.Event{
			{Kind: event.Acted, Step: step, Outcome: event.Failed, Err: err},
			{Kind: event.Settled, Step: step, Outcome: event.Failed, Err: err},
		}
	}
	written := func(step int) event.Event {
		return event.Event{Kind: event.Acted, Step: step, Outcome: event.Succeeded}
	}
	unready := func(step int, text string) event.Event {
		return event.Event{
			Kind:    event.Settled,
			Step:    step,
			Outcome: event.Failed,
			Status:  ready.Status{State: ready.Failed, Message: text},
		}
	}
	late := func(step int, own bool) event.Event {
		return event.Event{Kind: event.Settled, Step: step, Outcome: event.TimedOut, StepTimeout: own}
	}
	for _, tc := range []struct {
		name   string
		late   bool // the run continues after an error
		events []event.Event
		want   string
	}{
		{"all goes well", false, []event.Event{written(0),
			{Kind: event.Settled, Step: 0, Outcome: event.Succeeded}}, ""},
		{"the first ends it", false, append(refused(0, "no"), refused(1, "nor")...),
			"create configmap/a (v1) cluster: no"},
		{"a change that could not be applied is reported once", true,
			refused(0, "[a field: is wrong, another: is, Too]"),
			"create configmap/a (v1) cluster: \n\n  - a field: is wrong\n\n  - another: is, Too\n\n"},
		{"what cannot be looked at", false, []event.Event{written(0),
			{Kind: event.Settled, Step: 0, Outcome: event.Failed, Err: errors.New("gone")}},
			"waiting on reconcile configmap/a (v1) cluster: Errored: gone"},
		{"all that goes wrong", true, append([]event.Event{written(2), late(2, true), written(1),
			unready(1, "bad")}, refused(0, "no")...),
			"\n\n  - create configmap/a (v1) cluster: no" +
				"\n\n  - waiting on reconcile configmap/b (v1) cluster: Finished unsuccessfully (bad)" +
				"\n\n  - waiting on reconcile configmap/c (v1) cluster: Errored: Resource timed out waiting " +
				"after 3s\n\n"},
		{"what was not ready in time", false, []event.Event{written(0), written(1), late(0, false),
			late(1, false)},
			"Timed out waiting after 1m0s for resources: \n\n  - configmap/a (v1) cluster\n\n  - " +
				"configmap/b (v1) cluster\n\n"},
		{"and what went wrong before", true, append(refused(0, "no"), written(1), late(1, false)),
			"\n\n  - create configmap/a (v1) cluster: no" +
				"\n\n  - Timed out waiting after 1m0s for resources: [configmap/b (v1) cluster]\n\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			flags := applyFlags{
				earlyApplyError: !tc.late,
				earlyWaitError:  !tc.late,
				waitTimeout:     time.Minute,
				resourceTimeout: 3 * time.Second,
			}
			var steps []plan.Step
			for _, name := range strings.Fields("a b c") {
				obj := liveOf(t, "{apiVersion: v1, kind: ConfigMap}")
				obj.SetName(name)
				changes, err := change.Calculate(nil, []live{obj}, config.Default(), change.Options{Wait: true})
				if err != nil {
					t.Fatal(err)
				}
				step := plan.Step{
					Ref: object.RefOf(obj), Op: plan.Create, Tag: &deploy.Work{Change: changes[0]},
				}
				steps = append(steps, step)
			}
			printer := newEventPrinter(ui.New(ui.Options{Out: io.Discard, Err: io.Discard}), flags, steps)
			for _, e := range tc.events {
				e.Tag = steps[e.Step].Tag
				printer.Event(e)
			}
			text := ""
			if err := printer.Close(false); err != nil {
				text = err.Error()
			}
			if text != tc.want {
				t.Errorf("error %q, want %q", text, tc.want)
			}
		})
	}
}
