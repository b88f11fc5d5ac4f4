package run

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/cli/setflags"
	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/show/changes"
	"github.com/muster-deploy/muster/internal/show/view"
	"github.com/muster-deploy/muster/internal/testing/golden"
	"github.com/muster-deploy/muster/internal/testing/packagestest"
)

// TestRun prints runs as JSON and as tables. Archives are as those of TestWording; a section
// failure is the error that ends the run.
func TestRun(t *testing.T) {
	now := func() time.Time { return time.Date(2030, 1, 2, 3, 4, 5, 6, time.UTC) }
	golden.Run(
		t,
		"testdata/run_*.txtar",
		func(t *testing.T, files map[string]string) map[string]string {
			p := packagestest.Steps(t, files["steps"])
			p.Destroys = strings.TrimSpace(files["command"]) == "destroy"
			waits := strings.TrimSpace(files["command"]) != "dry-run"
			forms := map[string]func(*bytes.Buffer) view.Printer{
				"json": func(out *bytes.Buffer) view.Printer {
					return view.Phases(
						p, view.PhaseOptions{Waits: waits, Unstarted: true},
						view.JSONLines{Out: out, Now: now, Reason: view.PlainReason, Detailed: true}.Print,
					)
				},
				"waves.json": func(out *bytes.Buffer) view.Printer {
					return view.Phases(
						p, view.PhaseOptions{Rounds: true, Waits: waits, Unstarted: true},
						view.JSONLines{Out: out, Now: now, Reason: view.PlainReason, Detailed: true}.Print,
					)
				},
				"table": func(out *bytes.Buffer) view.Printer {
					return view.Table(out, view.Terminal{}, view.PlanRows(p), view.TableOptions{
						Columns: runTable(p, now),
						Run:     view.NewRunState(p),
						Reason:  view.PlainReason,
					})
				},
				"narrow.table": func(out *bytes.Buffer) view.Printer {
					return view.Table(
						out,
						view.Terminal{Width: 70},
						view.PlanRows(p),
						view.TableOptions{
							Columns: runTable(p, now),
							Run:     view.NewRunState(p),
							Reason:  view.PlainReason,
							Details: rowDetails,
						},
					)
				},
			}
			got := map[string]string{}
			for name, form := range forms {
				var out bytes.Buffer
				printer := form(&out)
				for line := range strings.Lines(files["events"]) {
					printer.Event(packagestest.Event(t, p, line, now()))
				}
				var failure error
				if text := strings.TrimSpace(files["failure"]); text != "" {
					failure = errors.New(text)
				}
				if err := printer.Close(failure); err != nil {
					t.Fatal(err)
				}
				got[name] = strings.ReplaceAll(out.String(), "\x1b", "<ESC>")
			}
			return got
		},
	)
}

// TestAfterTimeout: what is printed after a run whose time is over is true, also if it wrote
// nothing.
func TestAfterTimeout(t *testing.T) {
	update := plan.Step{Ref: object.Ref{Kind: "ConfigMap", Name: "a"}, Op: plan.Update}
	unchanged := plan.Step{Ref: object.Ref{Kind: "Pod", Name: "b"}, Op: plan.Unchanged}
	for _, tc := range []struct {
		steps []plan.Step
		wrote bool
		want  string
	}{
		{[]plan.Step{update, unchanged}, true,
			"the record is complete, and the same command continues"},
		{[]plan.Step{update, unchanged}, false,
			"no object was changed; the same command begins again"},
		{[]plan.Step{unchanged}, false, "no object had to be changed; the same command waits again"},
	} {
		if got := afterTimeout(&plan.Plan{Steps: tc.steps}, tc.wrote); got != tc.want {
			t.Errorf("%v, wrote %v: %q, want %q", tc.steps, tc.wrote, got, tc.want)
		}
	}
}

// TestNotBegun words the error of a run whose time is over before it began, and no other.
func TestNotBegun(t *testing.T) {
	limited, cancel := context.WithDeadlineCause(t.Context(), time.Time{}, engine.ErrOutOfTime)
	defer cancel()
	unread, invalid := fmt.Errorf("read: %w", context.DeadlineExceeded), errors.New("invalid")
	r := run{timeout: time.Second}
	if err := r.notBegun(t.Context(), unread); err != unread {
		t.Errorf("a request has timed out: %v", err)
	}
	if err := r.notBegun(limited, invalid); err != invalid {
		t.Errorf("the manifest is invalid: %v", err)
	}
	const want = "the run has not begun within --timeout 1s; nothing was changed"
	for _, late := range []error{unread, engine.ErrOutOfTime} {
		if err := r.notBegun(limited, late); err == nil || err.Error() != want {
			t.Errorf("%v: %v, want %s", late, err, want)
		}
	}
}

// TestPrintForgotten: what a record says of objects controls no terminal.
func TestPrintForgotten(t *testing.T) {
	var out bytes.Buffer
	env := &cli.Env{Err: &out}
	printForgotten(env, &plan.Plan{Forgotten: []object.Ref{
		{Group: "a\x1b[2J", Kind: "K\u202e", Name: "n"},
	}})
	if text := out.String(); strings.ContainsAny(text, "\x1b\u202e") ||
		!strings.Contains(text, "K�.a�[2J any more") {
		t.Errorf("printed %q", text)
	}
}

// TestAgreesUnprinted: why a plan cannot be printed is the error, also if no screen can be drawn.
func TestAgreesUnprinted(t *testing.T) {
	var out bytes.Buffer
	r := run{
		env: &cli.Env{
			Err: &out, In: &out, Out: &out, Getenv: func(string) string { return "" }, Now: time.Now,
		},
		differences: setflags.Differences{Tool: "/no/such/program"},
	}
	obj := &unstructured.Unstructured{Object: map[string]any{"a": "b"}}
	shown := setflags.Shown{
		Changes: []changes.Change{{Line: "a", After: obj}}, Before: "before", After: "after",
	}
	_, err := r.agrees(t.Context(), question{shown: shown})
	if err == nil || !strings.Contains(err.Error(), "/no/such/program") {
		t.Errorf("the error is %v", err)
	}
}
