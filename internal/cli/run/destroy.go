package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/cli/output"
	"github.com/muster-deploy/muster/internal/cli/packageflags"
	"github.com/muster-deploy/muster/internal/cli/setflags"
	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/sets"
	"github.com/muster-deploy/muster/internal/sets/packages"
)

// destroyFlags are the flags of destroy.
type destroyFlags struct {
	packageflags.DestroyFlags
	setflags.Flags
	dryRun  cli.DryRunFlag
	wait    bool
	absent  bool // a record that does not exist is no error
	timeout time.Duration
	held    heldFlags
	stall   stallLimit
	output  output.Flag
	history historyFlags

	confirmed bool // nothing is asked, and held objects stay

	// pruned limits how much is deleted, if the command is an apply that destroys; else nil.
	pruned *plan.PruneLimit
}

// newDestroyFlags returns the flags with defaults.
func newDestroyFlags() destroyFlags {
	f := destroyFlags{DestroyFlags: packageflags.NewDestroyFlags("graph"),
		output:  output.NewFlag(output.RunKinds),
		history: newHistoryFlags(), wait: true}
	f.Lock = cli.NewLockFlags()
	return f
}

func newDestroy(env *cli.Env, kube *cli.Kube) *cobra.Command {
	f := newDestroyFlags()
	cmd := &cobra.Command{
		Use:     "destroy [FOLDER | -] | -a NAME | --record NAME",
		Aliases: []string{"delete"},
		Short:   "Delete everything that a package or an app deployed",
		Long: `Delete every object that a set deployed, in the reverse order of applying, wait until all are
gone, and then delete the record. The set is the package in a folder (default: the working folder)
or on the standard input (-), an app (-a), or a package whose folder is gone (--record). On a
terminal the plan is shown first, and run after you have confirmed it. Without a terminal nothing is
deleted unless --yes is given.

--yes also deletes objects that hold other objects or data: namespaces, definitions, volumes and
claims. With --allow-delete it deletes only those that this names; "none" names none of them.

With --wait=false, objects are waited for only if another deletion has to come after theirs. The
record stays until all objects are gone: destroy the set again then.

` + cli.ExitCodes,
		Example: "  " + env.Name() + " destroy wordpress\n" +
			"  " + env.Name() + " destroy -a web -n shop --yes\n" +
			"  " + env.Name() + " destroy --record inventory-12345678 -n shop",
		ValidArgsFunction: cli.CompleteFolders,
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd, env, kube, args)
		},
	}
	f.addRun(cmd)
	f.AddFolder(cmd)
	cmd.Flags().BoolVar(&f.absent, "ignore-not-found", false,
		"Treat an app (-a) or a record (--record) that does not exist as deleted")
	return cmd
}

// addRun adds the flags of a run, but for those that name the set.
func (f *destroyFlags) addRun(cmd *cobra.Command) {
	f.Add(cmd)
	flags := cmd.Flags()
	f.dryRun.Add(cmd, "Only print what would be deleted")
	flags.BoolVar(&f.wait, "wait", true, "Wait until the objects are gone")
	flags.DurationVar(&f.timeout, "timeout", 0, "Time for the whole run; 0 means no limit")
	f.held.add(cmd, true)
	f.stall.add(cmd, "delete-timeout")
	f.history.add(cmd)
	f.history.addKeep(cmd)
	f.output.Add(cmd)
}

func (f *destroyFlags) run(
	cmd *cobra.Command, env *cli.Env, kube *cli.Kube, args []string,
) error {
	ctx, mode := cmd.Context(), f.dryRun.Mode(false)
	readers, err := f.output.Readers(env, hasLive)
	if err != nil {
		return err
	}
	err = errors.Join(
		f.Check(), f.stall.check(), f.history.check(), cli.CheckTimeout("timeout", f.timeout))
	if f.pruned == nil { // else the flags are those of an apply, which has checked them
		err = errors.Join(err, f.CheckFlags(cmd))
	}
	if err != nil {
		return err
	}
	asked := !f.held.yes && !f.confirmed && mode == engine.DryRunNone
	if asked && !env.IsInteractive() {
		return errors.New("there is no terminal to ask on: give --yes to delete the objects, or " +
			"--dry-run to see which they are; nothing was changed")
	}
	r, err := newRun(env, "destroy", readers, wording{removed: "deleted", onlyDeletes: true})
	if err != nil {
		return err
	}
	r.lock, r.options, r.held = f.Lock, f.RunOptions(mode, true), &f.held
	r.yes, r.timeout, r.noWait = f.held.yes || f.confirmed, f.timeout, !f.wait
	r.recorder = func(t setflags.Target, op *sets.Operation) *sets.Recorder {
		return f.history.recorder(env, kube, t, op, "")
	}
	r.options.Limits.Stall = f.stall.value(f.DeleteTimeout)
	r.show.Statuses, r.show.Waves = f.Statuses, f.Options(nil).Waves()
	var (
		set       sets.Set
		connected cluster.Writer
		op        *sets.Operation
	)
	r.check = func(ctx context.Context, op *sets.Operation) error {
		if !op.Recorded {
			if err := f.checkAbsent(ctx, env, connected, set); err != nil {
				return err
			}
		}
		if f.pruned == nil {
			return nil
		}
		return f.pruned.Check(op.Plan.Pruned(), len(op.Plan.Recorded))
	}
	err = r.do(ctx, func(ctx context.Context) (t setflags.Target, _ *sets.Operation, err error) {
		if set, connected, err = f.OpenRecord(ctx, env, kube, args, nil); err != nil {
			return t, nil, err
		}
		if t, err = setflags.NewTarget(kube, connected, set); err != nil {
			return t, nil, err
		}
		o := f.Options(env.Notice)
		o.Hold, o.AllowDelete, o.AppAnnotations = true, f.held.allowed(), true
		op, err = set.PrepareDestroy(ctx, connected, o)
		return t, op, err
	})
	if none := (*packages.NoRecordError)(nil); errors.As(err, &none) {
		return f.checkNoRecord(ctx, env, kube, args, none)
	}
	if err == nil && mode == engine.DryRunNone && slices.ContainsFunc(op.Plan.Steps, isUnawaited) {
		noteLeaving(ctx, env, connected, set)
	}
	if err != nil || !op.Plan.LeavesUnknown() {
		return err
	}
	return &cli.ResultError{}
}

// checkNoRecord returns an error for --record if neither a record nor a history of this name
// exists, unless --ignore-not-found is given, or if the package has another name now.
func (f *destroyFlags) checkNoRecord(
	ctx context.Context, env *cli.Env, kube *cli.Kube, args []string, none error,
) error {
	if !f.absent {
		if _, _, err := f.OpenHistory(ctx, env, kube, args); err != nil {
			return err
		}
	}
	env.Notice("note: " + none.Error())
	return nil
}

// checkAbsent returns an error for a set without a record whose name was given: it may be
// misspelled. For a folder, which names its record itself, or with --ignore-not-found, and for an
// app whose history was kept, it prints that nothing is to be deleted.
func (f *destroyFlags) checkAbsent(
	ctx context.Context, env *cli.Env, c cluster.Writer, set sets.Set,
) error {
	if f.ByRecord() && f.pruned == nil && !f.absent {
		if _, none := sets.OpenHistory(ctx, c, set); none != nil {
			return none
		}
	}
	namespace, _ := set.Name()
	env.Notice(fmt.Sprintf("there is no record of %s in namespace %s: nothing to delete",
		set.Title(), namespace))
	elsewhere := (*sets.ElsewhereError)(nil)
	if _, err := set.Targets(ctx, c); errors.As(err, &elsewhere) {
		env.Notice("note: " + elsewhere.Hint())
	} else if hint := sets.Similar(ctx, c, set); hint != "" {
		env.Notice("note: " + hint)
	}
	return nil
}

// isUnawaited reports whether a step deletes an object and does not wait until it is gone.
func isUnawaited(step plan.Step) bool { return step.Op == plan.Delete && !step.Wait }

// noteLeaving prints which objects of a set are still being deleted after a run that did not wait
// for them.
func noteLeaving(ctx context.Context, env *cli.Env, c cluster.Writer, set sets.Set) {
	targets, err := set.Targets(ctx, c)
	if err != nil || targets.All.Len() == 0 {
		return // the record is gone
	}
	var names []string
	for _, ref := range targets.All.Refs() {
		names = append(names, ref.String())
	}
	env.Notice("note: the record stays until these objects are gone, which nothing waits for; " +
		"destroy the set again then: " + strings.Join(names, ", "))
}
