package reference

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
)

// tree returns a program with one command, and a hidden one.
func tree() *cobra.Command {
	root := &cobra.Command{Use: "tool", Short: "A tool"}
	root.PersistentFlags().StringP("namespace", "n", "", "the namespace")
	show := &cobra.Command{
		Use: "show NAME", Aliases: []string{"s"}, Short: "Show a thing", Example: "  tool show a\n    b",
		Long: "Show a thing\n<NAME>.\n\n" +
			"Exit codes:\n  0    shown\n  3    not shown: the\n       error says why\n\n" +
			"  as it\n  stands",
		Run: func(*cobra.Command, []string) {},
	}
	show.Flags().StringP("output", "o", "text", "`FORMAT` of a|b")
	show.Flags().Bool("all", false, "all things")
	show.Flags().Bool("secret", false, "not shown")
	_ = show.Flags().MarkHidden("secret")
	hidden := &cobra.Command{Use: "gone", Hidden: true, Run: show.Run}
	root.AddCommand(show, hidden)
	return root
}

// Of keeps what help prints: usage, exit codes, options with their defaults, and lines that are
// indented. What is hidden is left out.
func TestOf(t *testing.T) {
	c := Of(tree())
	want := []Command{{
		Path: "tool show", Short: "Show a thing", Usage: []string{"tool show NAME [flags]"},
		Aliases: []string{"s"}, Examples: "tool show a\n  b",
		Description: []Paragraph{
			{Text: "Show a thing\n<NAME>."}, {Text: "  as it\n  stands", Lines: true},
		},
		Exits: []Exit{{"0", "shown"}, {"3", "not shown: the error says why"}},
		Options: []Option{
			{Name: "all", Meaning: "all things"},
			{Name: "output", Shorthand: "o", Value: "FORMAT", Default: "text", Meaning: "FORMAT of a|b"},
		},
	}}
	if diff := cmp.Diff(want, c.Children); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if len(c.Global) != 1 || c.Global[0].Form() != "-n, --namespace string" {
		t.Errorf("global options: %v", c.Global)
	}
}

// Texts are escaped for Markdown and for roff.
func TestEscapes(t *testing.T) {
	page := Pages(Of(tree()))["show.md"]
	for _, want := range []string{
		"\n&lt;NAME>.\n", "| `-o, --output FORMAT` | `text` | FORMAT of a\\|b |",
		"| 3 | not shown: the error says why |",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %q:\n%s", want, page)
		}
	}
	if got, want := roff(".a\n'b-c\\"), "\\&.a\n\\&'b\\-c\\e"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
