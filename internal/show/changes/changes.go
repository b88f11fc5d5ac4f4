// Package changes prints the changes of many objects for people: what happens to each, with the
// difference of its fields.
//
// Changes that are the same in several objects are printed once. Long blocks of added or removed
// lines are folded, the keys of Secrets are said to be changed or not, and terminals show in colour
// which words of a line differ. Tool passes the objects to a program of the user instead.
//
// The objects that go in are masked already: see diff.Comparable.
package changes

import (
	"fmt"
	"io"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/base/plaintext"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/show/view"
)

// Change is what changes of one object.
type Change struct {
	Ref  object.Ref
	Sign byte     // + created, ~ changed, - removed, ! refused; anything else: unchanged
	Line string   // the change as a sentence
	Verb string   // what Line says about the object, where equal changes are printed once
	More []string // explanations, printed indented
	// Before and After are the object on both sides, without values of Secrets and without the fields
	// that only the server writes. If both are nil, no difference is printed.
	Before, After *unstructured.Unstructured
}

// FullFlag is the name of the flag for Options.Full, to which folded lines refer.
const FullFlag = "full-diff"

// Options control how changes are printed.
type Options struct {
	Full bool // every change is printed by itself, and no block of lines is folded
}

// Print prints changes, each with its difference indented below it, and the totals if there are
// any.
func Print(
	out io.Writer, t view.Terminal, changes []Change, totals string, o Options,
) error {
	p := printer{terminal: t, options: o}
	together := map[object.Ref]*group{}
	if !o.Full {
		together = equalChanges(changes)
	}
	for _, c := range changes {
		switch g := together[c.Ref]; {
		case g == nil:
			if err := p.change(c); err != nil {
				return fmt.Errorf("%s: %w", c.Ref, err)
			}
		case g.refs[0] == c.Ref:
			p.group(g)
		}
	}
	if totals != "" {
		p.line("", 0, plaintext.Line(totals))
	}
	if _, err := io.WriteString(out, p.text.String()); err != nil {
		return fmt.Errorf("write the output: %w", err)
	}
	return nil
}

// printer collects the text of changes.
type printer struct {
	terminal view.Terminal
	options  Options
	text     strings.Builder
	hinted   bool // the flag that shows what is left out was named
}

// indent precedes everything below the line of a change.
const indent = "    "

// line adds a line in the colour of a sign.
func (p *printer) line(indent string, sign byte, line string) {
	p.text.WriteString(indent + paint(p.terminal, sign, line) + "\n")
}

// hint returns what follows a line that leaves something out, the first time.
func (p *printer) hint() string {
	if p.hinted {
		return ""
	}
	p.hinted = true
	return " (--" + FullFlag + " shows all)"
}

// change prints one change. Of an object that is removed the content is printed on request only.
func (p *printer) change(c Change) error {
	p.line("", c.Sign, fmt.Sprintf("%c %s", c.Sign, plaintext.Message(c.Line)))
	for _, line := range c.More {
		p.line(indent, 0, plaintext.Message(line))
	}
	if c.After == nil && (c.Before == nil || !p.options.Full) {
		return nil
	}
	if keys := SecretKeys(c.Before, c.After); keys != "" {
		p.line(indent, 0, plaintext.Printable(keys))
	}
	text, err := view.UnifiedDiff(c.Before, c.After)
	if err != nil {
		return err
	}
	p.difference(text)
	return nil
}
