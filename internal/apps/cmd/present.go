package cmd

import (
	"strings"
	"time"

	"github.com/muster-deploy/muster/internal/apps/change"
	"github.com/muster-deploy/muster/internal/apps/textdiff"
	"github.com/muster-deploy/muster/internal/apps/ui"
)

// present prints the changes as the flags ask: as YAML, as differences and as a table.
func (r *rollout) present() error {
	if r.diff.asYAML {
		if err := r.presentYAML(); err != nil {
			return err
		}
	}
	if r.diff.changes {
		if err := r.presentTexts(); err != nil {
			return err
		}
	}
	if !r.diff.summary {
		return nil
	}
	return r.ui.Table(changesTable(r.changes, r.env.Now()))
}

// presentYAML prints the objects that are sent.
func (r *rollout) presentYAML() error {
	masker := r.newMasker()
	for _, c := range r.changes {
		comment, object, err := c.YAML(masker)
		if err != nil {
			return err
		}
		if comment != "" {
			r.ui.Block("---\n" + comment + "\n" + object + "\n")
		}
	}
	return nil
}

// presentTexts prints the difference of every change, or an error if it cannot be masked.
func (r *rollout) presentTexts() error {
	for _, c := range r.changes {
		var b strings.Builder
		r.ui.Part("@@ " + c.ApplyOp().Word() + " " + c.Description() + " @@\n")
		before, after, err := c.Texts(r.masker)
		if err != nil {
			b.WriteString("Error masking diff: " + err.Error())
		} else if err := r.write(&b, before, after); err != nil {
			return err
		}
		r.ui.Block(b.String())
	}
	return nil
}

// write writes the difference of two texts.
func (r *rollout) write(b *strings.Builder, before, after string) error {
	return textdiff.Write(b, textdiff.Compare(before, after, r.diff.anchored), textdiff.Format{
		Context: r.diff.context, Numbers: r.diff.numbers, Colour: ui.Colours(r.env.IsTerminal(),
			r.env.Getenv),
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
		op := ui.Cell{Text: row.Op}
		if row.Op == string(change.Delete) {
			op.Style = ui.Red
		}
		table.Rows = append(table.Rows, []ui.Cell{
			ui.Namespace(
				row.Namespace,
			), {Text: row.Name}, {Text: row.Kind}, {Text: row.Version}, ageCell(row.Created, now),
			op,
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

// stateCell returns the cell for the state of a live object.
func stateCell(state string) ui.Cell {
	cell := ui.Cell{Text: state}
	if state != "" && state != "ok" {
		cell.Style = ui.Red
	}
	return cell
}
