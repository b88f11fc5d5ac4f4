// Package output sends one run to many readers: it parses the flag --output, creates the files that
// it names, and prints the run to all of them at once.
//
// A reader is a kind, and a file or the standard output. Files are written beside their place and
// renamed at the end, so that no reader of them sees half a report, and a command that is refused
// leaves none.
package output

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/muster-deploy/muster/internal/base/suggest"
	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/show/view"
)

// variable is the environment variable with the readers of a command that has no flag.
const variable = "MUSTER_OUTPUT"

// The kinds of readers.
const (
	Auto     = "auto" // GitHub or GitLab in their jobs, else Live on a terminal, else Lines
	Live     = "live"
	Lines    = "lines"
	Table    = view.OutputTable
	JSON     = view.OutputJSON
	JUnit    = "junit"
	HTML     = "html"
	GitHub   = "github"
	GitLab   = "gitlab"
	Markdown = "markdown"
	Quiet    = "quiet"

	KRM     = "krm"     // of plans
	Comment = "comment" // of plans, by a flag of its own
)

// RunKinds are the kinds of readers of a run, in the order of the help.
var RunKinds = []string{
	Auto, Live, Lines, Table, JSON, JUnit, HTML, GitHub, GitLab, Markdown, Quiet,
}

// PlanKinds are the kinds of readers of a plan, in the order of the help.
var PlanKinds = []string{
	Auto, Lines, Table, JSON, KRM, JUnit, HTML, GitHub, GitLab, Markdown, Quiet,
}

// ReportKinds are the kinds of reports on recorded runs, in the order of the help.
var ReportKinds = []string{Table, HTML, JUnit, GitHub, GitLab, Markdown}

// aliases are other names of kinds.
var aliases = map[string]string{view.OutputText: Lines, "events": Lines}

// Reader is one reader of a run.
type Reader struct {
	Kind string
	Path string // "" is the standard output
}

// Flag is the flag --output, which can be repeated. NewFlag makes one.
type Flag struct {
	kinds   []string
	given   []Reader
	typed   []string
	stdout  string // the kind on the standard output, after Readers
	noFiles string // why there may be no files; empty if there may
}

// NewFlag returns a flag with the kinds of readers that a command has. If the first is not Auto, it
// is the default, and the command does not follow the environment.
func NewFlag(kinds []string) Flag { return Flag{kinds: kinds} }

// Add adds the flag to a command.
func (f *Flag) Add(cmd *cobra.Command) {
	otherwise := f.kinds[0]
	if otherwise == Auto {
		otherwise = "$" + variable + ", or " + Auto
	}
	cmd.Flags().VarP(f, "output", "o", fmt.Sprintf("Output format. One of: (%s); KIND=FILE writes to "+
		"a file, and the flag can be repeated (default: %s)", strings.Join(f.kinds, ", "), otherwise))
	complete := func(
		_ *cobra.Command, _ []string, typed string,
	) ([]string, cobra.ShellCompDirective) {
		if strings.Contains(typed, "=") {
			return nil, cobra.ShellCompDirectiveDefault
		}
		return f.kinds, cobra.ShellCompDirectiveNoFileComp
	}
	_ = cmd.RegisterFlagCompletionFunc("output", complete) // the flag exists
}

// String returns what was typed. With Set and Type, a Flag is a pflag.Value.
func (f *Flag) String() string { return strings.Join(f.typed, ",") }

// Type returns the word for the value in help.
func (f *Flag) Type() string { return "string" }

// Set adds a reader. Readers reports those that are invalid.
func (f *Flag) Set(text string) error {
	f.typed = append(f.typed, text)
	f.given = append(f.given, parse(text))
	return nil
}

// parse returns the reader of a text.
func parse(text string) Reader {
	kind, path, toFile := strings.Cut(text, "=")
	if name, ok := aliases[kind]; ok {
		kind = name
	}
	if toFile && path == "" {
		path = "=" // Readers refuses it
	}
	return Reader{Kind: kind, Path: path}
}

// RefuseFiles lets the flag have no files, for a reason.
func (f *Flag) RefuseFiles(reason string) { f.noFiles = reason }

// PrintsJSON reports whether the standard output is JSON.
func (f *Flag) PrintsJSON() bool {
	if f.stdout != "" {
		return f.stdout == JSON
	}
	return slices.Contains(f.given, Reader{Kind: JSON})
}

// Readers returns the readers: first that on the standard output, then those with files. live is
// true if the command can show Live.
func (f *Flag) Readers(env *cli.Env, live bool) ([]Reader, error) {
	given, origin, follows := f.given, "--output", f.kinds[0] == Auto
	if len(given) == 0 && follows {
		origin = variable
		for text := range strings.SplitSeq(env.Getenv(variable), ",") {
			if text = strings.TrimSpace(text); text != "" {
				given = append(given, parse(text))
			}
		}
	}
	readers := []Reader{{Kind: Auto}}
	printed := ""
	for _, r := range given {
		switch {
		case !slices.Contains(f.kinds, r.Kind):
			return nil, fmt.Errorf("%s %q: it must be one of %s, alone or as KIND=FILE%s", origin,
				r.Kind, strings.Join(f.kinds, ", "), suggest.Hint(r.Kind, f.kinds, ""))
		case r.Path == "=":
			return nil, fmt.Errorf("%s %s=: the file is missing; omit the = to print it", origin, r.Kind)
		case r.Path == "" && printed != "":
			return nil, fmt.Errorf("%s %s and %s: only one of them can be printed on the standard "+
				"output; give the other a file, as in %s=FILE", origin, printed, r.Kind, r.Kind)
		case r.Path == "":
			printed, readers[0] = r.Kind, r
		case r.Kind == Live || r.Kind == Auto || r.Kind == Quiet:
			return nil, fmt.Errorf("%s %s=%s: it is for the standard output alone", origin, r.Kind, r.Path)
		case f.noFiles != "":
			return nil, fmt.Errorf("%s %s=%s: %s", origin, r.Kind, r.Path, f.noFiles)
		default:
			readers = append(readers, r)
		}
	}
	if err := CheckFiles(readers[1:]); err != nil {
		return nil, err
	}
	switch {
	case !follows && printed == "" && len(readers) > 1:
		readers[0].Kind = Quiet
	case !follows && printed == "":
		readers[0].Kind = f.kinds[0]
	}
	if readers[0].Kind == Auto {
		readers[0].Kind = automatic(env, slices.Contains(f.kinds, GitHub), live)
	}
	if readers[0].Kind == Live && (!live || !env.Terminal().Live) {
		readers[0].Kind = Lines
	}
	f.stdout = readers[0].Kind
	return readers, nil
}

// CheckFiles returns an error if two readers have the same file.
func CheckFiles(readers []Reader) error {
	kinds := map[string]string{}
	for _, r := range readers {
		path, err := filepath.Abs(r.Path)
		if err != nil {
			return fmt.Errorf("--output %s=%s: %w", r.Kind, r.Path, err)
		}
		if r.Path == "" {
			continue
		}
		if other, taken := kinds[path]; taken {
			return fmt.Errorf("--output %s and %s: both would be written to %s; give each its own file",
				other, r.Kind, r.Path)
		}
		kinds[path] = r.Kind
	}
	return nil
}

// automatic returns the kind for the place in which the command runs.
func automatic(env *cli.Env, pipelines, live bool) string {
	switch {
	case pipelines && env.Getenv("GITHUB_ACTIONS") == "true":
		return GitHub
	case pipelines && env.Getenv("GITLAB_CI") == "true":
		return GitLab
	case live && env.Terminal().Live && env.Getenv("CI") == "":
		return Live
	default:
		return Lines
	}
}
