package run

import (
	"context"
	"errors"
	"fmt"

	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/sets"
)

// end undoes an adoption, or makes it final.
func (f *adoptFlags) end(
	ctx context.Context, env *cli.Env, kube *cli.Kube, args []string,
) (err error) {
	switch {
	case f.undo && f.finish:
		return errors.New("--undo restores the old state and --finish forgets it: give one of them")
	case f.from.Value != "" || f.dropLabels:
		return errors.New("--undo and --finish take the new set alone: its folder, or -a NAME")
	}
	set, c, err := f.OpenRecord(ctx, env, kube, args, nil)
	if err != nil {
		return err
	}
	adopted, err := sets.OpenAdopted(ctx, c, set)
	if err != nil {
		return err
	}
	namespace, _ := set.Name()
	question := fmt.Sprintf("Return the objects of %s in namespace %s (%d) to %s", set.Title(),
		namespace, adopted.Objects(), adopted.From())
	if f.finish {
		question = fmt.Sprintf("Delete what %s in namespace %s needs to become %s again",
			set.Title(), namespace, adopted.From())
	}
	if f.dryRun.Mode(false) != engine.DryRunNone {
		if f.undo {
			if err := adopted.CheckUndo(ctx); err != nil {
				return err
			}
		}
		return env.Print(question + "? (dry run)")
	}
	if err := refuseManaged(ctx, env, c, recordsOf(adopted.Locks()...)); err != nil {
		return err
	}
	if !f.yes {
		noteUnasked(env)
	}
	if !f.yes && env.IsInteractive() {
		place, err := kube.Place(c.Host())
		if err != nil {
			return err
		}
		if err := answered(env.Confirm(ctx, cli.Question{What: question, Place: place})); err != nil {
			return err
		}
	}
	for _, locked := range adopted.Locks() {
		held, run, refused := f.Lock.Acquire(ctx, env, c, locked, "adopt")
		if refused != nil {
			return refused
		}
		defer func(ctx context.Context) { err = cli.Release(ctx, held, err) }(ctx)
		ctx = run
	}
	return f.endLocked(ctx, env, set, adopted)
}

// endLocked undoes an adoption, or makes it final, while both sets are locked.
func (f *adoptFlags) endLocked(
	ctx context.Context, env *cli.Env, set sets.Set, adopted *sets.Adopted,
) error {
	if err := adopted.CheckCurrent(ctx); err != nil {
		return err
	}
	if f.finish {
		if err := adopted.Finish(ctx); err != nil {
			return err
		}
		return env.Print(fmt.Sprintf("the adoption of %s by %s is final", adopted.From(), set.Title()))
	}
	others, err := adopted.Undo(ctx)
	if err != nil {
		return err
	}
	for _, ref := range others {
		env.Notice(fmt.Sprintf("note: %s was deleted or replaced, and was left alone", ref))
	}
	return env.Print(fmt.Sprintf("%s is %s again", set.Title(), adopted.From()))
}
