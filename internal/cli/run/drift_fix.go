package run

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/cli/look"
	"github.com/muster-deploy/muster/internal/cli/setflags"
	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/sets"
	"github.com/muster-deploy/muster/internal/show/view"
)

// addFix adds --fix and --accept, and their flags.
func (f *driftFlags) addFix(cmd *cobra.Command) {
	a, flags := &f.apply, cmd.Flags()
	flags.BoolVar(&f.fix, "fix", false, "Put back what drifted, by a plan of these fields alone")
	flags.BoolVar(&f.accept, "accept", false,
		"Write what drifted into the files of the set: the folder of the package, or those of -f")
	flags.BoolVar(&f.deleteAdded, "delete-added", false,
		"With --fix: also delete objects that have the label of the app and were not deployed with it")
	flags.BoolVarP(&a.yes, "yes", "y", false, "With --fix or --accept: do not ask on a terminal")
	a.dryRun.AddAlone(cmd, "With --fix or --accept: only print what would be done")
	flags.BoolVar(&a.wait, "wait", true, "With --fix: wait until the objects are ready")
	flags.DurationVar(&a.timeout, "timeout", 0,
		"With --fix: time for the whole run; 0 means no limit")
	flags.DurationVar(&a.ReconcileTimeout, "reconcile-timeout", 0,
		"With --fix: time to wait for an object to become ready; 0 means no limit")
	flags.StringVarP(&a.history.message, "message", "m", "",
		"With --fix: why it is made, for the history of the set")
	flags.IntVar(&a.history.limit, "history-limit", a.history.limit,
		"With --fix: number of revisions that the history keeps; 0 writes none")
	a.Lock.Add(flags)
	a.differences.Add(cmd)
}

// fixFlags are flags that mean something with --fix alone, acceptFlags those that also do with
// --accept.
var (
	fixFlags = []string{
		"delete-added", "wait", "timeout", "reconcile-timeout", "message", "history-limit",
	}
	acceptFlags = []string{"yes", "dry-run"}
)

// checkFix returns an error for flags of which one makes the other useless.
func (f *driftFlags) checkFix(cmd *cobra.Command, env *cli.Env) error {
	format, given := f.Output()
	option, changes := "--fix", "changes the cluster"
	if f.accept {
		option, changes = "--accept", "changes the files"
	}
	acts, deletes := f.fix || f.accept, sets.Request{App: f.App}.CheckDeletesAdded()
	switch {
	case f.fix && f.accept:
		return errors.New("--fix changes the cluster, and --accept the files: give one of them")
	case acts && f.Watches():
		return fmt.Errorf("--watch only prints, and %s %s: give one of them", option, changes)
	case f.accept && given && format != cli.OutputJSON:
		return fmt.Errorf("--accept prints text or json: omit -o %s", format)
	case f.deleteAdded && deletes != nil:
		return deletes
	case acts && given && !f.apply.yes && !cmd.Flags().Changed("dry-run") && env.IsInteractive():
		return fmt.Errorf("%s asks before it changes anything, and -o %s is for programs: add --yes "+
			"or --dry-run, or omit -o", option, format)
	}
	for _, name := range fixFlags {
		if !f.fix && cmd.Flags().Changed(name) {
			return fmt.Errorf("--%s is for --fix; add that, or omit it", name)
		}
	}
	for _, name := range acceptFlags {
		if !acts && cmd.Flags().Changed(name) {
			return fmt.Errorf("--%s is for --fix and --accept; add one of them, or omit it", name)
		}
	}
	return nil
}

// fixing is a fix while it is prepared and run.
type fixing struct {
	*driftFlags
	env    *cli.Env
	kube   *cli.Kube
	text   bool // the output is for people
	result *look.DriftResult
	fix    *sets.Fix
	shown  bool // what drifted is printed

	remains bool // something still drifts after the fix
}

// errNothingToFix ends a fix whose plan changes nothing.
var errNothingToFix = errors.New("nothing to fix")

// runFix puts back what drifted.
func (f *driftFlags) runFix(
	cmd *cobra.Command, env *cli.Env, kube *cli.Kube, args []string,
) error {
	a := &f.apply
	a.Flags, a.stall.limit = f.Flags, engine.DefaultStall
	if format, given := f.Output(); given {
		if err := a.output.Set(format); err != nil {
			return err
		}
	}
	ctx := cmd.Context()
	err := errors.Join(a.history.check(), cli.CheckTimeout("timeout", a.timeout),
		cli.CheckTimeout("reconcile-timeout", a.ReconcileTimeout))
	if err != nil {
		return err
	}
	r, err := a.newRun(env, "fix")
	if err != nil {
		return err
	}
	r.validation = nil // the server has accepted these values before
	x := &fixing{driftFlags: f, env: env, kube: kube, text: r.outputs.Text()}
	r.recorder = func(t setflags.Target, op *sets.Operation) *sets.Recorder {
		return a.history.recorder(env, kube, t, op, a.SourceFolder(args))
	}
	r.check = func(ctx context.Context, _ *sets.Operation) error { return x.check(ctx) }
	r.current = func(ctx context.Context) error { return x.fix.CheckCurrent(ctx) }
	r.review, r.finish = x.review, x.compareAgain
	prepare := func(ctx context.Context) (setflags.Target, *sets.Operation, error) {
		return x.prepare(ctx, args, a.dryRun.Is())
	}
	if a.dryRun.Is() {
		err = x.apply.preview(ctx, env, r, prepare)
	} else {
		err = r.do(ctx, prepare)
	}
	drifts := x.remains || a.dryRun.Is()
	if errors.Is(err, errNothingToFix) {
		err, drifts = x.fix.Drift().Incomplete, len(x.fix.Unfixed())+len(x.fix.Left()) > 0
	}
	if err == nil && drifts {
		return &cli.ExitCodeError{Code: look.ExitDrift}
	}
	return err
}

// compareAgain prints what still drifts after the fix: the answer of the server counts.
func (x *fixing) compareAgain(ctx context.Context) error {
	left, err := x.fix.Remaining(ctx)
	for _, l := range left {
		x.env.Notice(fmt.Sprintf("Warning: %s still differs after the fix: %s", l.Ref, l.Reason))
	}
	x.remains = len(left) > 0
	return err
}

// prepare opens what the set is compared with, and returns the operation that puts it back.
func (x *fixing) prepare(
	ctx context.Context, args []string, dryRun bool,
) (t setflags.Target, op *sets.Operation, err error) {
	if x.result, err = x.Open(ctx, x.env, x.kube, args); err != nil {
		return t, nil, err
	}
	b, c := x.result.Baseline, x.result.Cluster
	set, restored, err := b.Set(ctx, x.result.Request)
	if loss := (*sets.LossError)(nil); errors.As(err, &loss) {
		err = fmt.Errorf("%w\n--against . compares with the files, and puts back what they describe", err)
	}
	if err != nil {
		return t, nil, err
	}
	a := x.apply
	a.noPrune, a.comparison = !x.deleteAdded, sets.FixComparison
	var all *sets.Operation
	if restored != nil {
		restored.Revision.Adopted = nil // what others own now stays theirs
		all, err = a.restore(ctx, x.env, restored, c, nil, dryRun)
	} else {
		options := a.ApplyOptions(dryRun, x.env.Notice)
		options.Options = a.options(x.env.Now())
		all, err = set.PrepareApply(ctx, c, options)
	}
	if err != nil {
		return t, nil, err
	}
	x.fix = b.NewFix(all, sets.FixOptions{Options: x.result.Options, DeleteAdded: x.deleteAdded})
	x.kube.SetSources(sourcesOf(x.fix.Operation))
	t, err = setflags.NewTarget(x.kube, c, set)
	return t, x.fix.Operation, err
}

// check prints what drifted, and returns an error unless it can and has to be put back.
func (x *fixing) check(ctx context.Context) error {
	if !x.shown {
		x.shown = true
		look.WarnOfUnserved(x.env, x.fix.Drift())
		if err := x.printDrift(ctx); err != nil {
			return err
		}
	}
	if err := x.fix.CheckCurrent(ctx); err != nil {
		return err
	}
	for _, step := range x.fix.Plan.Steps {
		if step.Op.Writes() || step.ReasonCode == plan.ReasonHeld {
			return nil
		}
	}
	for _, note := range notChanged(append(x.fix.Left(), x.fix.Unfixed()...)) {
		x.env.Notice(note)
	}
	return errNothingToFix
}

// printDrift prints what drifted if the output is for people.
func (x *fixing) printDrift(ctx context.Context) error {
	if !x.text {
		return nil
	}
	if err := x.result.SetDrift(ctx, x.fix.Drift()); err != nil {
		return err
	}
	if err := x.result.Print(x.env.Err, x.env.Now()); err != nil {
		return fmt.Errorf("write the output: %w", err)
	}
	return nil
}

// notChanged returns a note for each of the objects that drifted and are not changed, once.
func notChanged(objects []sets.LeftDrift) (notes []string) {
	for _, left := range objects {
		note := fmt.Sprintf("note: %s is not changed: %s", left.Ref, left.Reason)
		if !slices.Contains(notes, note) {
			notes = append(notes, note)
		}
	}
	return notes
}

// review returns what is not put back, and an error if an object would fail.
func (x *fixing) review(
	_ context.Context, outlooks []view.Outlook,
) (notes []string, err error) {
	for _, o := range outlooks {
		if o.Verb() == view.ToFail {
			err = fmt.Errorf("%s cannot be put back, as the plan says; nothing was changed", o.Step.Ref)
			break
		}
	}
	return notChanged(x.fix.Left()), err
}
