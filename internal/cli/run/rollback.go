package run

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/cli/output"
	"github.com/muster-deploy/muster/internal/cli/setflags"
	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/history"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/sets"
	"github.com/muster-deploy/muster/internal/sets/operation"
	"github.com/muster-deploy/muster/internal/show/view"
)

// rollbackFlags are the flags of rollback.
type rollbackFlags struct {
	applyFlags
	to      string // a number, toGood, toLast or empty
	partial bool   // what can be restored is

	target *restoration // once prepare has found it
}

// restoration is a revision that is restored.
type restoration struct {
	*sets.Restored
	heads   []history.Head
	store   *history.Store
	cluster cluster.Writer
	request sets.Request
}

// The names of revisions that --to takes.
const toGood, toLast = "good", "last"

func newRollback(env *cli.Env, kube *cli.Kube) *cobra.Command {
	f := rollbackFlags{applyFlags: newApplyFlags(output.RunKinds)}
	cmd := &cobra.Command{
		Use:   "rollback [FOLDER] | -a NAME | --record NAME",
		Short: "Restore an earlier revision of a package or an app",
		Long: `Make the objects of a set the same as in an earlier revision: create, update, wait until ready,
and prune what came later. The set is the package in a folder (default: the working folder), an app
(-a), or a package without its folder (--record). The objects and their readiness rules come from
the history in the cluster; no files are needed. The plan is printed first. On a terminal it is run
after you have confirmed it.

The revision is the last one that succeeded before the current one and has other objects, or --to: a
number, "good" for the last one that succeeded, or "last" for the last one of all. The rollback
leaves a revision of its own.

What cannot be restored is printed before anything is changed: objects of kinds that the cluster does
not have any more, Secrets whose data the history does not have, and fields that cannot change.
--partial restores the rest. The data of a volume claim that was deleted is not restored.

` + cli.ExitCodes,
		Example: "  " + env.Name() + " rollback wordpress\n" +
			"  " + env.Name() + " rollback wordpress --to 6 --dry-run\n" +
			"  " + env.Name() + " rollback -a web -n shop --to 6 --yes",
		ValidArgsFunction: cli.CompleteFolders,
		RunE: func(cmd *cobra.Command, args []string) error {
			f.InstallGiven = cmd.Flags().Changed("install-resource-group")
			f.changed = changedPlanFlags(cmd)
			f.validation.typed = cmd.Flags().Changed("validate")
			return f.run(cmd, env, kube, args)
		},
	}
	f.addRun(cmd)
	f.AddRecord(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.to, "to", "", "Revision to restore: a number, good or last (default: the last "+
		"one that succeeded before the current one)")
	flags.BoolVar(&f.partial, "partial", false,
		"Restore what can be restored, instead of failing if not everything can be")
	f.CompleteRevisionFlag(cmd, kube, "to")
	return cmd
}

func (f *rollbackFlags) run(
	cmd *cobra.Command, env *cli.Env, kube *cli.Kube, args []string,
) error {
	ctx := cmd.Context()
	if err := errors.Join(f.checkValues(), f.CheckFlags(cmd), f.checkTo()); err != nil {
		return err
	}
	r, err := f.newRun(env, "rollback")
	if err != nil {
		return err
	}
	r.restores = &f.history.restores
	r.recorder = func(t setflags.Target, op *sets.Operation) *sets.Recorder {
		return f.history.recorder(env, kube, t, op, "")
	}
	r.check = func(ctx context.Context, op *sets.Operation) error {
		noteUnselected(cmd, env, op)
		if err := f.target.checkNewest(ctx); err != nil {
			return err
		}
		if err := f.checkLosses(env, op.Plan); err != nil {
			return err
		}
		return f.checkPruned(op)
	}
	r.current = func(ctx context.Context) error { return f.target.checkNewest(ctx) }
	r.review = f.review
	prepare := func(ctx context.Context) (setflags.Target, *sets.Operation, error) {
		return f.prepare(ctx, env, kube, args, f.dryRun.Is())
	}
	if f.dryRun.Is() {
		return f.preview(ctx, env, r, prepare)
	}
	return r.do(ctx, prepare)
}

// checkTo returns an error for an invalid --to.
func (f *rollbackFlags) checkTo() error {
	number, err := strconv.Atoi(f.to)
	if f.to == "" || f.to == toGood || f.to == toLast || err == nil && number > 0 {
		return nil
	}
	return fmt.Errorf("--to %q is no revision: give its number, %s or %s", f.to, toGood, toLast)
}

// prepare finds the set and the revision, and connects.
func (f *rollbackFlags) prepare(
	ctx context.Context, env *cli.Env, kube *cli.Kube, args []string, dryRun bool,
) (t setflags.Target, op *sets.Operation, err error) {
	f.validation.kube = kube
	request, err := f.Request(ctx, env, kube, args, f.RuleFiles)
	if err != nil {
		return t, nil, err
	}
	store, title, err := f.OpenHistory(ctx, env, kube, args)
	if err != nil {
		return t, nil, err
	}
	client := store.Cluster
	heads, err := store.List(ctx)
	if err != nil {
		return t, nil, err
	}
	number, err := f.choose(env, heads, title, f.RecordWords(args))
	if err != nil {
		return t, nil, err
	}
	restored, err := sets.AtRevision(ctx, client, request, store, number)
	if none := (*history.NotFoundError)(nil); errors.As(err, &none) {
		err = fmt.Errorf("there is no revision %d of %s in namespace %s; %s prints those that are "+
			"kept", number, title, store.Set.Namespace,
			env.Command(append([]string{"history"}, f.RecordWords(args)...)...))
	}
	if err != nil {
		return t, nil, err
	}
	f.target = &restoration{restored, heads, store, client, request}
	op, err = f.restore(ctx, env, restored, client, f.changed, dryRun)
	if err != nil {
		return t, nil, err
	}
	f.history.restores = number
	kube.SetSources(sourcesOf(op))
	t, err = setflags.NewTarget(kube, client, restored)
	return t, op, err
}

// settings are the flags whose options a revision keeps.
var settings = map[string]sets.Setting{
	"server-side": sets.ServerSide, "field-manager": sets.FieldManager,
	"force-conflicts": sets.Conflicts, "conflicts": sets.Conflicts, "ordering": sets.Ordering,
	"prune-propagation-policy": sets.Propagation,
}

// restore returns the operation that restores a revision, with the options of the revision but for
// those of some flags.
func (f *applyFlags) restore(
	ctx context.Context, env *cli.Env, restored *sets.Restored, c cluster.Writer, flags []string,
	dryRun bool,
) (*sets.Operation, error) {
	options := f.ApplyOptions(dryRun, env.Notice)
	options.Options = f.options(env.Now())
	for _, flag := range flags {
		if setting, ok := settings[flag]; ok {
			restored.Given = append(restored.Given, setting)
		}
	}
	if options.Definition == operation.InstallDefinition {
		options.Definition = operation.InstallAtRun
	}
	return restored.PrepareApply(ctx, c, options)
}

// choose returns the number of the revision that --to names, or of the last good one before the
// current one.
func (f *rollbackFlags) choose(
	env *cli.Env, heads []history.Head, title string, words []string,
) (int, error) {
	if len(heads) == 0 {
		return 0, fmt.Errorf("there are no revisions of %s", title)
	}
	h, ok := heads[0], true
	missing := "there is no revision of %s that succeeded before revision %d and has other objects"
	switch f.to {
	case "":
		h, ok = history.GoodBefore(heads)
	case toGood:
		h, ok = history.LastGood(heads)
		missing = "no revision of %s up to revision %d has succeeded"
	case toLast:
	default:
		return strconv.Atoi(f.to)
	}
	if !ok {
		return 0, fmt.Errorf(missing+"; %s prints all, and --to NUMBER restores one", title,
			heads[0].Number, env.Command(append([]string{"history"}, words...)...))
	}
	return h.Number, nil
}

// checkNewest returns an error if a run has ended since the revision was chosen, as while the lock
// was waited for: another revision may be meant now.
func (r *restoration) checkNewest(ctx context.Context) error {
	heads, err := r.store.List(ctx)
	if err != nil {
		return err
	}
	if len(heads) > 0 && len(r.heads) > 0 && heads[0].Number != r.heads[0].Number {
		return fmt.Errorf("revision %d was written meanwhile; nothing was changed: give the command "+
			"again", heads[0].Number)
	}
	return nil
}

// checkLosses prints what is not restored as it was, and returns an error if that is too much.
func (f *rollbackFlags) checkLosses(env *cli.Env, p *plan.Plan) error {
	r := f.target
	for _, c := range r.Converted {
		env.Notice("note: " + c.String())
	}
	if r.Revision.Partial != "" {
		env.Notice(fmt.Sprintf("note: the cluster was never the same as revision %d: %s",
			r.Revision.Number, r.Revision.Partial))
	}
	err := r.Check()
	if err == nil {
		return nil
	}
	if !f.partial {
		return fmt.Errorf("%w\n--partial restores the rest", err)
	}
	for _, loss := range r.Losses {
		for _, step := range p.Steps {
			if step.Op == plan.Delete && step.Ref == loss.Object {
				return fmt.Errorf("%s cannot be restored, exists, and would be pruned; nothing was changed "+
					"(%s)\n--no-prune keeps it, with all else that came later", loss.Object, loss.Reason)
			}
		}
		env.Notice("not restored: " + loss.String())
	}
	return nil
}

// review returns notes about a plan, and an error if an object would fail, unless the rest may be
// restored.
func (f *rollbackFlags) review(
	ctx context.Context, outlooks []view.Outlook,
) (notes []string, err error) {
	notes = f.notes(ctx, outlooks)
	failing := 0
	for _, o := range outlooks {
		if o.Verb() == view.ToFail {
			failing++
		}
	}
	if failing == 0 || f.partial {
		return notes, nil
	}
	objects := "1 object"
	if failing > 1 {
		objects = fmt.Sprintf("%d objects", failing)
	}
	return notes, fmt.Errorf("%s of revision %d cannot be restored, as the plan says; nothing was "+
		"changed\n--partial restores the rest", objects, f.target.Revision.Number)
}

// claimKind is the kind of volume claims.
var claimKind = schema.GroupKind{Kind: "PersistentVolumeClaim"}

// notes returns what a plan does not show: data that is gone, and what undoes the rollback.
func (f *rollbackFlags) notes(ctx context.Context, outlooks []view.Outlook) (lines []string) {
	for _, o := range outlooks {
		created := o.Step.Op == plan.Create || o.Verb() == view.ToRecreate
		if created && o.Step.Ref.GroupKind() == claimKind {
			lines = append(lines, fmt.Sprintf("note: %s is created without data: that of the deleted "+
				"claim is not restored", o.Step.Ref))
		}
	}
	r := f.target
	if line := r.UndoneBy(ctx, r.cluster, r.request, r.heads); line != "" {
		lines = append(lines, "note: "+line)
	}
	return lines
}
