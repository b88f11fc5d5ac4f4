package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/history"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/sets"
	"github.com/muster-deploy/muster/internal/show/view"
)

// The values of --on-failure.
const failureNone, failureRollback = "none", "rollback"

// rollbackExitCodes is the help text on the exit codes of commands that may roll back.
var rollbackExitCodes = strings.Replace(cli.ExitCodes, "  130  ",
	"  4    the run failed, and --on-failure=rollback has restored the last revision that succeeded\n"+
		"  130  ", 1)

// onFailureChoice returns the choice of --on-failure.
func onFailureChoice() cli.Choice {
	return cli.Choice{
		Value: failureNone, Meaning: "--on-failure", Allowed: []string{failureNone, failureRollback},
	}
}

// addOnFailure adds the flag for what a failed run does.
func (f *applyFlags) addOnFailure(cmd *cobra.Command) {
	f.onFailure.AddTo(cmd, "on-failure", "What to do after a run that has changed objects and "+
		"failed: nothing, or restore the last revision that succeeded")
}

// checkOnFailure returns an error for an invalid --on-failure, and for one with which the run would
// not make the cluster the same as the set: then an earlier revision is not the state before it.
func (f *applyFlags) checkOnFailure(cmd *cobra.Command) error {
	if err := f.onFailure.Check(); err != nil {
		return err
	}
	if f.onFailure.Value == failureRollback && f.history.limit == 0 {
		return errors.New("--on-failure=rollback restores a revision of the history, and " +
			"--history-limit=0 keeps none; omit one of them")
	}
	partial := slices.IndexFunc(changedPlanFlags(cmd), func(flag string) bool {
		return isFilter(flag) || flag == "no-prune"
	})
	if f.onFailure.Value == failureRollback && partial >= 0 {
		return fmt.Errorf("--on-failure=rollback restores the whole set, and --%s changes a part of it; "+
			"omit one of them", changedPlanFlags(cmd)[partial])
	}
	return nil
}

// recovery returns what a run does after a failure; nil for nothing.
func (f *applyFlags) recovery(
	env *cli.Env, kube *cli.Kube,
) func(context.Context, runContext) error {
	if f.onFailure.Value != failureRollback {
		return nil
	}
	return func(ctx context.Context, failed runContext) error {
		then := view.Recovery{Failed: failed.Revision().Number}
		op := (*sets.Operation)(nil)
		err := errors.New("the history could not be written")
		if then.Failed != 0 {
			then.Restores, op, err = f.prepareRecovery(ctx, env, failed)
		}
		if err != nil {
			then.Error = err.Error()
			failed.outputs.Recovery(then)
			env.Notice("error: " + then.String())
			return &cli.ResultError{}
		}
		failed.outputs.Recovery(then)
		env.Notice(then.String())
		return f.recover(ctx, env, kube, recovered{failed, then.Restores, op})
	}
}

// prepareRecovery returns the last revision that succeeded before a run that failed, and the
// operation that restores it.
func (f *applyFlags) prepareRecovery(
	ctx context.Context, env *cli.Env, failed runContext,
) (int, *sets.Operation, error) {
	store := &history.Store{Cluster: failed.Cluster, Set: failed.History()}
	heads, err := store.List(ctx)
	if err != nil {
		return 0, nil, err
	}
	good, ok := history.LastGood(heads)
	switch {
	case !ok:
		return 0, nil, errors.New("there is no earlier revision that succeeded")
	case failed.Revision().Partial != "":
		return 0, nil, fmt.Errorf("it changed a part of the set: %s", failed.Revision().Partial)
	case good.Content == failed.Revision().Content:
		return 0, nil, fmt.Errorf("revision %d, the last one that succeeded, has the same objects",
			good.Number)
	}
	request := f.RecordRequest(env, store.Set)
	restored, err := sets.AtRevision(ctx, failed.Cluster, request, store, good.Number)
	if err == nil {
		err = restored.Check()
	}
	if err != nil {
		return 0, nil, err
	}
	restored.Revision.Adopted = nil // nobody is asked, so that nothing is taken from others
	op, err := f.restore(ctx, env, restored, failed.Cluster, nil, false)
	if err == nil {
		err = op.MakePlan(ctx)
	}
	if err == nil {
		err = checkRecovery(op.Plan, failed.Recorder)
	}
	return good.Number, op, err
}

// checkRecovery returns an error if the plan of a rollback that nobody has seen changes what the
// failed run did not: it deletes what was there before that run, although no revision that was a
// success has it, or takes back what others have deployed or changed since.
func checkRecovery(p *plan.Plan, failed *sets.Recorder) error {
	for _, step := range p.Steps {
		change := ""
		switch {
		case step.Op == plan.Delete && !failed.Created(step.Ref):
			change = fmt.Sprintf("delete %s, which the run did not create", step.Ref)
		case step.Op.Writes() && !failed.Wrote(step.Ref):
			change = fmt.Sprintf("change %s, which the run did not", step.Ref)
		default:
			continue
		}
		return fmt.Errorf("that would %s; the command rollback shows what it does, and asks", change)
	}
	return nil
}

// recovered is a rollback after a run that failed.
type recovered struct {
	runContext
	good int // revision
	op   *sets.Operation
}

// recover runs the rollback, with the time of a run, and prints the results of both runs.
func (f *applyFlags) recover(
	ctx context.Context, env *cli.Env, kube *cli.Kube, back recovered,
) error {
	failed := back.Revision().Number
	r := f.newRunTo(env, "rollback", cli.DryRunFlag{}, back.outputs)
	r.follow(back.op)
	r.show.Children = back.op.Children(ctx)
	r.show.Header.Set, r.show.Header.Cluster = back.Set, back.Place
	r.show.Header.Namespace, r.show.Header.Restores = back.Namespace, back.good
	flags := f.history
	flags.restores = back.good
	flags.message = fmt.Sprintf("revision %d failed", failed)
	recorder := flags.recorder(env, kube, back.Target, back.op, "")
	limited, cancel := r.limited(ctx)
	defer cancel()
	err := r.start(limited, recorder, back.held)
	incomplete := (*cli.ResultError)(nil)
	switch {
	case err == nil:
		env.Notice(fmt.Sprintf("error: the run failed (revision %d); the set was rolled back to "+
			"revision %d", failed, back.good))
		return &cli.ExitCodeError{Code: cli.ExitRolledBack}
	case errors.As(err, &incomplete) && incomplete.Interrupted:
		env.Notice(fmt.Sprintf("error: the run failed (revision %d), and its rollback to revision %d "+
			"was interrupted; rollback --to %[2]d continues", failed, back.good))
		return err
	case incomplete != nil:
		env.Notice(fmt.Sprintf("error: the run failed (revision %d), and so did its rollback to "+
			"revision %d; rollback --to %[2]d tries again", failed, back.good))
		return err
	}
	return fmt.Errorf("the run failed (revision %d), and so did its rollback to revision %d: %w",
		failed, back.good, err)
}
