package view_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/feature/livetree"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/ready"
	"github.com/muster-deploy/muster/internal/show/view"
)

// TestMessagesOfSeveralLines: a message that somebody wrote into a status is no line of its own in
// any output, and it is not printed at full length.
func TestMessagesOfSeveralLines(t *testing.T) {
	ref := object.Ref{Group: "x.dev", Kind: "Foo", Namespace: "shop", Name: "foo"}
	p := &plan.Plan{Steps: []plan.Step{{Ref: ref, Op: plan.Create, Wait: true}}}
	status := ready.Status{
		State:   ready.Failed,
		Message: "broken\nconfigmap/a created\r\nerror: b\u2028c" + strings.Repeat("x", 2<<20),
	}
	settled := event.Event{
		Kind: event.Settled, Op: plan.Create, Outcome: event.Failed, Ref: ref, Status: status,
		Causes: []ready.Cause{{Object: object.Ref{Kind: "Pod", Name: "p"}, Message: status.Message}},
	}
	for name, print := range map[string]func(io.Writer){
		"lines": func(out io.Writer) {
			lines := view.Lines(out, p, view.Formatter{
				Event:  func(_ *view.RunState, e event.Event) []string { return []string{e.Status.Message} },
				Notice: func(event.Event) string { return "" },
				Totals: func(*view.RunState) []view.Total { return nil },
			})
			lines.Event(settled)
			_ = lines.Close(errors.New("ended"))
		},
		"summary": func(out io.Writer) {
			w := view.NewFailureSummary(p, nil)
			w.Event(event.Event{Kind: event.Acted, Op: plan.Create, Outcome: event.Succeeded, Ref: ref})
			w.Event(settled)
			w.Print(out, 0)
		},
		"status table": func(out io.Writer) {
			table := view.StatusTable(out, view.Terminal{}, view.StatusOptions{
				Show: func(event.Event) bool { return true }, Causes: view.Causes,
			})
			table.Event(settled)
			_ = table.Close(nil)
		},
		"table": func(out io.Writer) {
			table := view.Table(out, view.Terminal{}, view.PlanRows(p), view.TableOptions{
				Columns: []view.Column{{Title: "MESSAGE", Cell: view.MessageCell}},
				Details: func(m view.TableRow) string { return m.Status.Message },
			})
			table.Event(settled)
			_ = table.Close(nil)
		},
		"tree": func(out io.Writer) {
			node := &livetree.Node{Ref: ref, Status: status, Containers: []livetree.Container{{
				Name: "c", State: "waiting", Reason: status.Message,
			}}}
			_, _ = io.WriteString(out, view.LiveTree([]*livetree.Node{node}, view.Terminal{},
				view.TreeOptions{}))
			for _, change := range view.TreeChanges(nil, []*livetree.Node{node}) {
				_, _ = io.WriteString(out, change.String()+"\n")
			}
		},
	} {
		var out bytes.Buffer
		print(&out)
		text := out.String()
		if !strings.Contains(text, "broken") || len(text) > 20<<10 || strings.Contains(text, "\r") ||
			strings.Contains(text, "\nconfigmap/a") || strings.Contains(text, "\nerror: b") {
			t.Errorf("%s: printed %d bytes: %.2000s", name, len(text), text)
		}
	}
}
