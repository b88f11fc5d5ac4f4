package view

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/ready"
)

// StatusLines prints Observed events, those that show lets through, each as the line that words makes of it.
func StatusLines(out io.Writer, show func(event.Event) bool, words func(event.Event) string) Printer {
	return &statusLines{out: out, show: show, words: words}
}

type statusLines struct {
	out   io.Writer
	show  func(event.Event) bool
	words func(event.Event) string
	err   error
}

// Event prints one status.
func (s *statusLines) Event(e event.Event) {
	if s.err == nil && s.show(e) {
		_, s.err = fmt.Fprintln(s.out, plain(s.words(e)))
	}
}

// Close gives the first error of writing.
func (s *statusLines) Close() error { return wrapWrite(s.err) }

// Status is what StatusJSON needs besides the events.
type Status struct {
	Inventory string // name of the record that the objects belong to
	Show      func(event.Event) bool
	Now       func() time.Time
}

// statusLine is one line of StatusJSON: the keys that other tools read, in alphabetical order, and the causes.
type statusLine struct {
	Group     string      `json:"group"`
	Inventory string      `json:"inventory-name"`
	Kind      string      `json:"kind"`
	Message   string      `json:"message"`
	Name      string      `json:"name"`
	Namespace string      `json:"namespace"`
	Status    ready.State `json:"status"`
	Timestamp string      `json:"timestamp"` // RFC 3339, seconds, UTC
	Type      string      `json:"type"`      // always "status"

	Causes []ready.Cause `json:"causes,omitempty"`
}

// StatusJSON prints Observed events as JSON, one object a line, in the schema of kpt live status.
func StatusJSON(out io.Writer, s Status) Printer {
	return StatusLines(out, s.Show, func(e event.Event) string {
		line := statusLine{
			Group: e.Ref.Group, Kind: e.Ref.Kind, Namespace: e.Ref.Namespace, Name: e.Ref.Name, Inventory: s.Inventory,
			Status: e.Status.State, Message: e.Status.Message, Timestamp: s.Now().UTC().Format(time.RFC3339), Type: "status",
			Causes: e.Causes,
		}
		text, err := json.Marshal(line)
		if err != nil {
			panic(fmt.Sprintf("marshal a struct of strings: %v", err)) // cannot happen
		}
		return string(text)
	})
}

// StatusTable shows events as a table of the latest status of each object, with the lines that
// causes makes below it: redrawn in place at every change where out is a terminal that holds the whole table, and otherwise
// printed once, at the end. Objects that show refuses at the moment are left out.
func StatusTable(out io.Writer, terminal Terminal, show func(event.Event) bool, causes func(event.Event) []string) Printer {
	return &statusTable{out: out, terminal: terminal, show: show, causes: causes, rows: map[object.Ref]event.Event{}}
}

type statusTable struct {
	out      io.Writer
	terminal Terminal
	show     func(event.Event) bool
	causes   func(event.Event) []string
	order    []object.Ref
	rows     map[object.Ref]event.Event // the latest of each
	drawn    int                        // lines on the screen
	err      error
}

// Event takes in one status. What was said of its causes holds until more is known.
func (t *statusTable) Event(e event.Event) {
	if e.Kind != event.Explained && e.Status.State != ready.Current && len(e.Causes) == 0 {
		e.Causes = t.rows[e.Ref].Causes
	}
	if _, ok := t.rows[e.Ref]; !ok {
		t.order = append(t.order, e.Ref)
	}
	t.rows[e.Ref] = e
	if t.terminal.Live {
		t.draw()
	}
}

// Close prints the table, unless it is on the screen already.
func (t *statusTable) Close() error {
	if !t.terminal.Live && len(t.order) > 0 {
		t.draw()
	}
	return wrapWrite(t.err)
}

// draw writes the whole table over the one that was drawn before, in one write.
func (t *statusTable) draw() {
	var b strings.Builder
	text := t.text()
	lines := strings.Count(text, "\n")
	if t.terminal.Live && t.terminal.Height > 0 && max(lines, t.drawn) >= t.terminal.Height {
		t.terminal.Live = false // what has scrolled away cannot be drawn over: it is printed at the end
		return
	}
	if t.drawn > 0 {
		fmt.Fprintf(&b, "\x1b[%dA\x1b[J", t.drawn) // up to its first line, and clear what is below
	}
	b.WriteString(text)
	t.drawn = lines
	if _, err := io.WriteString(t.out, b.String()); err != nil && t.err == nil {
		t.err = err
	}
}

func (t *statusTable) text() string {
	var b strings.Builder
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "NAMESPACE\tRESOURCE\tSTATUS\tMESSAGE")
	for _, ref := range slices.SortedFunc(slices.Values(t.order), byNamespace) {
		if e := t.rows[ref]; t.show(e) {
			fmt.Fprintf(table, "%s\t%s/%s\t%s\t%s\n", ref.Namespace, ref.Kind, ref.Name, e.Status.State, plain(firstLine(e.Status.Message)))
			for _, cause := range t.causes(e) {
				fmt.Fprintf(table, "\t\t\t  %s\n", plain(strings.TrimSpace(cause)))
			}
		}
	}
	table.Flush() // a strings.Builder takes everything
	var text strings.Builder
	for line := range strings.Lines(b.String()) {
		text.WriteString(t.terminal.fit(strings.TrimRight(line, " \n")) + "\n")
	}
	return t.terminal.colour(text.String())
}

// byNamespace sorts as the table does: by namespace, then as references are sorted.
func byNamespace(a, b object.Ref) int {
	if byNamespace := strings.Compare(a.Namespace, b.Namespace); byNamespace != 0 {
		return byNamespace
	}
	return object.Compare(a, b)
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

func wrapWrite(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("write the output: %w", err)
}
