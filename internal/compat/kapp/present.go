package kapp

import (
	"strings"
	"time"

	"github.com/muster-deploy/muster/internal/compat/kapp/change"
	"github.com/muster-deploy/muster/internal/compat/kapp/deploy"
	"github.com/muster-deploy/muster/internal/compat/kapp/textdiff"
	"github.com/muster-deploy/muster/internal/compat/kapp/ui"
)

// changePrinter prints changes as the flags ask: as YAML, as diffs, and as a table.
type changePrinter struct {
	*session
	diff      diffFlags
	changes   []*change.Change
	masker    *change.Masker        // of the diffs; nil prints all values
	newMasker func() *change.Masker // of the YAML
}

// changes returns a printer for the changes of a run.
func (s *session) changes(diff diffFlags, r *deploy.Run) changePrinter {
	return changePrinter{s, diff, r.Changes(), r.Masker(), r.NewMasker}
}

func (p changePrinter) print() error {
	if p.diff.asYAML {
		if err := p.printYAML(); err != nil {
			return err
		}
	}
	if p.diff.changes {
		if err := p.printDiffs(); err != nil {
			return err
		}
	}
	if !p.diff.summary {
		return nil
	}
	return p.ui.Table(changesTable(p.changes, p.env.Now()))
}

func (p changePrinter) printYAML() error {
	masker := p.newMasker()
	for _, c := range p.changes {
		comment, object, err := c.YAML(masker)
		if err != nil {
			return err
		}
		if comment != "" {
			style := opCell(c.ApplyOp().Word()).Style
			p.ui.Block("---\n" + p.ui.Paint(style, comment) + "\n" + object + "\n")
		}
	}
	return nil
}

// printDiffs prints the diff of every change. A diff that cannot be masked is replaced by the
// error.
func (p changePrinter) printDiffs() error {
	for _, c := range p.changes {
		var b strings.Builder
		p.ui.Part("@@ " + c.ApplyOp().Word() + " " + c.Description() + " @@\n")
		before, after, err := c.Texts(p.masker)
		if err != nil {
			b.WriteString("Error masking diff: " + err.Error())
		} else if err := p.write(&b, before, after); err != nil {
			return err
		}
		p.ui.Block(b.String())
	}
	return nil
}

// write writes the difference of two texts.
func (p changePrinter) write(b *strings.Builder, before, after string) error {
	return textdiff.Write(b, textdiff.Compare(before, after, p.diff.anchored), textdiff.Format{
		Context: p.diff.context, Numbers: p.diff.numbers,
		Colour: ui.Colours(p.env.IsTerminal(), p.env.Getenv),
	})
}

// changesTable returns the table of changes with their numbers below it.
func changesTable(changes []*change.Change, now time.Time) ui.Table {
	table := ui.Table{
		Title: "Changes",
		Header: []ui.Column{
			{
				Key:   "namespace",
				Title: "Namespace",
			}, {Key: "name", Title: "Name"}, {Key: "kind", Title: "Kind"},
			{
				Key:    "version",
				Title:  "Version",
				Hidden: true,
			}, {Key: "age", Title: "Age"}, {Key: "op", Title: "Op"},
			{Key: "op_strategy", Title: "Op st."}, {Key: "wait_to", Title: "Wait to"},
			{Key: "reconcile_state", Title: "Rs"}, {Key: "reconcile_info", Title: "Ri"},
		},
		SortBy: ui.SortBy(0, 1, 2, 3),
	}
	for _, c := range changes {
		row := c.Row()
		table.Rows = append(table.Rows, []ui.Cell{
			ui.Namespace(
				row.Namespace,
			), {Text: row.Name}, {Text: row.Kind}, {Text: row.Version}, ageCell(row.Created, now),
			opCell(row.Op),
			{
				Text: row.Strategy,
			}, {Text: row.WaitTo}, stateCell(row.State), {Text: ui.Wrap(row.Info, infoWidth)},
		})
	}
	op, wait := change.Summary(changes)
	table.Notes = []string{"Op:      " + op, "Wait to: " + wait}
	return table
}

// ageCell returns the cell of an age; empty for the zero time.
func ageCell(created, now time.Time) ui.Cell {
	if created.IsZero() {
		return ui.Cell{}
	}
	return ui.Cell{Text: ui.Age(created, now)}
}

// opCell returns the cell for an operation; empty for none.
func opCell(op string) ui.Cell { return ui.Judged(op, op == string(change.Delete)) }

// stateCell returns the cell for the state of a live object.
func stateCell(state string) ui.Cell { return ui.Judged(state, state != "ok") }
