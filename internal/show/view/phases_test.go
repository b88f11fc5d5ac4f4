package view_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/ready"
	"github.com/muster-deploy/muster/internal/show/view"
)

func ref(name string) object.Ref { return object.Ref{Kind: "Pod", Namespace: "n", Name: name} }

// twoRounds is a plan that creates a and b and then deletes c.
func twoRounds() *plan.Plan {
	return &plan.Plan{Steps: []plan.Step{
		{Ref: ref("a"), Op: plan.Create}, {Ref: ref("b"), Op: plan.Create},
		{Op: plan.Guard}, {Ref: ref("c"), Op: plan.Delete},
	}}
}

func acted(step int, op plan.Op, outcome event.Outcome) event.Event {
	return event.Event{Kind: event.Acted, Step: step, Op: op, Outcome: outcome}
}

func settled(step int, outcome event.Outcome) event.Event {
	return event.Event{Kind: event.Settled, Step: step, Outcome: outcome}
}

func TestPhases(t *testing.T) {
	waiting := event.Event{Kind: event.Waiting, Step: 0}
	seen := event.Event{Kind: event.Observed, Step: 0, Status: ready.Status{State: ready.InProgress}}
	events := []event.Event{
		acted(1, plan.Create, event.Failed), settled(1, event.Failed),
		acted(0, plan.Create, event.Succeeded), waiting, seen, seen, settled(0, event.Succeeded),
		acted(3, plan.Delete, event.Skipped), settled(3, event.Skipped),
	}
	for _, tc := range []struct {
		name    string
		options view.PhaseOptions
		events  []event.Event
		err     error
		want    string
	}{
		{name: "in the order of events", options: view.PhaseOptions{Waits: true, Statuses: true},
			events: events,
			want: `started recording; finished recording; acted applying 1; awaited waiting 1; acted applying 0;
			awaited waiting 0; seen waiting 0; awaited waiting 0; acted removing 3; awaited waiting 3; started recording;
			finished recording; summed applying; summed removing; summed waiting`},
		{name: "in rounds", options: view.PhaseOptions{Rounds: true, Waits: true}, events: events,
			want: `started recording; finished recording; started applying; acted applying 0; acted applying 1; finished applying;
			started waiting; awaited waiting 0; awaited waiting 1; awaited waiting 0; finished waiting; started removing;
			acted removing 3; finished removing; started waiting; awaited waiting 3; finished waiting; started recording;
			finished recording; summed applying; summed removing; summed waiting`},
		{name: "in rounds without waits", options: view.PhaseOptions{Rounds: true}, events: events,
			want: `started recording; finished recording; started applying; acted applying 0; acted applying 1; finished applying;
			started removing; acted removing 3; finished removing; started recording; finished recording; summed applying;
			summed removing`},
		{name: "interrupted", options: view.PhaseOptions{Rounds: true, Waits: true, Unstarted: true},
			events: []event.Event{settled(0, event.Interrupted), settled(1, event.Interrupted),
				settled(3, event.Interrupted)},
			want: `started recording; finished recording; awaited waiting 0; awaited waiting 1; awaited waiting 3;
			started recording; finished recording; summed waiting`},
		{name: "failed before the first event", err: errors.New("no server"),
			want: "started recording; finished recording"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var got []string
			printer := view.Phases(twoRounds(), tc.options, func(_ *view.RunState, e view.PhaseEvent) error {
				text := fmt.Sprintf("%s %s", e.Mark, e.Phase)
				if e.Event.Kind != "" {
					text += fmt.Sprint(" ", e.Event.Step)
				}
				got = append(got, text)
				return nil
			})
			for _, e := range tc.events {
				printer.Event(e)
			}
			if err := printer.Close(tc.err); err != nil {
				t.Fatal(err)
			}
			var want []string
			for text := range strings.SplitSeq(tc.want, ";") {
				want = append(want, strings.TrimSpace(text))
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestRunStateCounts(t *testing.T) {
	state := view.NewRunState(twoRounds())
	for _, e := range []event.Event{
		acted(0, plan.Create, event.Succeeded), settled(0, event.TimedOut),
		acted(1, plan.Create, event.Failed), settled(1, event.Failed),
		acted(3, plan.Delete, event.Skipped), settled(3, event.Skipped),
	} {
		state.Add(e)
	}
	if !state.Applies.Complete() || state.Applies.Done[plan.Create] != 1 ||
		state.Applies.Failed != 1 ||
		state.Removes.Skipped != 1 {
		t.Errorf("writes: %+v, %+v", state.Applies, state.Removes)
	}
	if want := (view.WaitCounts{Skipped: 2, TimedOut: 1}); state.Waits != want ||
		want.Attempted() != 3 {
		t.Errorf("waits: %+v", state.Waits)
	}
}

func tableOptions() view.TableOptions {
	return view.TableOptions{
		Columns: []view.Column{
			{Title: "NAME", Cell: func(m view.TableRow) []view.Span {
				return []view.Span{{Text: m.TreePrefix + m.Ref.Name}}
			}},
			{Title: "STATE", Width: 7, Cell: func(m view.TableRow) []view.Span {
				return []view.Span{{Text: string(m.Status.State), Colour: view.ColourOf(m.Status.State)}}
			}},
			{
				Title: "REASON",
				Cell:  func(m view.TableRow) []view.Span { return []view.Span{{Text: m.Reason}} },
			},
		},
		Reason:  func(_ *view.RunState, e view.PhaseEvent) string { return e.Event.Reason },
		Details: func(m view.TableRow) string { return "details of " + m.Ref.Name },
		Footer:  "end\n",
	}
}

func TestTable(t *testing.T) {
	p := twoRounds()
	options := tableOptions()
	options.Run = view.NewRunState(p)
	options.Show = func(m view.TableRow) bool { return m.Ref.Name != "c" }
	options.Children = func(refs []object.Ref) map[object.Ref][]view.TableRow {
		return map[object.Ref][]view.TableRow{refs[0]: {{Ref: ref("child"), TreePrefix: "└ "}}}
	}
	var out bytes.Buffer
	printer := view.Table(&out, view.Terminal{Width: 30}, view.PlanRows(p), options)
	send := func(e event.Event) {
		e.Ref = p.Steps[e.Step].Ref
		printer.Event(e)
	}
	failed := acted(1, plan.Create, event.Failed)
	failed.Reason = "the server refused the object"
	send(failed)
	send(acted(0, plan.Create, event.Succeeded))
	send(event.Event{Kind: event.Waiting, Step: 0, Status: ready.Status{State: ready.InProgress}})
	send(event.Event{Kind: event.Settled, Step: 0, Status: ready.Status{State: ready.Current}})
	printer.Event(event.Event{Kind: event.Observed, Ref: ref("unknown")})
	if err := printer.Close(nil); err != nil {
		t.Fatal(err)
	}
	want := "NAME     STATE    REASON\na        Current\n└ child\n" +
		"b                 the server …\ndetails of b\nend\n"
	if out.String() != want {
		t.Errorf("printed\n%s\nwant\n%s", out.String(), want)
	}
}

func TestTableInColour(t *testing.T) {
	var out bytes.Buffer
	rows := []view.TableRow{{Ref: ref("a")}}
	printer := view.Table(&out, view.Terminal{Live: true, Colour: true}, rows, tableOptions())
	states := []ready.State{ready.InProgress, ready.Failed, ready.Current, ready.NotFound}
	for _, state := range states {
		printer.Event(
			event.Event{Kind: event.Observed, Ref: ref("a"), Status: ready.Status{State: state}},
		)
	}
	if err := printer.Close(nil); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"\x1b[33mInProgr\x1b[0m", "\x1b[31mFailed\x1b[0m",
		"\x1b[32mCurrent\x1b[0m", "\x1b[1F\x1b[J"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in %q", want, out.String())
		}
	}
}

// brokenWriter refuses every write.
type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("broken") }

func TestWriteErrorsAreReturned(t *testing.T) {
	e := event.Event{Kind: event.Observed, Ref: ref("a"), Status: ready.Status{State: ready.Current}}
	show := func(event.Event) bool { return true }
	for name, printer := range map[string]view.Printer{
		"lines": view.StatusLines(brokenWriter{}, show, func(event.Event) string { return "x" }),
		"table": view.Table(brokenWriter{}, view.Terminal{}, []view.TableRow{{Ref: ref("a")}},
			tableOptions()),
	} {
		printer.Event(e)
		if err := printer.Close(nil); err == nil ||
			!strings.Contains(err.Error(), "write the output: broken") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What becomes of a step of an earlier round that is waited for again is printed.
func TestRelapseInRounds(t *testing.T) {
	p := &plan.Plan{Steps: []plan.Step{{Ref: ref("a"), Op: plan.Create}, {Op: plan.Barrier},
		{Ref: ref("b"), Op: plan.Create}, {Op: plan.Guard}, {Ref: ref("c"), Op: plan.Delete}}}
	waiting := func(i int, again bool) event.Event {
		return event.Event{Kind: event.Waiting, Step: i, Relapsed: again}
	}
	var got []string
	printer := view.Phases(p, view.PhaseOptions{Rounds: true, Waits: true},
		func(_ *view.RunState, e view.PhaseEvent) error {
			if e.Mark == view.Awaited && e.Event.Step == 0 {
				got = append(got, fmt.Sprintf("%s %s", e.Event.Kind, e.Event.Outcome))
			}
			return nil
		})
	for _, e := range []event.Event{
		acted(0, plan.Create, event.Succeeded), waiting(0, false), settled(0, event.Succeeded),
		acted(2, plan.Create, event.Succeeded), waiting(2, false), waiting(0, true),
		settled(2, event.Succeeded), settled(0, event.TimedOut),
		acted(4, plan.Delete, event.Skipped), settled(4, event.Skipped),
	} {
		printer.Event(e)
	}
	if err := printer.Close(nil); err != nil {
		t.Fatal(err)
	}
	want := []string{"waiting ", "settled succeeded", "waiting ", "settled timed out"}
	if !slices.Equal(got, want) {
		t.Errorf("printed %q, want %q", got, want)
	}
}
