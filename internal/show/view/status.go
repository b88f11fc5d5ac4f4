package view

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/muster-deploy/muster/internal/base/plaintext"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/ready"
)

// StatusLines returns a printer of Observed events that show accepts, each as the line of words.
func StatusLines(
	out io.Writer, show func(event.Event) bool, words func(event.Event) string,
) Printer {
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
		_, s.err = fmt.Fprintln(s.out, plaintext.Printable(s.words(e)))
	}
}

// Close returns the first write error.
func (s *statusLines) Close(error) error { return wrapWrite(s.err) }

// StatusOptions are the options of StatusJSON and StatusTable.
type StatusOptions struct {
	Inventories func(object.Ref) []object.Ref // the records of an object: a line for each
	Show        func(event.Event) bool
	Now         func() time.Time           // for StatusJSON
	Causes      func(event.Event) []string // for StatusTable
	// ShowRecordNamespace prints the namespaces of records: several packages may have one name.
	ShowRecordNamespace bool
}

// statusLine is one line of StatusJSON: the keys that other tools read, sorted, and the causes.
type statusLine struct {
	Group           string      `json:"group"`
	Inventory       string      `json:"inventory-name"`
	RecordNamespace string      `json:"inventory-namespace,omitempty"`
	Kind            string      `json:"kind"`
	Message         string      `json:"message"`
	Name            string      `json:"name"`
	Namespace       string      `json:"namespace"`
	Status          ready.State `json:"status"`
	Timestamp       string      `json:"timestamp"` // RFC 3339, seconds, UTC
	Type            string      `json:"type"`      // always "status"

	Causes []ready.Cause `json:"causes,omitempty"`
}

// StatusJSON returns a printer of Observed events as JSON, one object a line, in the schema of kpt
// live status.
func StatusJSON(out io.Writer, s StatusOptions) Printer {
	return StatusLines(out, s.Show, func(e event.Event) string {
		var lines []string
		for _, inventory := range s.Inventories(e.Ref) {
			line := statusLine{
				Group: e.Ref.Group, Kind: e.Ref.Kind, Namespace: e.Ref.Namespace, Name: e.Ref.Name,
				Inventory: inventory.Name, Status: e.Status.State, Message: e.Status.Message,
				Timestamp: s.Now().UTC().Format(time.RFC3339), Type: "status", Causes: e.Causes,
			}
			if s.ShowRecordNamespace {
				line.RecordNamespace = inventory.Namespace
			}
			text, err := json.Marshal(line)
			if err != nil {
				panic(fmt.Sprintf("marshal a struct of strings: %v", err)) // cannot happen
			}
			lines = append(lines, string(text))
		}
		return strings.Join(lines, "\n")
	})
}

// StatusTable returns a printer of a table with the latest status of each object, and the lines of
// s.Causes below it. It redraws the table at every change if out is a terminal that holds all of
// it, else it prints the table once, at the end. It omits objects that s.Show rejects.
func StatusTable(out io.Writer, terminal Terminal, s StatusOptions) Printer {
	return &statusTable{
		screen:        screen{out: out, terminal: terminal},
		StatusOptions: s,
		rows:          map[object.Ref]event.Event{},
	}
}

type statusTable struct {
	screen
	StatusOptions
	order []object.Ref
	rows  map[object.Ref]event.Event // the latest of each
}

// Event applies one status. It keeps the causes of an object that is not ready until new ones come.
func (t *statusTable) Event(e event.Event) {
	if e.Kind != event.Explained && e.Status.State != ready.Current && len(e.Causes) == 0 {
		e.Causes = t.rows[e.Ref].Causes
	}
	if _, ok := t.rows[e.Ref]; !ok {
		t.order = append(t.order, e.Ref)
	}
	t.rows[e.Ref] = e
	if t.terminal.Live {
		t.draw(t.text())
	}
}

// Close prints the table unless it is on the screen.
func (t *statusTable) Close(error) error {
	if !t.terminal.Live && len(t.order) > 0 {
		t.draw(t.text())
	}
	t.finish()
	return wrapWrite(t.err)
}

func (t *statusTable) text() string {
	t.measure()
	var b strings.Builder
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	below := "\t\t\t  "
	if t.ShowRecordNamespace {
		fmt.Fprint(table, "INVENTORY\t")
		below = "\t" + below
	}
	fmt.Fprintln(table, "NAMESPACE\tRESOURCE\tSTATUS\tMESSAGE")
	for _, ref := range slices.SortedFunc(slices.Values(t.order), byNamespace) {
		if e := t.rows[ref]; t.Show(e) {
			fmt.Fprint(table, t.owners(ref))
			fmt.Fprintf(table, "%s\t%s/%s\t%s\t%s\n", plaintext.Line(ref.Namespace),
				plaintext.Line(ref.Kind), plaintext.Line(ref.Name), e.Status.State,
				plaintext.Line(firstLine(e.Status.Message)))
			for _, cause := range t.Causes(e) {
				fmt.Fprintf(table, "%s%s\n", below, plaintext.Line(strings.TrimSpace(cause)))
			}
		}
	}
	table.Flush() // a strings.Builder takes everything
	var text strings.Builder
	for line := range strings.Lines(b.String()) {
		text.WriteString(t.terminal.fit(strings.TrimRight(line, " \n")) + "\n")
	}
	return t.terminal.colourStates(text.String())
}

// owners returns the column of an object's records.
func (t *statusTable) owners(ref object.Ref) string {
	if !t.ShowRecordNamespace {
		return ""
	}
	var names []string
	for _, inventory := range t.Inventories(ref) {
		names = append(names, inventory.Namespace+"/"+inventory.Name)
	}
	return strings.Join(names, ",") + "\t"
}

// byNamespace compares references by namespace, then as object.Compare.
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
