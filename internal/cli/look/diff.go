package look

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/cli/setflags"
	"github.com/muster-deploy/muster/internal/diff"
	"github.com/muster-deploy/muster/internal/feature/artifact"
	"github.com/muster-deploy/muster/internal/history"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/sets"
	"github.com/muster-deploy/muster/internal/show/changes"
	"github.com/muster-deploy/muster/internal/show/view"
)

// externalDiff is the variable with the program that kubectl diff runs.
const externalDiff = "KUBECTL_EXTERNAL_DIFF"

// diffFlags are the flags of diff.
type diffFlags struct {
	setflags.Flags
	setflags.Differences
	from, to   string
	serverSide bool
	exitCode   bool
	output     cli.Choice
}

// NewDiff returns the command that compares two states of a set.
func NewDiff(env *cli.Env, kube *cli.Kube) *cobra.Command {
	f := diffFlags{output: cli.Choice{
		Value: view.OutputText, Meaning: "output",
		Allowed: []string{view.OutputText, cli.OutputJSON, cli.OutputYAML},
	}}
	cmd := &cobra.Command{
		Use: "diff [FOLDER | set/NAME] | -a NAME [-f FILE...] | --record NAME [oci://...] | " +
			"oci://... oci://...",
		Short: "Show how two states of a set differ",
		Long: `Show how two states of a set differ: what leads from one (--from) to the other (--to). The set
is the package in a folder (default: the working folder), an app (-a), a package without its folder
(--record), or what a Set of the controller keeps (set/NAME). A state is

  live    the objects in the cluster
  .       the files of the set
  N       its revision N; 'history' lists them
  last    its newest revision
  good    the newest revision that succeeded
  PATH    another folder or file, such as an older copy; ./6 is a folder, 6 a revision
  oci://  an artifact, by its tag or digest; two as arguments are compared as sets of their own

Without --from and --to the cluster is compared with the files: what an apply would change. Without
files the last revision is compared with the cluster: what has changed since. Nothing is changed.

Live objects are compared with what an apply of the other state would make of them, so that fields
which others have added do not count. The content of Secrets is not shown: keys are changed,
unchanged, added or removed. --diff-tool, or the variable KUBECTL_EXTERNAL_DIFF as for kubectl,
names a program that shows the differences instead.

Exit codes:
  0    the states were compared; unlike kubectl diff, also if they differ
  1    they could not be compared: the error says why
  2    with --exit-code: they differ
  130  interrupted`,
		Example: "  " + env.Name() + " diff wordpress\n" +
			"  " + env.Name() + " diff wordpress --from 6 --to 8\n" +
			"  " + env.Name() + " diff -a web --from good --to live --exit-code\n" +
			"  " + env.Name() + " diff --record wordpress --diff-tool 'diff -ru'\n" +
			"  " + env.Name() + " diff oci://registry.example.com/shop:1.4.0 " +
			"oci://registry.example.com/shop:1.5.0",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 2 && artifact.IsReference(args[0]) && artifact.IsReference(args[1]) {
				return nil
			}
			return cli.Arguments(0, 1)(cmd, args)
		},
		ValidArgsFunction: setflags.CompleteArgument(kube),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd.Context(), env, kube, args)
		},
	}
	f.AddRecord(cmd)
	f.AddArtifacts(cmd)
	f.Differences.Add(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.from, "from", "",
		"State to begin with: a revision, last, good, live, ., a path or oci://")
	flags.StringVar(&f.to, "to", "",
		"State to compare with it: a revision, last, good, live, ., a path or oci://")
	flags.BoolVar(&f.serverSide, "server-side", false,
		"Let the API server merge the files with live objects, as apply --server-side does")
	flags.BoolVar(&f.exitCode, "exit-code", false, "Exit with code 2 if the states differ")
	f.output.AddShortTo(cmd, "output", "o", "Output format")
	f.CompleteStates(cmd, kube, "from")
	f.CompleteStates(cmd, kube, "to")
	return cmd
}

func (f *diffFlags) run(
	ctx context.Context, env *cli.Env, kube *cli.Kube, args []string,
) error {
	if err := f.output.Check(); err != nil {
		return err
	}
	if len(args) == 2 {
		if err := f.compareTwo(args); err != nil {
			return err
		}
		args = nil
	}
	args, err := f.UseSet(ctx, env, kube, args)
	if err != nil {
		return err
	}
	return f.Unrecorded(f.compare(ctx, env, kube, args))
}

// compare compares the two states, and prints how they differ.
func (f *diffFlags) compare(
	ctx context.Context, env *cli.Env, kube *cli.Kube, args []string,
) error {
	s, err := f.states(ctx, env, kube, args)
	if err != nil {
		return err
	}
	for _, state := range []*string{&f.from, &f.to} {
		if artifact.IsReference(*state) {
			if *state, err = f.FetchInto(ctx, env, &s.Request, *state); err != nil {
				return err
			}
		}
	}
	f.complete(s)
	if err := f.checkUsed(); err != nil {
		return err
	}
	from, err := s.Open(ctx, f.from)
	if err != nil {
		return f.explain(env, args, "from", err)
	}
	to, err := s.Open(ctx, f.to)
	if err != nil {
		return f.explain(env, args, "to", err)
	}
	c, err := s.Compare(ctx, from, to)
	if err != nil {
		return f.HintAccess(env, args, err)
	}
	if err := f.print(ctx, env, from, to, c); err != nil {
		return err
	}
	if f.exitCode && len(c.Differences) > 0 {
		return cli.ErrChanges
	}
	return nil
}

// checkUsed returns an error for manifests of an app that are none of the two states.
func (f *diffFlags) checkUsed() error {
	if given := f.Manifests(); len(given) > 0 && f.from != sets.Folder && f.to != sets.Folder {
		return fmt.Errorf("%s would not be compared: the states are %s and %s; omit one of them, or the "+
			"manifests", strings.Join(given, " and "), f.from, f.to)
	}
	return nil
}

// compareTwo lets two artifacts be compared, as manifests without a record.
func (f *diffFlags) compareTwo(args []string) error {
	if f.from != "" || f.to != "" || f.Record != "" || len(f.Files) > 0 || f.Kustomize != "" {
		return errors.New("two artifacts are compared with each other: omit the other files, --record, " +
			"--from and --to")
	}
	f.from, f.to, f.App = args[0], args[1], cmp.Or(f.App, "artifacts")
	return nil
}

// states connects and returns the states of the set.
func (f *diffFlags) states(
	ctx context.Context, env *cli.Env, kube *cli.Kube, args []string,
) (*sets.States, error) {
	if f.from == "" && f.to == "" {
		if err := f.CheckRoot(); err != nil {
			return nil, err
		}
	}
	r, err := f.FilesRequest(ctx, env, kube, args, nil)
	if err != nil {
		return nil, err
	}
	var set sets.Set
	if r.Record == "" {
		if set, err = f.OpenNamed(ctx, r); err != nil {
			return nil, err
		}
	}
	c, err := f.Connect(ctx, env, kube, set)
	s := &sets.States{Cluster: c, Request: r, ServerSide: f.serverSide}
	if f.Managed != nil {
		s.Ignore = f.Managed.Spec.Ignore
	}
	return s, err
}

// complete sets the states that no flag names.
func (f *diffFlags) complete(s *sets.States) {
	described := history.Last
	if s.HasFiles() {
		described = sets.Folder
	}
	switch {
	case f.from == "" && f.to == "" && !s.HasFiles():
		f.from, f.to = history.Last, sets.Live
	case f.to == "" && f.from == sets.Live:
		f.to = described
	case f.to == "" && f.from == "":
		f.from, f.to = sets.Live, described
	case f.to == "" && s.HasFiles() && f.from != sets.Folder:
		f.to = sets.Folder
	case f.to == "":
		f.to = sets.Live
	case f.from == "" && f.to == sets.Live:
		f.from = described
	default:
		f.from = cmp.Or(f.from, sets.Live)
	}
}

// explain adds to an error about a state which flag names it, and what to do about it.
func (f *diffFlags) explain(env *cli.Env, args []string, flag string, err error) error {
	value := f.from
	if flag == "to" {
		value = f.to
	}
	list := env.Command(append([]string{"history"}, f.RecordWords(args)...)...)
	none := (*history.NotFoundError)(nil)
	switch {
	case errors.As(err, &none) && none.Number == 0:
		return fmt.Errorf("%w; give the files of the set, or name the states with --from and --to", err)
	case errors.As(err, &none):
		return fmt.Errorf("--%s %s: %w; %s prints those that are kept", flag, value, err, list)
	case errors.Is(err, history.ErrNoneGood):
		return fmt.Errorf("--%s %s: %w; %s prints all", flag, value, err, list)
	default:
		return err
	}
}

// signs are the signs of differences, and phrases with the title of a state.
var signs = map[diff.Kind]struct {
	sign byte
	text string
}{
	diff.Added:   {'+', "is only in "},
	diff.Removed: {'-', "is only in "},
	diff.Changed: {'~', "differs"},
}

// print prints a comparison.
func (f *diffFlags) print(
	ctx context.Context, env *cli.Env, from, to *sets.State, c *sets.Comparison,
) error {
	if f.output.Value != view.OutputText {
		document := comparisonDocument(from, to, c)
		document.Managed = NewSetStatus(f.Managed)
		return cli.Encode(env.Out, f.output.Value, document)
	}
	if err := PrintSet(env, env.Err, f.Managed); err != nil {
		return err
	}
	if f.Tool == "" {
		f.Tool = env.Getenv(externalDiff)
	}
	env.Notice(fmt.Sprintf("from %s to %s:", from.Title, to.Title))
	for _, line := range c.Skipped {
		env.Notice("note: not compared: " + line)
	}
	shown := setflags.Shown{Totals: totalsOf(c), Before: from.Short, After: to.Short}
	for _, d := range c.Differences {
		s := signs[d.Kind]
		line := d.Ref.String() + " " + s.text
		switch d.Kind {
		case diff.Added:
			line += to.Title
		case diff.Removed:
			line += from.Title
		}
		if d.Source != "" {
			line += " (" + d.Source + ")"
		}
		shown.Changes = append(shown.Changes, changes.Change{
			Ref: d.Ref, Sign: s.sign, Line: line, More: d.Notes, Before: d.Before, After: d.After,
		})
	}
	return f.Print(ctx, env, env.Out, env.Terminal(), shown)
}

// totalsOf counts the objects of a comparison.
func totalsOf(c *sets.Comparison) string {
	counts := countKinds(c)
	if len(c.Differences) == 0 {
		return fmt.Sprintf("no differences: %s", objects(c.Equal, "is equal", "are equal"))
	}
	text := objects(len(c.Differences), "differs", "differ") + ":"
	for _, kind := range []diff.Kind{diff.Added, diff.Changed, diff.Removed} {
		if counts[kind] > 0 {
			text += fmt.Sprintf(" %d %s,", counts[kind], kind)
		}
	}
	return text + fmt.Sprintf(" %d equal", c.Equal)
}

// objects returns a number of objects with a verb in the singular or plural.
func objects(n int, one, several string) string {
	if n == 1 {
		return "1 object " + one
	}
	return fmt.Sprintf("%d objects %s", n, several)
}

// countKinds counts the differences of each kind.
func countKinds(c *sets.Comparison) map[diff.Kind]int {
	counts := map[diff.Kind]int{}
	for _, d := range c.Differences {
		counts[d.Kind]++
	}
	return counts
}

// comparison is the JSON of a comparison.
type comparison struct {
	Managed *SetStatus        `json:"managedSet,omitempty"`
	From    string            `json:"from"`
	To      string            `json:"to"`
	Objects []comparedObject  `json:"objects"`
	Skipped []string          `json:"skipped,omitempty"`
	Summary comparisonSummary `json:"summary"`
}

type comparedObject struct {
	object.Ref
	Difference diff.Kind `json:"difference"`
	Source     string    `json:"source,omitempty"`
	Changes    diff.Diff `json:"changes,omitempty"`
	Notes      []string  `json:"notes,omitempty"`
}

type comparisonSummary struct {
	Added   int `json:"added"`
	Changed int `json:"changed"`
	Removed int `json:"removed"`
	Equal   int `json:"equal"`
}

// comparisonDocument returns the document for a comparison.
func comparisonDocument(from, to *sets.State, c *sets.Comparison) comparison {
	counts := countKinds(c)
	document := comparison{
		From: from.Title, To: to.Title, Objects: []comparedObject{}, Skipped: c.Skipped,
		Summary: comparisonSummary{
			Added: counts[diff.Added], Changed: counts[diff.Changed], Removed: counts[diff.Removed],
			Equal: c.Equal,
		},
	}
	for _, d := range c.Differences {
		document.Objects = append(document.Objects, comparedObject{
			Ref: d.Ref, Difference: d.Kind, Source: d.Source, Notes: d.Notes,
			Changes: diff.Between(d.Before, d.After, diff.Options{}),
		})
	}
	return document
}
