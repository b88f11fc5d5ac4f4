package view_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/show/view"
)

// One object after the other is explained, as often as there is something new to say, until the
// screen has no room for more objects. What is left out is counted.
func TestExplanationsOfManyObjects(t *testing.T) {
	p := &plan.Plan{Steps: make([]plan.Step, 22)}
	for i := range p.Steps {
		p.Steps[i].Op = plan.Create
	}
	cause := ""
	words := view.Formatter{
		Event: func(_ *view.RunState, e event.Event) []string {
			if e.Kind != event.Explained {
				return nil
			}
			return []string{fmt.Sprintf("step %d %s", e.Step, cause)}
		},
		Notice:  func(event.Event) string { return "" },
		Omitted: func(objects int) string { return fmt.Sprintf("and %d more", objects) },
		Totals:  func(*view.RunState) []view.Total { return nil },
	}
	var out bytes.Buffer
	printer := view.Lines(&out, p, words)
	explain := func(step int, text string) {
		cause = text
		printer.Event(event.Event{Kind: event.Explained, Step: step, Op: plan.Create})
	}
	for range 30 {
		explain(0, "flaps")
		explain(0, "crashes")
	}
	for i := range p.Steps {
		explain(i, "waits")
		printer.Event(event.Event{Kind: event.Settled, Step: i, Op: plan.Create, Outcome: event.Failed})
	}
	for i := range p.Steps {
		explain(i, "failed")
	}
	if err := printer.Close(nil); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]int{"step 0 flaps": 30, "waits": 20, "step 21": 0,
		"failed": 20, "and 2 more": 1} {
		if got := strings.Count(out.String(), text); got != want {
			t.Errorf("%q stands there %d times, want %d:\n%s", text, got, want, out.String())
		}
	}
}
