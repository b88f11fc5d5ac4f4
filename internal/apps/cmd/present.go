package cmd

import (
	"os"
	"strings"
	"time"

	"github.com/muster-deploy/muster/internal/apps/change"
	"github.com/muster-deploy/muster/internal/apps/textdiff"
	"github.com/muster-deploy/muster/internal/apps/ui"
)

// present shows the changes as the flags ask: what is applied as YAML, the differences, and the table.
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
	return r.ui.Table(changesTable(r.changes))
}

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

// presentTexts shows the difference of every change. One that cannot be masked is not shown, and says so.
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
		Context: r.diff.context, Numbers: r.diff.numbers, Colour: ui.Colours(r.env.IsTerminal(), os.Getenv),
	})
}

// changesTable is the table of changes with their numbers below it.
func changesTable(changes []*change.Change) ui.Table {
	table := ui.Table{
		Title: "Changes",
		Header: []ui.Column{
			{Key: "namespace", Title: "Namespace"}, {Key: "name", Title: "Name"}, {Key: "kind", Title: "Kind"},
			{Key: "version", Title: "Version", Hidden: true}, {Key: "age", Title: "Age"}, {Key: "op", Title: "Op"},
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
			ui.Namespace(row.Namespace), {Text: row.Name}, {Text: row.Kind}, {Text: row.Version}, ageCell(row.Created), op,
			{Text: row.Strategy}, {Text: row.WaitTo}, stateCell(row.State), {Text: ui.Wrap(row.Info, infoWidth)},
		})
	}
	op, wait := change.Summary(changes)
	table.Notes = []string{"Op:      " + op, "Wait to: " + wait}
	return table
}

// ageCell is how long something has existed; nothing for what does not exist.
func ageCell(created time.Time) ui.Cell {
	if created.IsZero() {
		return ui.Cell{}
	}
	return ui.Cell{Text: ui.Age(created, time.Now())}
}

// stateCell is the state of a live object.
func stateCell(state string) ui.Cell {
	cell := ui.Cell{Text: state}
	if state != "" && state != "ok" {
		cell.Style = ui.Red
	}
	return cell
}
