package look

import (
	"context"
	"fmt"
	"path"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-deploy/muster/internal/base/plaintext"
	"github.com/muster-deploy/muster/internal/base/yamltext"
	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/cli/setflags"
	"github.com/muster-deploy/muster/internal/diff"
	"github.com/muster-deploy/muster/internal/feature/artifact"
	"github.com/muster-deploy/muster/internal/history"
	"github.com/muster-deploy/muster/internal/object"
)

// shortDigest is the length of commits and digests in tables.
const shortDigest = 7

// showHistoryFlags are the flags of history and of history show.
type showHistoryFlags struct {
	setflags.Flags
	output cli.Choice
}

// NewHistory returns the commands on the revisions of a set.
func NewHistory(env *cli.Env, kube *cli.Kube) *cobra.Command {
	f := showHistoryFlags{output: cli.Choice{
		Value: outputTable, Meaning: "output",
		Allowed: []string{outputTable, outputWide, cli.OutputJSON, cli.OutputYAML},
	}}
	cmd := &cobra.Command{
		Use:   "history [FOLDER | set/NAME] | -a NAME | --record NAME",
		Short: "Show what was deployed when, by whom and with which result",
		Long: `Show the revisions of a set: each run of this program that changed objects, or tried to, leaves
one. The set is the package in a folder (default: the working folder), an app (-a), or a package
without its folder (--record), or what a Set of the controller keeps (set/NAME). CHANGED counts the
objects that were created (+), configured (~), and pruned or left to others (-).

Exit codes:
  0  the revisions were shown
  1  they could not be read: the error says why`,
		Example: "  " + env.Name() + " history wordpress\n" +
			"  " + env.Name() + " history -a web -n shop -o json\n" +
			"  " + env.Name() + " history show wordpress 8\n" +
			"  " + env.Name() + " history set/shop -n shop",
		ValidArgsFunction: setflags.CompleteArgument(kube),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.list(cmd.Context(), env, kube, args)
		},
	}
	f.AddFolder(cmd)
	f.output.AddShortTo(cmd, "output", "o", "Output format")
	for _, below := range []*cobra.Command{
		newHistoryShow(env, kube), newHistoryPin(env, kube, true), newHistoryPin(env, kube, false),
	} {
		setflags.Complete(below, kube)
		cmd.AddCommand(below)
	}
	return cmd
}

func newHistoryShow(env *cli.Env, kube *cli.Kube) *cobra.Command {
	f := showHistoryFlags{output: cli.Choice{
		Value: cli.OutputYAML, Meaning: "output", Allowed: []string{cli.OutputYAML, cli.OutputJSON},
	}}
	cmd := &cobra.Command{
		Use:   "show [FOLDER | set/NAME] REVISION | -a NAME REVISION | --record NAME REVISION",
		Short: "Show the objects of a revision",
		Long: `Show the objects of a revision, as their files had them. The content of Secrets is not shown. The
revision is a number, last for the newest one, or good for the newest one that succeeded.

Exit codes:
  0  the objects were shown
  1  they could not be read: the error says why`,
		Example: "  " + env.Name() + " history show wordpress 8\n" +
			"  " + env.Name() + " history show -a web 8 -o json",
		Args:              cli.Arguments(1, 2),
		ValidArgsFunction: f.CompleteRevisionArgument(kube),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.show(cmd.Context(), env, kube, args[:len(args)-1], args[len(args)-1])
		},
	}
	f.AddFolder(cmd)
	f.output.AddShortTo(cmd, "output", "o", "Output format")
	return cmd
}

func (f *showHistoryFlags) list(
	ctx context.Context, env *cli.Env, kube *cli.Kube, args []string,
) error {
	if err := f.output.Check(); err != nil {
		return err
	}
	args, err := f.UseSet(ctx, env, kube, args)
	if err != nil {
		return err
	}
	s, title, err := f.OpenHistory(ctx, env, kube, args)
	if err != nil {
		return f.Unrecorded(err)
	}
	heads, err := s.List(ctx)
	if err != nil {
		return err
	}
	return f.printList(env, s, title, heads)
}

// printList prints the revisions of a set.
func (f *showHistoryFlags) printList(
	env *cli.Env, s *history.Store, title string, heads []history.Head,
) error {
	wide := f.output.Value == outputWide
	switch {
	case !wide && f.output.Value != outputTable:
		return historyDocument(env, f.output.Value, heads, NewSetStatus(f.Managed))
	}
	if err := PrintSet(env, env.Out, f.Managed); err != nil {
		return err
	}
	if len(heads) == 0 {
		env.Notice(fmt.Sprintf("there are no revisions of %s in namespace %s", title, s.Set.Namespace))
		return nil
	}
	return historyTable(env, heads, wide)
}

// historyItem is the JSON of a revision.
type historyItem struct {
	history.Meta
	Pinned bool   `json:"pinned,omitempty"`
	Error  string `json:"error,omitempty"`
}

// historyDocument prints the revisions as one document, with what the Set says that they are of.
func historyDocument(
	env *cli.Env, format string, heads []history.Head, status *SetStatus,
) error {
	var document struct {
		Managed *SetStatus    `json:"managedSet,omitempty"`
		Items   []historyItem `json:"items"`
	}
	document.Managed = status
	document.Items = make([]historyItem, len(heads))
	for i, h := range heads {
		document.Items[i] = historyItem{Meta: h.Meta, Pinned: h.Pinned}
		if h.Err != nil {
			document.Items[i].Error = h.Err.Error()
		}
	}
	return cli.Encode(env.Out, format, document)
}

// historyTable prints a row for each revision.
func historyTable(env *cli.Env, heads []history.Head, wide bool) error {
	table := tabwriter.NewWriter(env.Out, 0, 8, 2, ' ', 0)
	fmt.Fprint(table, "REV\tAGE\tBY\tFROM\tCHANGED\tOUTCOME")
	if wide {
		fmt.Fprint(table, "\tOBJECTS\tTOOK\tCOMMAND\tMESSAGE")
	}
	fmt.Fprintln(table)
	for _, h := range heads {
		cells := []string{strconv.Itoa(h.Number), ageText(env, h.Time), authorText(h.Meta),
			fromText(h.Meta), changedText(h.Changes), outcomeText(h)}
		if wide {
			took := time.Duration(h.Duration * float64(time.Second)).Round(100 * time.Millisecond)
			cells = append(cells, strconv.Itoa(h.Objects), took.String(), h.Command, h.Message)
		}
		for i, cell := range cells {
			cells[i] = known(plaintext.Printable(strings.Join(strings.Fields(cell), " ")))
		}
		fmt.Fprintln(table, strings.Join(cells, "\t"))
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("write the output: %w", err)
	}
	return nil
}

// authorText returns who made a run: the user, and the job of a pipeline.
func authorText(m history.Meta) string {
	author := m.User
	if author == "" {
		author = m.Login
	}
	if m.CI != "" {
		author += " (run " + path.Base(m.CI) + ")"
	}
	return author
}

// fromText returns where the objects come from: a commit and branch, an artifact, or a revision.
func fromText(m history.Meta) string {
	if m.Restores > 0 {
		return fmt.Sprintf("revision %d", m.Restores)
	}
	if m.Artifact != "" {
		return "oci " + artifactText(m.Artifact)
	}
	if m.Git == nil {
		return ""
	}
	text := m.Git.Commit[:min(shortDigest, len(m.Git.Commit))] + " " + m.Git.Branch
	if m.Git.Dirty {
		text += " (modified)"
	}
	return strings.TrimSpace(text)
}

// artifactText returns the last part of the name of an artifact, its tag, and the beginning of its
// digest; of several, the first and how many others there are.
func artifactText(text string) string {
	all := strings.Fields(text)
	r, err := artifact.Parse(all[0])
	if err != nil {
		return text
	}
	name, sum := path.Base(r.Repository), r.Digest.String()
	if r.Tag != "" {
		name += ":" + r.Tag
	}
	algorithm, digest, _ := strings.Cut(sum, ":")
	name += "@" + algorithm + ":" + digest[:min(shortDigest, len(digest))]
	if len(all) > 1 {
		name += fmt.Sprintf(" +%d", len(all)-1)
	}
	return name
}

// changedText returns how many objects a run changed in which way, and the kind of a single one.
func changedText(changes []history.Change) string {
	signs, total := []string{"+", "~", "-"}, 0
	counts := make([]int, len(signs))
	for _, c := range changes {
		total += c.Count
		switch c.Op {
		case "created":
			counts[0] += c.Count
		case "configured":
			counts[1] += c.Count
		default:
			counts[2] += c.Count
		}
	}
	var parts []string
	for i, n := range counts {
		if n > 0 {
			parts = append(parts, signs[i]+strconv.Itoa(n))
		}
	}
	if total == 1 {
		parts = append(parts, strings.ToLower(changes[0].Kind))
	}
	return strings.Join(parts, " ")
}

// maxOutcome is the length of outcomes in the table.
const maxOutcome = 80

// outcomeText returns how a run ended, with the first failure.
func outcomeText(h history.Head) string {
	text := string(h.Outcome)
	if h.Outcome == history.Applied {
		text += ", not waited for"
	}
	if h.Err != nil {
		text = "unreadable: " + h.Err.Error()
	} else if len(h.Failures) > 0 {
		text += ": " + h.Failures[0]
	}
	if runes := []rune(text); len(runes) > maxOutcome && h.Err == nil {
		text = string(runes[:maxOutcome]) + " ..."
	}
	if h.Pinned {
		text += ", pinned"
	}
	return text
}

func (f *showHistoryFlags) show(
	ctx context.Context, env *cli.Env, kube *cli.Kube, args []string, revision string,
) error {
	if err := f.output.Check(); err != nil {
		return err
	}
	s, head, err := f.find(ctx, env, kube, args, revision)
	if err != nil {
		return err
	}
	r, err := s.Read(ctx, head.Number)
	if err != nil {
		return err
	}
	for _, obj := range r.Objects {
		if obj.Withheld != nil {
			env.Notice(fmt.Sprintf("note: %s: %s", object.RefOf(obj.Unstructured), obj.Withheld))
		}
	}
	return printRevision(env, f.output.Value, r)
}

// printRevision prints the objects of a revision as documents, or in JSON as a list.
func printRevision(env *cli.Env, format string, r *history.Revision) error {
	list := map[string]any{"apiVersion": "v1", "kind": "List"}
	items := make([]any, len(r.Objects))
	for i, obj := range r.Objects {
		_, masked := diff.Mask(nil, obj.Unstructured)
		items[i] = masked.Object
	}
	if list["items"] = items; format == cli.OutputJSON {
		return cli.Encode(env.Out, format, list)
	}
	for i, item := range items {
		text, err := yamltext.Marshal(item)
		if err != nil {
			return err
		}
		if i > 0 {
			text = append([]byte("---\n"), text...)
		}
		if _, err := cli.Raw(env.Out).Write(text); err != nil {
			return fmt.Errorf("write the output: %w", err)
		}
	}
	return nil
}
