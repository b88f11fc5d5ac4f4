package run

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/cli/output"
	"github.com/muster-deploy/muster/internal/cli/setflags"
	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/sets"
	"github.com/muster-deploy/muster/internal/sets/operation"
	"github.com/muster-deploy/muster/internal/sets/packages"
	"github.com/muster-deploy/muster/internal/show/report"
	"github.com/muster-deploy/muster/internal/show/view"
)

// planFlags are the flags of plan.
type planFlags struct {
	applyFlags
	exitCode bool
	out      string
	comment  string // file
}

func newPlan(env *cli.Env, kube *cli.Kube) *cobra.Command {
	f := planFlags{applyFlags: newApplyFlags(output.PlanKinds)}
	cmd := &cobra.Command{
		Use:   "plan [FOLDER | -] | -a NAME -f FILE...",
		Short: "Show what apply would do to each object",
		Long: `Show what apply would do to each object of the package in a folder (default: the
working folder) or on the standard input (-), or of an app (-a NAME -f FILE): create, configure with
the difference, prune, orphan or skip it, and why. Nothing is changed and nothing is recorded. The
content of Secrets is not shown.

The API server validates each update in a dry run, and new objects if there are at most 100. With
--server-side it validates all; without it, apply --dry-run=server does.

Exit codes:
  0    the plan was made
  1    it could not be made, prunes more than --max-prune, or apply would write nothing because
       the validation fails (--validate): the error says why
  2    with --exit-code: the plan was made, and something would change
  3    the plan was made, and an object would fail, be skipped because it belongs to others, or
       be kept because of what it holds
  130  interrupted`,
		Example: "  " + env.Name() + " plan wordpress\n" +
			"  " + env.Name() + " plan wordpress --server-side --out wordpress.plan\n" +
			"  " + env.Name() + " apply wordpress --plan wordpress.plan",
		ValidArgsFunction: cli.CompleteFolders,
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.HintAccess(env, args, f.run(cmd, env, kube, args))
		},
	}
	f.PlanFlags.Add(cmd)
	f.addPlanned(cmd)
	f.AddFiles(cmd)
	flags := cmd.Flags()
	flags.BoolVar(&f.exitCode, "exit-code", false, "Exit with code 2 if something would change")
	flags.StringVar(&f.out, "out", "", "Save the plan to this file for 'apply --plan'")
	cli.AddRules(cmd, &f.RuleFiles)
	f.output.Add(cmd)
	flags.StringVar(&f.comment, "comment", "", "Write the plan as Markdown to this file, for a "+
		"comment on a change: at most 60 kB, with a hidden marker by which a program "+
		"finds the comment before")
	return cmd
}

func (f *planFlags) run(cmd *cobra.Command, env *cli.Env, kube *cli.Kube, args []string) error {
	ctx := cmd.Context()
	if err := errors.Join(f.check(), f.CheckFlags(cmd)); err != nil {
		return err
	}
	outputs, err := f.open(env)
	if err != nil {
		return err
	}
	defer outputs.Discard()
	t, op, err := f.prepare(ctx, env, kube, args, true)
	if err != nil {
		return err
	}
	if err := op.MakePlan(ctx); err != nil {
		return err
	}
	if outputs.Text() {
		t.Print(env, view.OutputText, op)
	}
	if err := f.checkMoved(kube, op); err != nil {
		return err
	}
	refused, err := f.validation.check(ctx, env, t.Cluster, op, false)
	if err != nil {
		return err
	}
	printForgotten(env, op.Plan)
	noteUnselected(cmd, env, op)
	mode := dryRunOf(op.Plan)
	outlooks, err := outlooksOf(ctx, env, op, mode, f.validation.ofDryRuns())
	if err != nil {
		return err
	}
	invalid := refuse(outlooks, "apply", refused)
	err = f.printAll(ctx, env, outputs, planned{t, op, f.SourceFolder(args), outlooks})
	if err != nil {
		return err
	}
	if n := op.Plan.Creations(); mode == engine.DryRunClient && n > cli.TryCreations {
		env.Notice(fmt.Sprintf("note: the server was not asked whether the %d new objects are valid; "+
			"apply --dry-run=server asks it", n))
	}
	if err := f.checkPruned(op); err != nil {
		return &cli.LateError{Err: err}
	}
	if invalid != nil {
		return invalid
	}
	result := f.result(outlooks)
	if text := shortfall(outlooks, op.Plan.Owner); text != "" {
		env.Notice("error: " + text)
	}
	if f.out == "" {
		return result
	}
	if failing := (*cli.ResultError)(nil); errors.As(result, &failing) {
		env.Notice("the plan is not saved, because an object would not be applied or pruned")
		return result
	}
	s, err := op.Save(ctx, cli.Version())
	if err == nil {
		err = operation.WritePlan(f.out, s, os.Stdout, os.Stderr)
	}
	if err != nil {
		return &cli.LateError{Err: err}
	}
	return result
}

// open returns the readers of the plan, with their files.
func (f *planFlags) open(env *cli.Env) (*output.Outputs, error) {
	readers, err := f.output.Readers(env, false)
	if err != nil {
		return nil, err
	}
	if f.comment != "" {
		readers = append(readers, output.Reader{Kind: output.Comment, Path: f.comment})
		if err := output.CheckFiles(readers); err != nil {
			return nil, err
		}
	}
	return output.Open(env, readers)
}

// planned is a plan that was tried.
type planned struct {
	target   setflags.Target
	op       *sets.Operation
	folder   string // of the manifests
	outlooks []view.Outlook
}

// printAll prints the plan for all readers.
func (f *planFlags) printAll(
	ctx context.Context, env *cli.Env, outputs *output.Outputs, p planned,
) error {
	document := planDocument(p.outlooks, p.op.Plan, view.RunHeader{
		Tool: cli.Version(), Set: p.target.Set, Namespace: p.target.Namespace, Cluster: p.target.Place,
		Folder: p.folder,
	})
	return outputs.Print(func(r output.Reader, out io.Writer) error {
		return f.print(ctx, env, r, out, p.outlooks, document)
	})
}

// print prints the plan for one reader.
func (f *planFlags) print(
	ctx context.Context, env *cli.Env, r output.Reader, out io.Writer, outlooks []view.Outlook,
	document plannedSet,
) error {
	terminal, prints := view.Terminal{}, r.Path == ""
	if prints {
		terminal = env.Terminal()
	}
	switch r.Kind {
	case output.KRM:
		return packages.PlanKRM(out, outlooks)
	case output.JSON:
		return document.print(out)
	case output.Table:
		return planTable(out, outlooks)
	case output.Lines, output.Live:
		return f.differences.Print(ctx, env, out, terminal, planChanges(outlooks))
	case output.Quiet:
		return nil
	}
	var text bytes.Buffer
	if err := document.print(&text); err != nil {
		return err
	}
	planned, err := report.ReadPlan(text.Bytes())
	if err != nil {
		return err
	}
	if r.Kind == output.Comment {
		_, err := io.WriteString(out, report.Comment(planned))
		return err
	}
	if prints && (r.Kind == output.GitHub || r.Kind == output.GitLab) {
		text.Reset()
		err := f.differences.Print(ctx, env, &text, view.Terminal{}, planChanges(outlooks))
		if err != nil {
			return err
		}
		if err := output.PrintSection(out, r.Kind, "plan", text.String(), env.Now()); err != nil {
			return err
		}
	}
	return output.Render(env, r, out, []*report.Run{planned})
}

// result returns the error for the exit code.
func (f *planFlags) result(outlooks []view.Outlook) error {
	changes := false
	for _, o := range outlooks {
		if o.FallsShort() {
			return &cli.ResultError{}
		}
		changes = changes || o.Verb().Changes()
	}
	if f.exitCode && changes {
		return cli.ErrChanges
	}
	return nil
}

// shortfalls are the reasons why an object would not be applied or deleted: for one object, and for
// several. An object that would fail has no code.
var shortfalls = []struct {
	code         plan.ReasonCode
	one, several string
}{
	{"", "would fail, see its error", "would fail, see their errors"},
	{plan.ReasonForeign, "belongs to others", "belong to others"},
	{plan.ReasonUnowned, "exists and belongs to no set", "exist and belong to no set"},
	{plan.ReasonHeld, "holds other objects or data, --allow-delete KIND deletes it",
		"hold other objects or data, --allow-delete KIND deletes them"},
	{plan.ReasonProtected, "would be kept because of what others have in it",
		"would be kept because of what others have in them"},
}

// shortfall returns how many objects an apply would neither apply nor delete, why, and what users
// may do; empty for none.
func shortfall(outlooks []view.Outlook, owner plan.Owner) string {
	hints := map[plan.ReasonCode]string{
		plan.ReasonForeign: ", " + owner.ForeignHint, plan.ReasonUnowned: ", " + owner.AdoptHint,
	}
	counts, total := map[plan.ReasonCode]int{}, 0
	for _, o := range outlooks {
		if code := o.Step.ReasonCode; o.FallsShort() {
			if total++; o.Verb() == view.ToFail {
				code = ""
			}
			counts[code]++
		}
	}
	var parts []string
	for _, s := range shortfalls {
		switch n := counts[s.code]; n {
		case 0:
		case 1:
			parts = append(parts, "1 "+s.one+hints[s.code])
		default:
			several := strings.Replace(hints[s.code], "takes it", "takes them", 1)
			parts = append(parts, fmt.Sprintf("%d %s%s", n, s.several, several))
		}
	}
	if total == 0 {
		return ""
	}
	objects := "objects"
	if len(outlooks) == 1 {
		objects = "object"
	}
	return fmt.Sprintf("%d of %d %s would not be applied or deleted: %s",
		total, len(outlooks), objects, strings.Join(parts, "; "))
}
