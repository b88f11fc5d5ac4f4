package view_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/ready"
	"github.com/muster-deploy/muster/internal/show/view"
)

// seen shows one object after the other in a table on a terminal, does something after the first,
// and gives what was written.
func seen(
	t *testing.T, terminal view.Terminal, out *bytes.Buffer, objects int, after func(),
) string {
	t.Helper()
	everything := func(event.Event) bool { return true }
	printer := view.StatusTable(
		out,
		terminal,
		view.StatusOptions{Show: everything, Causes: func(event.Event) []string { return nil }},
	)
	for i := range objects {
		printer.Event(event.Event{
			Kind: event.Observed, Ref: object.Ref{Kind: "Pod", Name: fmt.Sprint("p", i)},
			Status: ready.Status{State: ready.Current},
		})
		if i == 0 {
			after()
		}
	}
	if err := printer.Close(nil); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

const (
	onePod  = "NAMESPACE  RESOURCE  STATUS   MESSAGE\n           Pod/p0    Current\n"
	twoPods = onePod + "           Pod/p1    Current\n"
)

// TestAside shows that a table is not drawn over what was written after it.
func TestAside(t *testing.T) {
	var out bytes.Buffer
	aside := &view.TerminalWriter{Out: &out}
	got := seen(
		t,
		view.Terminal{Live: true, Stderr: aside},
		&out,
		3,
		func() { fmt.Fprintln(aside, "Warning: old") },
	)
	if want := onePod + "Warning: old\n" + twoPods +
		"           Pod/p2    Current\n"; got != want {
		t.Errorf("written:\n%q\nwant\n%q", got, want)
	}
}

// TestOutgrown shows that of a table that outgrows the terminal no part is left standing above the
// last one.
func TestOutgrown(t *testing.T) {
	var out bytes.Buffer
	terminal := view.Terminal{Live: true, Height: 3}
	want := twoPods
	if got := seen(t, terminal, &out, 2, func() {}); got != want {
		t.Errorf("written:\n%q\nwant\n%q", got, want)
	}
	out.Reset()
	aside := &view.TerminalWriter{Out: &out}
	terminal.Stderr = aside
	got := seen(t, terminal, &out, 2, func() { fmt.Fprintln(aside, "Warning: old") })
	if want := onePod + "Warning: old\n" + twoPods; got != want {
		t.Errorf("written after a warning:\n%q\nwant\n%q", got, want)
	}
}

// TestRedraw shows that only the lines from the first change on are written again, and nothing for
// an event that changes none.
func TestRedraw(t *testing.T) {
	var out bytes.Buffer
	everything := func(event.Event) bool { return true }
	printer := view.StatusTable(&out, view.Terminal{Live: true}, view.StatusOptions{
		Show: everything, Causes: func(event.Event) []string { return nil },
	})
	for _, name := range []string{"p0", "p1", "p2", "p1", "p1"} {
		state := ready.Current
		if out.Len() > len(twoPods) {
			state = ready.Failed
		}
		printer.Event(event.Event{
			Kind: event.Observed, Ref: object.Ref{Kind: "Pod", Name: name},
			Status: ready.Status{State: state},
		})
	}
	if err := printer.Close(nil); err != nil {
		t.Fatal(err)
	}
	const failed, third = "           Pod/p1    Failed\n", "           Pod/p2    Current\n"
	want := twoPods + third + "\x1b[2F\x1b[J" + failed + third
	if got := out.String(); got != want {
		t.Errorf("written:\n%q\nwant\n%q", got, want)
	}
}

// TestNarrowed shows that a table in a window that was made narrower has its width, and is not
// drawn over lines that the terminal may have wrapped.
func TestNarrowed(t *testing.T) {
	var out bytes.Buffer
	width := 40
	size := func() (int, int) { return width, 10 }
	got := seen(t, view.Terminal{Live: true, Width: width, Height: 10, Size: size}, &out, 3,
		func() { width = 20 })
	const narrow = "NAMESPACE  RESOURCE…\n           Pod/p0  …\n           Pod/p1  …\n"
	if want := onePod + narrow + "           Pod/p2  …\n"; got != want {
		t.Errorf("written:\n%q\nwant\n%q", got, want)
	}
}
