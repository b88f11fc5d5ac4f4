package cmd

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/muster-deploy/muster/internal/golden"
	"github.com/muster-deploy/muster/internal/packages/packagestest"
	"github.com/muster-deploy/muster/internal/view"
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
