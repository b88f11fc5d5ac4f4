package reference

import (
	"fmt"
	"strings"
)

// Source is what manual pages say about their origin.
type Source struct {
	Version string
	Date    string // of the version, as 2006-01-02
}

// Manual returns the manual pages of a program by file name, one for each command. They are written
// in the macros of man(7).
func Manual(root Command, s Source) map[string]string {
	pages := map[string]string{}
	for _, c := range root.All() {
		pages[c.manualName()+".1"] = c.manual(s, root.Name())
	}
	return pages
}

// manualName returns the name of the manual page, such as muster-history-show.
func (c Command) manualName() string { return strings.ReplaceAll(c.Path, " ", "-") }

// manual returns the manual page of a command of a program.
func (c Command) manual(s Source, program string) string {
	m := manual{}
	m.macro("TH", strings.ToUpper(c.manualName()), "1", s.Date, program+" "+s.Version,
		program+" manual")
	m.macro("SH", "NAME")
	m.text(c.manualName() + " - " + c.Short)
	m.macro("SH", "SYNOPSIS")
	m.lines(strings.Join(c.Usage, "\n"))
	m.macro("SH", "DESCRIPTION")
	for _, p := range c.Description {
		m.paragraph(p)
	}
	if len(c.Children) > 0 {
		m.macro("SH", "COMMANDS")
		for _, below := range c.All()[1:] {
			m.item(strings.TrimPrefix(below.Path, c.Path+" "), below.Short)
		}
	}
	m.options("OPTIONS", c.Options)
	m.options("OPTIONS OF EVERY COMMAND", c.Global)
	if len(c.Exits) > 0 {
		m.macro("SH", "EXIT STATUS")
		for _, e := range c.Exits {
			m.item(e.Code, e.Meaning)
		}
	}
	if c.Examples != "" {
		m.macro("SH", "EXAMPLES")
		m.lines(c.Examples)
	}
	if c.Path != program {
		m.macro("SH", "SEE ALSO")
		m.text(fmt.Sprintf("%s(1) has the options that every command has.", program))
	}
	return m.String()
}

// manual is a page in the macros of man(7).
type manual struct{ strings.Builder }

// macro writes a macro and its arguments.
func (m *manual) macro(name string, args ...string) {
	m.WriteString("." + name)
	for _, arg := range args {
		m.WriteString(" \"" + strings.ReplaceAll(roff(arg), `"`, `\(dq`) + "\"")
	}
	m.WriteString("\n")
}

// text writes running text.
func (m *manual) text(text string) { m.WriteString(roff(text) + "\n") }

// lines writes lines that keep their form.
func (m *manual) lines(text string) { m.WriteString(".nf\n" + roff(text) + "\n.fi\n") }

// item writes a term and its meaning.
func (m *manual) item(term, meaning string) {
	m.WriteString(".TP\n\\fB" + roff(term) + "\\fR\n" + roff(meaning) + "\n")
}

func (m *manual) paragraph(p Paragraph) {
	m.WriteString(".PP\n")
	if p.Lines {
		m.lines(p.Text)
	} else {
		m.text(p.Text)
	}
}

func (m *manual) options(heading string, options []Option) {
	if len(options) == 0 {
		return
	}
	m.macro("SH", heading)
	for _, o := range options {
		meaning := o.Meaning
		if o.Default != "" {
			meaning += " (default " + o.Default + ")"
		}
		m.item(o.Form(), meaning)
	}
}

// roff returns a text in which roff has no meaning: backslashes and hyphens are escaped, and no
// line begins with a control character.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
