package run

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-deploy/muster/internal/base/plaintext"
	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/feature/managed"
	"github.com/muster-deploy/muster/internal/show/view"
)

// reconcileFlags are the flags of reconcile.
type reconcileFlags struct {
	wait    bool
	timeout time.Duration
	output  cli.Choice
}

func newReconcile(env *cli.Env, kube *cli.Kube) *cobra.Command {
	f := reconcileFlags{output: cli.Choice{
		Value: view.OutputText, Meaning: "output", Allowed: []string{view.OutputText, cli.OutputJSON},
	}}
	cmd := &cobra.Command{
		Use:   "reconcile SET",
		Short: "Ask the controller to look at a Set now",
		Long: `Set the annotation muster.dev/reconcile of a Set to the time, so that the controller fetches its
source and compares it with the cluster now. What is new is not applied outside the windows of the
Set. With --wait, wait until the controller has done so, and the Set is ready or cannot become ready
without a change. Meanwhile print what happens: the state of the Set, how many objects are ready,
causes why others are not, and the events of the Set. With -o json each is a line, of the type set or
event; the last one has the type result. An interrupt ends the wait alone: the controller continues.

Exit codes:
  0    the controller was asked; with --wait: the Set is ready
  1    the controller could not be asked: the error says why
  3    with --wait: the Set is stalled, its plan waits for an approval or a window, it was suspended
       or deleted, or the time is up
  130  interrupted; the controller continues`,
		Example: "  " + env.Name() + " reconcile shop\n" +
			"  " + env.Name() + " reconcile set/shop -n shop --wait --timeout 5m",
		Args:              cli.Arguments(1, 1),
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
	f.output.AddShortTo(cmd, "output", "o", "Output format")
	flags.DurationVar(&f.timeout, "timeout", 0, "With --wait: time to wait; 0 means no limit")
	return cmd
}

func (f *reconcileFlags) run(
	ctx context.Context, env *cli.Env, kube *cli.Kube, argument string,
) error {
	if err := errors.Join(f.output.Check(), cli.CheckTimeout("timeout", f.timeout)); err != nil {
		return err
	}
	a, err := openSet(ctx, kube, argument)
	if err != nil {
		return err
	}
	if a.set.Spec.Suspend {
		return fmt.Errorf("%s is suspended: %s lets the controller look at it", a.set.Title(),
			env.Command("resume", a.set.Title()))
	}
	value := env.Now().UTC().Format(time.RFC3339Nano)
	p := &reconcilePrinter{env: env, json: f.output.Value == cli.OutputJSON, last: a.set, value: value}
	if !f.wait {
		if err := managed.Reconcile(ctx, a.client, a.set, value); err != nil {
			return err
		}
		return p.end("requested", a.set.Title()+": asked the controller to look at it")
	}
	if f.timeout > 0 {
		limited, cancel := context.WithTimeoutCause(ctx, f.timeout, engine.ErrOutOfTime)
		defer cancel()
		ctx = limited
	}
	ctx, p.stop = context.WithCancel(ctx)
	defer p.stop()
	w, unseen := managed.NewWatch(ctx, a.client, a.set)
	if unseen != nil {
		env.Notice("note: the events of the Set are not shown: " + unseen.Error())
	}
	if err := managed.Reconcile(ctx, a.client, a.set, value); err != nil && ctx.Err() == nil {
		return err
	}
	return f.await(ctx, w, p)
}

// await waits until the run that was asked for has ended, prints what happens, and how it ended.
func (f *reconcileFlags) await(
	ctx context.Context, w *managed.Watch, p *reconcilePrinter,
) error {
	s, outcome, gone, err := w.Wait(ctx, p.value, managed.Seen{Set: p.set, Event: p.event})
	unhandled := s.Requested == p.value && s.Status.LastHandledReconcileAt != p.value
	switch {
	case p.failed != nil:
		return p.failed
	case errors.Is(err, engine.ErrOutOfTime):
		return p.fail("timedOut", fmt.Sprintf("%s is not ready within --timeout %s%s", s.Title(),
			f.timeout, reason(s, unhandled)))
	case err != nil && ctx.Err() != nil:
		p.env.Notice("interrupted: nothing waits for " + s.Title() + " any more; the controller " +
			"continues")
		return &cli.ResultError{Interrupted: true}
	case err != nil:
		return err
	case gone:
		return p.fail("deleted", s.Title()+" was deleted")
	}
	if p.changes(s); p.failed != nil {
		return p.failed
	}
	switch outcome {
	case managed.Succeeded:
		return p.end("succeeded", fmt.Sprintf("%s is ready%s", s.Title(), reason(s, false)))
	case managed.Idle:
		return p.fail("suspended", s.Title()+" was suspended")
	case managed.Waiting:
		return p.fail("waitingForApproval", fmt.Sprintf("a plan of %s waits for an approval: %s; "+
			"%s shows it", s.Title(), s.Status.Plan.Summary, p.env.Command("approve", s.Title())))
	case managed.Held:
		return p.fail("waitingForWindow", s.Title()+" waits for a window"+reason(s, false))
	}
	return p.fail("stalled", s.Title()+" is stalled"+reason(s, false))
}

// reason returns the message of the Set as the end of a line. Unhandled says that the controller
// has not begun.
func reason(s *managed.Set, unhandled bool) string {
	switch state, why := s.State(); {
	case state == managed.StateReconciling && why != "":
		return ": " + plaintext.Line(why)
	case unhandled:
		return ": the controller has not looked at it yet"
	}
	if _, message := s.Ready(); message != "" {
		return ": " + plaintext.Line(message)
	}
	return ""
}
