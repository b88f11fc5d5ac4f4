// Package reference describes commands as documents: Markdown for the documentation, and manual
// pages. Both come from the texts and flags that the help of the commands has.
package reference

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Command describes one command.
type Command struct {
	Path        string // with the name of the program, as "muster history show"
	Short       string
	Description []Paragraph
	Exits       []Exit
	Usage       []string
	Aliases     []string
	Examples    string
	Options     []Option
	Global      []Option // of a root: the options that every command has
	Children    []Command
}

// Paragraph is a part of a description: running text, or lines that keep their form.
type Paragraph struct {
	Text  string
	Lines bool
}

// Exit is an exit code and its meaning.
type Exit struct{ Code, Meaning string }

// Option is a flag.
type Option struct {
	Name      string
	Shorthand string
	Value     string // the word for its value; empty for a switch
	Default   string // empty if there is none
	Meaning   string
}

// Form returns the option in the form that users type, such as "-o, --output string".
func (o Option) Form() string {
	form := "--" + o.Name
	if o.Shorthand != "" {
		form = "-" + o.Shorthand + ", " + form
	}
	return strings.TrimSuffix(form+" "+o.Value, " ")
}

// Of returns the description of a command and of those below it, in the order of their names.
// Hidden commands, the command help and the flag --help are left out.
func Of(cmd *cobra.Command) Command {
	c := Command{
		Path: cmd.CommandPath(), Short: cmd.Short, Aliases: cmd.Aliases,
		Examples: outdent(cmd.Example), Options: options(cmd.LocalFlags(), cmd.PersistentFlags()),
	}
	if !cmd.HasParent() {
		c.Global = options(cmd.PersistentFlags(), nil)
	}
	if cmd.Runnable() {
		c.Usage = append(c.Usage, cmd.UseLine())
	}
	if cmd.HasAvailableSubCommands() {
		c.Usage = append(c.Usage, cmd.CommandPath()+" [command]")
	}
	for part := range strings.SplitSeq(strings.TrimSpace(cmp.Or(cmd.Long, cmd.Short)), "\n\n") {
		if lines, ok := strings.CutPrefix(part, "Exit codes:\n"); ok {
			c.Exits = append(c.Exits, exits(lines)...)
			continue
		}
		c.Description = append(c.Description, paragraph(part))
	}
	for _, child := range cmd.Commands() {
		if child.IsAvailableCommand() && child.Name() != "help" {
			c.Children = append(c.Children, Of(child))
		}
	}
	slices.SortFunc(c.Children, func(a, b Command) int { return cmp.Compare(a.Path, b.Path) })
	return c
}

// Name returns the last word of the path.
func (c Command) Name() string { return c.Path[strings.LastIndex(c.Path, " ")+1:] }

// Leaves returns the command if nothing is below it, and the leaves below it otherwise.
func (c Command) Leaves() []Command {
	if len(c.Children) == 0 {
		return []Command{c}
	}
	var leaves []Command
	for _, child := range c.Children {
		leaves = append(leaves, child.Leaves()...)
	}
	return leaves
}

// All returns the command and all below it.
func (c Command) All() []Command {
	all := []Command{c}
	for _, child := range c.Children {
		all = append(all, child.All()...)
	}
	return all
}

// paragraph returns a part of a help text. Lines that are indented keep their form.
func paragraph(part string) Paragraph {
	for line := range strings.Lines(part) {
		if strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t") {
			return Paragraph{Text: part, Lines: true}
		}
	}
	return Paragraph{Text: part}
}

// exitLine is the first line of an exit code in a help text; others are indented deeper.
var exitLine = regexp.MustCompile(`^ {1,4}(\d+) +(.*)$`)

// exits returns the exit codes that lines of a help text list.
func exits(lines string) []Exit {
	var all []Exit
	for line := range strings.SplitSeq(strings.TrimRight(lines, "\n"), "\n") {
		if found := exitLine.FindStringSubmatch(line); found != nil {
			all = append(all, Exit{Code: found[1], Meaning: found[2]})
		} else if len(all) > 0 {
			all[len(all)-1].Meaning += " " + strings.TrimSpace(line)
		}
	}
	return all
}

// options returns the flags of a set, without those of another one, which may be nil.
func options(flags, without *pflag.FlagSet) []Option {
	var all []Option
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Deprecated != "" || f.Name == "help" || f.Name == "version" ||
			without != nil && without.Lookup(f.Name) != nil {
			return
		}
		value, meaning := pflag.UnquoteUsage(f)
		all = append(all, Option{
			Name: f.Name, Shorthand: f.Shorthand, Value: value, Default: defaultOf(f), Meaning: meaning,
		})
	})
	return all
}

// defaultOf returns the default of a flag, empty for the zero value.
func defaultOf(f *pflag.Flag) string {
	switch f.DefValue {
	case "", "0", "0s", "false", "[]", "<nil>":
		return ""
	}
	return f.DefValue
}

// outdent removes the indentation that all lines of an example have.
func outdent(text string) string {
	lines := strings.Split(strings.TrimRight(text, "\n "), "\n")
	least := -1
	for _, line := range lines {
		if strings.TrimSpace(line) == "" {
			continue
		}
		if n := len(line) - len(strings.TrimLeft(line, " ")); least < 0 || n < least {
			least = n
		}
	}
	for i, line := range lines {
		lines[i] = line[min(len(line), max(0, least)):]
	}
	return strings.Join(lines, "\n")
}
