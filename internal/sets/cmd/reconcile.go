package cmd

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/managed"
	"github.com/muster-deploy/muster/internal/plaintext"
)

// reconcileFlags are the flags of reconcile.
type reconcileFlags struct {
	wait    bool
	timeout time.Duration
}

func newReconcile(env *cli.Env, kube *cli.Kube) *cobra.Command {
	f := reconcileFlags{}
	cmd := &cobra.Command{
		Use:   "reconcile SET",
		Short: "Ask the controller to look at a Set now",
		Long: `Set the annotation muster.dev/reconcile of a Set to the time, so that the controller fetches its
source and compares it with the cluster now. What is new is not applied outside the windows of the
Set. With --wait, wait until the controller has done so, and the Set is ready or cannot become ready
without a change.

Exit codes:
  0    the controller was asked; with --wait: the Set is ready
  1    the controller could not be asked: the error says why
  3    with --wait: the Set is stalled, its plan waits for an approval or a window, it was suspended
       or deleted, or the time is up
  130  interrupted`,
		Example: "  " + env.Name() + " reconcile shop\n" +
			"  " + env.Name() + " reconcile set/shop -n shop --wait --timeout 5m",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeSets(kube),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !f.wait && cmd.Flags().Changed("timeout") {
				return errors.New("--timeout is for --wait; add that, or omit it")
			}
			return f.run(cmd.Context(), env, kube, args[0])
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.wait, "wait", false, "Wait until the Set is ready, or cannot become so")
	flags.DurationVar(&f.timeout, "timeout", 0, "With --wait: time to wait; 0 means no limit")
	return cmd
}

func (f *reconcileFlags) run(
	ctx context.Context, env *cli.Env, kube *cli.Kube, argument string,
) error {
	if err := cli.CheckTimeout("timeout", f.timeout); err != nil {
		return err
	}
	a, err := openSet(ctx, kube, argument)
	if err != nil {
		return err
	}
	if a.set.Spec.Suspend {
		return fmt.Errorf("%s is suspended: %s resume %s lets the controller look at it", a.set.Title(),
			env.Name(), a.set.Title())
	}
	value := env.Now().UTC().Format(time.RFC3339Nano)
	if err := managed.Reconcile(ctx, a.client, a.set, value); err != nil {
		return err
	}
	if !f.wait {
		return printLine(env, a.set.Title()+": asked the controller to look at it")
	}
	return f.await(ctx, env, a, value)
}

// await waits until the run that was asked for with a value has ended, and prints how.
func (f *reconcileFlags) await(
	ctx context.Context, env *cli.Env, a setArgument, value string,
) error {
	if f.timeout > 0 {
		limited, cancel := context.WithTimeoutCause(ctx, f.timeout, engine.ErrOutOfTime)
		defer cancel()
		ctx = limited
	}
	s, outcome, gone, err := managed.Wait(ctx, a.client, a.set, value)
	switch {
	case errors.Is(err, engine.ErrOutOfTime):
		err = fmt.Errorf("%s is not ready within --timeout %s%s", s.Title(), f.timeout,
			reason(s, s.Requested == value && s.Status.LastHandledReconcileAt != value))
	case err != nil && ctx.Err() != nil:
		return &cli.ResultError{Interrupted: true}
	case err != nil:
		return err
	case gone:
		err = fmt.Errorf("%s was deleted", s.Title())
	case outcome == managed.Succeeded:
		return printLine(env, fmt.Sprintf("%s is ready%s", s.Title(), reason(s, false)))
	case outcome == managed.Idle:
		err = fmt.Errorf("%s was suspended", s.Title())
	case outcome == managed.Waiting:
		err = fmt.Errorf("a plan of %s waits for an approval: %s; %s approve %s shows it", s.Title(),
			s.Status.Plan.Summary, env.Name(), s.Title())
	case outcome == managed.Held:
		err = fmt.Errorf("%s waits for a window%s", s.Title(), reason(s, false))
	default:
		err = fmt.Errorf("%s is stalled%s", s.Title(), reason(s, false))
	}
	env.Notice("error: " + err.Error())
	return &cli.ResultError{}
}

// reason returns the message of the Set as the end of a line. Unhandled says that the controller
// has not begun.
func reason(s *managed.Set, unhandled bool) string {
	if unhandled {
		return ": the controller has not looked at it yet"
	}
	if _, message := s.Ready(); message != "" {
		return ": " + plaintext.Line(message)
	}
	return ""
}
