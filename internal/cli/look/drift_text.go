package look

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/muster-deploy/muster/internal/base/plaintext"
	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/feature/drift"
)

// driftSigns are the signs of differences.
var driftSigns = map[drift.Kind]string{
	drift.Changed: "~", drift.Removed: "-", drift.Deleted: "-", drift.Added: "+",
}

// text prints the objects that drifted, with their fields.
func (r *DriftResult) text(env *cli.Env) error {
	if err := PrintSet(env, env.Out, r.Managed); err != nil {
		return err
	}
	return r.Print(env.Out, env.Now())
}

// Print prints the objects that drifted, with their fields, as text.
func (r *DriftResult) Print(out io.Writer, now time.Time) error {
	for _, o := range r.Drift.Objects {
		if err := printObject(out, &o, now); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintln(out, plaintext.Text(r.summary()))
	return err
}

// printObject prints an object that drifted.
func printObject(out io.Writer, o *drift.Object, now time.Time) error {
	if !o.Counts() {
		return nil
	}
	line := driftSigns[o.Kind] + " " + o.Ref.String()
	switch {
	case o.Deleting:
		line += "   is being deleted"
	case o.Kind == drift.Deleted:
		line += "   deleted"
	case o.Kind == drift.Added:
		line += "   added: it has the mark of the set, and the set does not have it"
	}
	if o.Source != "" {
		line += "   (" + o.Source + ")"
	}
	if o.Person != nil {
		line += ", " + personText(o.Person)
	}
	if _, err := fmt.Fprintln(out, plaintext.Line(line)); err != nil {
		return err
	}
	table := tabwriter.NewWriter(out, 0, 8, 3, ' ', 0)
	for _, f := range o.Fields {
		if f.Left != "" && f.Kind == drift.Added {
			continue
		}
		fmt.Fprintf(table, "    %s\t%s\t%s\n", plaintext.Line(f.Path),
			plaintext.Line(changeText(&f)), plaintext.Line(whoText(&f, now)))
	}
	return table.Flush()
}

// changeText returns what a field was and is.
func changeText(f *drift.Field) string {
	switch {
	case f.Hidden:
		return string(f.Kind)
	case f.Kind == drift.Removed:
		return drift.ValueText(f.Was) + " → removed"
	case f.Kind == drift.Added:
		return "added: " + drift.ValueText(f.Is)
	}
	was := "unset"
	if f.Was != nil {
		was = drift.ValueText(f.Was)
	}
	return was + " → " + drift.ValueText(f.Is)
}

// whoText returns which manager set a field when.
func whoText(f *drift.Field, now time.Time) string {
	if f.Left != "" && f.Class != drift.Controller {
		return "(left alone: " + f.Left + ")"
	}
	text := "nobody owns it"
	if f.Kind == drift.Removed && len(f.Managers) == 0 {
		text = "by an unknown manager"
	}
	if len(f.Managers) > 0 {
		text = managerText(f.Managers[0], f.Class, now)
	}
	if f.Left != "" {
		return "(left alone: " + text + ")"
	}
	if f.Person != nil {
		text += ", " + personText(f.Person)
	}
	return text
}

func managerText(m drift.Manager, class drift.Class, now time.Time) string {
	text := m.Name
	if m.Subresource != "" {
		text += " via " + m.Subresource
	}
	text += " (" + string(class) + ")"
	if !m.Time.IsZero() {
		text += ", " + duration.HumanDuration(max(0, now.Sub(m.Time))) + " ago"
	}
	return text
}

func personText(p *drift.Person) string { return "by " + p.Name }

// counts are the numbers of a result.
type counts struct{ objects, fields, left, unstored int }

func (r *DriftResult) counts() counts {
	var c counts
	for _, o := range r.Drift.Objects {
		if o.Counts() {
			c.objects++
		}
		for _, f := range o.Fields {
			switch {
			case f.Counts():
				c.fields++
			case f.Left == drift.NotStored:
				c.unstored++
			case f.Class == drift.Controller:
				c.left++
			}
		}
	}
	return c
}

// summary returns the result in one line.
func (r *DriftResult) summary() string {
	c := r.counts()
	text := "drift: none"
	if r.Drift.Incomplete != nil {
		text += " in what could be compared"
	}
	if c.objects > 0 {
		text = "drift: " + numberOf(c.objects, "object")
		if c.fields > 0 {
			text += ", " + numberOf(c.fields, "field")
		}
	}
	if c.left > 0 {
		text += "; " + numberOf(c.left, "field") + " left to controllers"
	}
	if c.unstored > 0 {
		text += "; " + numberOf(c.unstored, "field") + " not stored by the server"
	}
	return text + " (against " + r.Baseline.Text + ")"
}

// numberOf returns a number of things.
func numberOf(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprintf("%d %s", n, thing)
}

// reason returns what is said of an object without its fields.
func reason(o *drift.Object) string {
	switch {
	case o.Deleting:
		return "is being deleted"
	case o.Kind == drift.Changed:
		return numberOf(len(o.Drifted()), "field") + " changed"
	}
	return string(o.Kind)
}

// fieldLine returns a field that drifted on one line.
func fieldLine(f *drift.Field, now time.Time) string {
	return plaintext.Printable(strings.Join([]string{
		f.Path + ":", changeText(f) + ",", whoText(f, now)}, " "))
}
