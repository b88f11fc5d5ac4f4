package view_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/ready"
	"github.com/muster-deploy/muster/internal/show/view"
	"github.com/muster-deploy/muster/internal/testing/golden"
)

// TestStatus prints events, given as JSON lines, in every form. The section hide names a status
// that is filtered out. Escape sequences are made visible as <ESC>.
func TestStatus(t *testing.T) {
	golden.Run(
		t,
		"testdata/status_*.txtar",
		func(t *testing.T, files map[string]string) map[string]string {
			show := func(e event.Event) bool {
				return string(e.Status.State) != strings.TrimSpace(files["hide"])
			}
			now := func() time.Time { return time.Date(2030, 1, 2, 3, 4, 5, 6, time.FixedZone("", 3600)) }
			causes := func(e event.Event) (lines []string) {
				for _, c := range e.Causes {
					lines = append(lines, "    "+c.Message)
				}
				return lines
			}
			local := view.StatusOptions{Show: show, Causes: causes}
			forms := map[string]func(*bytes.Buffer) view.Printer{
				"lines": func(out *bytes.Buffer) view.Printer {
					return view.StatusLines(
						out, show, func(e event.Event) string { return fmt.Sprintf("%s %s", e.Ref, e.Status.State) },
					)
				},
				"json": func(out *bytes.Buffer) view.Printer {
					return view.StatusJSON(
						out, view.StatusOptions{Inventories: inventories("inv"), Show: show, Now: now},
					)
				},
				"table": func(out *bytes.Buffer) view.Printer {
					return view.StatusTable(out, view.Terminal{}, local)
				},
				"terminal": func(out *bytes.Buffer) view.Printer {
					return view.StatusTable(
						out, view.Terminal{Live: true, Colour: true, Width: 60, Height: 24}, local,
					)
				},
				"remotejson": func(out *bytes.Buffer) view.Printer {
					return view.StatusJSON(
						out,
						view.StatusOptions{
							Inventories:         inventories("one", "two"),
							Show:                show,
							Now:                 now,
							ShowRecordNamespace: true,
						},
					)
				},
				"remotetable": func(out *bytes.Buffer) view.Printer {
					return view.StatusTable(
						out,
						view.Terminal{},
						view.StatusOptions{
							Inventories:         inventories("one", "two"),
							Show:                show,
							Causes:              causes,
							ShowRecordNamespace: true,
						},
					)
				},
				"low": func(out *bytes.Buffer) view.Printer {
					return view.StatusTable(out, view.Terminal{Live: true, Width: 80, Height: 2}, local)
				},
			}
			got := map[string]string{}
			for name, form := range forms {
				var out bytes.Buffer
				printer := form(&out)
				for line := range strings.Lines(files["events"]) {
					var e event.Event
					if err := json.Unmarshal([]byte(line), &e); err != nil {
						t.Fatal(err)
					}
					printer.Event(e)
				}
				if err := printer.Close(nil); err != nil {
					t.Fatal(err)
				}
				got[name] = strings.ReplaceAll(out.String(), "\x1b", "<ESC>")
			}
			return got
		},
	)
}

// inventories has every object in all of these records, each in its namespace.
func inventories(names ...string) func(object.Ref) []object.Ref {
	var refs []object.Ref
	for _, name := range names {
		refs = append(refs, object.Ref{Namespace: "home-" + name, Name: name})
	}
	return func(object.Ref) []object.Ref { return refs }
}

// A closed output is an error, returned once.
func TestStatusCannotBeWritten(t *testing.T) {
	e := event.Event{Kind: event.Observed, Status: ready.Status{State: ready.Current}}
	everything := func(event.Event) bool { return true }
	for _, printer := range []view.Printer{
		view.StatusTable(broken{}, view.Terminal{}, view.StatusOptions{
			Show: everything, Causes: func(event.Event) []string { return nil },
		}),
		view.StatusJSON(broken{}, view.StatusOptions{
			Inventories: inventories("inv"), Show: everything, Now: time.Now,
		}),
	} {
		printer.Event(e)
		printer.Event(e)
		if err := printer.Close(nil); err == nil || err.Error() != "write the output: broken" {
			t.Errorf("error = %v", err)
		}
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, fmt.Errorf("broken") }
