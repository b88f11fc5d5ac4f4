package view_test

import (
	"bytes"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/show/view"
)

// A run that prints nothing for 15 seconds says what it waits for, until it ends.
func TestHeartbeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &plan.Plan{}
		for i := range 6 {
			ref := object.Ref{Kind: "Pod", Name: fmt.Sprint("p", i)}
			p.Steps = append(p.Steps, plan.Step{Ref: ref, Op: plan.Create})
		}
		var out, beats bytes.Buffer
		h := view.NewHeartbeat(&out, &beats)
		h.Start(p)
		for i := range 5 {
			h.Event(event.Event{Kind: event.Acted, Step: i, Op: plan.Create, Outcome: event.Succeeded})
			h.Event(event.Event{Kind: event.Waiting, Step: i, Op: plan.Create})
		}
		time.Sleep(10 * time.Second)
		fmt.Fprintln(h, "a line")
		time.Sleep(16 * time.Second)
		for i := range 5 {
			h.Event(event.Event{Kind: event.Settled, Step: i, Op: plan.Create, Outcome: event.Succeeded})
		}
		time.Sleep(15 * time.Second)
		h.Stop()
		time.Sleep(time.Minute)
		synctest.Wait()
		want := "still waiting after 25s: 6 of 6 objects are not ready: " +
			"pod/p0, pod/p1, pod/p2 and 3 more\n" +
			"still waiting after 40s: 1 of 6 objects is not ready\n"
		if got := beats.String(); got != want || out.String() != "a line\n" {
			t.Errorf("got:\n%s\nwant:\n%s", got, want)
		}
	})
}
