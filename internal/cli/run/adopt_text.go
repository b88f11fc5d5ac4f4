package run

import (
	"fmt"
	"io"
	"strings"

	"github.com/muster-deploy/muster/internal/base/plaintext"
	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/sets"
)

// look prints what the adoption would find and do, once, and returns an error if the set cannot be
// adopted.
func (f *adoptFlags) look(env *cli.Env, text bool) error {
	out := env.Out
	if !text {
		out = env.Err
	}
	if !f.looked {
		f.looked = true
		if err := printLook(out, f.adoption); err != nil {
			return fmt.Errorf("write the output: %w", err)
		}
	}
	return f.adoption.Check()
}

// lookText is the text of a look.
type lookText struct{ strings.Builder }

// line adds a line.
func (t *lookText) line(indent int, parts ...string) {
	text := plaintext.Printable(strings.Join(parts, " "))
	fmt.Fprintf(t, "%s%s\n", strings.Repeat("  ", indent), text)
}

// group adds a group of objects.
func (t *lookText) group(name string, refs []object.Ref) {
	if len(refs) > 0 {
		t.line(0, fmt.Sprintf("%s (%d)", name, len(refs)))
	}
	for _, ref := range refs {
		t.line(1, ref.String())
	}
}

// printLook prints what an adoption would find and do.
func printLook(out io.Writer, a *sets.Adoption) error {
	var t lookText
	l := a.Look()
	t.line(0, titleOf(a.From))
	t.group("adoptable", l.Adoptable)
	t.group("absent, the next apply creates them", l.Absent)
	t.group(fmt.Sprintf("of %s already", a.To.Title()), l.Ours)
	if len(l.Foreign) > 0 {
		t.line(0, fmt.Sprintf("of others (%d)", len(l.Foreign)))
	}
	for _, f := range l.Foreign {
		t.line(1, f.Object.String()+":", f.Owner)
	}
	if len(l.Differences) > 0 {
		t.line(0, fmt.Sprintf("different from the manifests, the next apply would change them (%d)",
			len(l.Differences)))
	}
	for _, d := range l.Differences {
		t.line(1, d.Object.String())
		for _, field := range d.Fields {
			t.line(2, field)
		}
	}
	if len(l.Hooks) > 0 {
		t.line(0, fmt.Sprintf("hooks without an equivalent, they will not run any more (%d)",
			len(l.Hooks)))
	}
	for _, h := range l.Hooks {
		t.line(1, h.Ref.String()+":", h.When)
	}
	for _, note := range l.Notes {
		t.line(0, "note:", note)
	}
	_, err := io.WriteString(out, t.String())
	return err
}
