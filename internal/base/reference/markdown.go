package reference

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// generated is the first line of each document.
const generated = "<!-- Generated from the commands: go test ./internal/program -update. -->\n\n"

// indexName is the page that lists the commands of a program.
const indexName = "README.md"

// Link is a line of the index for another program, whose commands have one page.
type Link struct {
	Page, Title, Meaning string
	Names                []string // the commands of the root that it is about
}

// Pages returns the Markdown pages of a program by file name: one for each command, which has the
// commands below it, too, and an index with the options that all commands have.
func Pages(root Command, others ...Link) map[string]string {
	var b strings.Builder
	b.WriteString(generated)
	fmt.Fprintf(&b, "# Commands of %s\n\n", root.Name())
	fmt.Fprintf(&b, "`%s COMMAND --help` prints what these pages have.\n\n", root.Name())
	b.WriteString("| Command | Purpose |\n|---|---|\n")
	pages := map[string]string{}
	for _, child := range root.Children {
		if isLinked(child, others) {
			continue
		}
		name := child.Name() + ".md"
		fmt.Fprintf(&b, "| [`%s`](%s) | %s |\n", child.Path, name, escape(child.Short))
		pages[name] = child.page()
	}
	b.WriteString("\nThe grammars of other tools:\n\n| Program | Purpose |\n|---|---|\n")
	for _, other := range others {
		fmt.Fprintf(&b, "| [%s](%s.md) | %s |\n", other.Title, other.Page, other.Meaning)
	}
	fmt.Fprintf(&b, "\n## Options that every command has\n\n%s", optionTable(root.Global))
	pages[indexName] = b.String()
	return pages
}

// isLinked reports whether a command has a page of its own as another program.
func isLinked(c Command, others []Link) bool {
	return slices.ContainsFunc(others, func(l Link) bool { return slices.Contains(l.Names, c.Name()) })
}

// page returns the Markdown page of a command.
func (c Command) page() string {
	return generated + c.section("#") +
		"\n[Options that every command has](" + indexName + "#options-that-every-command-has)\n"
}

// section returns a command and those below it under a heading.
func (c Command) section(heading string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s\n", heading, c.Path)
	for _, p := range c.Description {
		if p.Lines {
			fmt.Fprintf(&b, "\n```text\n%s\n```\n", p.Text)
			continue
		}
		fmt.Fprintf(&b, "\n%s\n", escapeText(p.Text))
	}
	fmt.Fprintf(&b, "\n```text\n%s\n```\n", strings.Join(c.Usage, "\n"))
	if len(c.Aliases) > 0 {
		fmt.Fprintf(&b, "\nAliases: `%s`\n", strings.Join(c.Aliases, "`, `"))
	}
	if c.Examples != "" {
		fmt.Fprintf(&b, "\nExamples:\n\n```text\n%s\n```\n", c.Examples)
	}
	if len(c.Exits) > 0 {
		b.WriteString("\n| Exit code | Meaning |\n|---|---|\n")
		for _, e := range c.Exits {
			fmt.Fprintf(&b, "| %s | %s |\n", e.Code, escape(e.Meaning))
		}
	}
	if len(c.Options) > 0 {
		b.WriteString("\n" + optionTable(c.Options))
	}
	for _, child := range c.Children {
		b.WriteString("\n" + child.section(heading+"#"))
	}
	return b.String()
}

// Listing returns one Markdown page that lists the commands of a program and their options.
func Listing(title, introduction string, c Command) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s# %s\n\n%s\n\n", generated, title, introduction)
	b.WriteString("| Command | Purpose |\n|---|---|\n")
	leaves := c.Leaves()
	for _, leaf := range leaves {
		fmt.Fprintf(&b, "| [`%s`](#%s) | %s |\n", leaf.Path, anchor(leaf.Path), escape(leaf.Short))
	}
	if len(c.Global) > 0 {
		fmt.Fprintf(&b, "\n## Options that every command has\n\n%s", optionTable(c.Global))
	}
	for _, leaf := range leaves {
		b.WriteString("\n" + leaf.section("##"))
	}
	return b.String()
}

// anchor returns the anchor of a heading.
func anchor(heading string) string {
	return strings.ReplaceAll(strings.ToLower(heading), " ", "-")
}

// optionTable returns a row for each option.
func optionTable(options []Option) string {
	var b strings.Builder
	b.WriteString("| Option | Default | Meaning |\n|---|---|---|\n")
	for _, o := range options {
		value := ""
		if o.Default != "" {
			value = "`" + escape(o.Default) + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", escape(o.Form()), cmp.Or(value, "-"),
			escape(o.Meaning))
	}
	return b.String()
}

// escape returns a text for a cell of a table.
func escape(text string) string {
	return escapeText(strings.ReplaceAll(strings.ReplaceAll(text, "|", "\\|"), "\n", " "))
}

// escapeText returns a text in which Markdown has no meaning.
func escapeText(text string) string {
	return strings.NewReplacer("<", "&lt;", "*", "\\*", "_", "\\_").Replace(text)
}
