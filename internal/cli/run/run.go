package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/cli/output"
	"github.com/muster-deploy/muster/internal/cli/setflags"
	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/feature/managed"
	"github.com/muster-deploy/muster/internal/lock"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/sets"
	"github.com/muster-deploy/muster/internal/sets/operation"
	"github.com/muster-deploy/muster/internal/show/view"
)

// outputs returns the choice of the output format of commands that run nothing.
func outputs() cli.Choice {
	return cli.Choice{
		Value: view.OutputText, Meaning: "output",
		Aliases: map[string]string{"events": view.OutputText, output.Lines: view.OutputText},
		Allowed: []string{view.OutputText, view.OutputTable, view.OutputJSON},
	}
}

// runForm returns how runs are printed.
func runForm(env *cli.Env, w wording) view.RunForm {
	return view.RunForm{
		Lines: func(p *plan.Plan, o view.PhaseOptions) view.Printer {
			w.dryRun, w.waits, w.statuses = o.DryRun, o.Waits, o.Statuses
			return view.Lines(env.Out, p, w.formatter())
		},
		Columns: runTable, RowDetails: rowDetails, Reason: view.PlainReason,
		Detailed: true, Flags: env.ClusterFlags(),
	}
}

// run is one run of an operation: what changes the cluster, and how that is printed.
type run struct {
	env     *cli.Env
	command string // for the lock
	lock    cli.LockFlags
	dryRun  *cli.DryRunFlag // what options.DryRun follows from, with the plan; nil for nothing
	options engine.Options
	saved   *operation.SavedPlan // the plan must be the same; nil for any
	held    *heldFlags
	yes     bool          // nothing is asked before the plan is run
	noWait  bool          // nothing is waited for
	timeout time.Duration // of the whole run; 0 is without limit
	show    view.RunOptions
	outputs *output.Outputs // the readers
	wording wording         // of what is printed
	logs    *logSource      // for the screen
	// heartbeat is the output if that is no terminal, else nil.
	heartbeat *view.Heartbeat
	// check looks at the plan before anything is asked or run.
	check func(context.Context, *sets.Operation) error
	// current returns an error if what the operation was made from is not current any more, once the
	// lock is held; nil for nothing that MakePlan does not read. Check does the same before.
	current func(context.Context) error
	// locks are held besides that of the operation, from before it is prepared, in the cluster
	// locksIn; finish is called at last, if the run has succeeded. It may be nil.
	locks   []lock.Set
	locksIn cluster.Writer
	finish  func(context.Context) error
	mayAsk  bool // no lock is held while the plan is made

	access string // how to find out about missing permissions, or ""

	// review looks at what the plan would do before anything is asked or run, and returns notes that
	// are printed below the plan; nil if the plan is only printed before a question.
	review func(context.Context, []view.Outlook) (notes []string, err error)

	differences setflags.Differences // of the plan, before it is confirmed

	validation *validateFlag // of objects that are written; nil for none

	// recover is called after a run that failed and has changed objects; nil does nothing. The
	// context does not end with timeout. Its error is that of the command.
	recover func(context.Context, runContext) error

	// restores is the revision that the run restores, once the operation is prepared; nil if it is
	// no rollback.
	restores *int

	// recorder returns the operation with the history of its set.
	recorder func(setflags.Target, *sets.Operation) *sets.Recorder
}

// hasLive reports whether runs have a live view.
const hasLive = true

// newRun returns a run with the given readers. The caller calls do, which ends them.
func newRun(env *cli.Env, command string, readers []output.Reader, w wording) (run, error) {
	outputs, err := output.Open(env, readers)
	if err != nil {
		return run{}, err
	}
	return newRunTo(env, command, outputs, w), nil
}

// newRunTo returns a run that is printed to outputs.
func newRunTo(env *cli.Env, command string, outputs *output.Outputs, w wording) run {
	r := run{
		env: env, command: command, outputs: outputs, wording: w, logs: &logSource{now: env.Now},
	}
	form, terminal := *env, env.Terminal()
	if !terminal.Live && outputs.Stdout() != output.Quiet {
		r.heartbeat = view.NewHeartbeat(outputs.Writer(env), env.Err)
		form.Out = r.heartbeat
	}
	r.show = view.RunOptions{
		RunForm: runForm(&form, w), Output: outputs.Stdout(), Out: form.Out, Now: env.Now,
		Terminal: terminal, Header: view.RunHeader{Tool: cli.Version(), Command: command},
		Silent: !outputs.Text(),
	}
	if outputs.Text() && outputs.Stdout() != output.Table {
		r.show.Output = view.OutputText
	}
	forms := output.Forms{Form: func(out io.Writer) view.RunForm {
		to := *env
		to.Out = out
		return runForm(&to, w)
	}, Live: r.live}
	r.show.Readers = func(p *plan.Plan, show view.RunOptions) view.Printer {
		return outputs.Printer(p, show, forms)
	}
	return r
}

// runContext is what a run has: its set, which is locked, its history, and its readers.
type runContext struct {
	setflags.Target
	*sets.Recorder
	held    *lock.Lock
	outputs *output.Outputs
}

// preparation prepares the operation of a run, and changes nothing.
type preparation func(context.Context) (setflags.Target, *sets.Operation, error)

// do prepares the operation, locks the set, makes the plan and runs it. A dry run locks nothing. If
// the user is asked, that comes before the lock is taken: under the lock the plan is made again,
// and has to be the same. The time of the run begins after the answer.
func (r run) do(ctx context.Context, prepare preparation) (err error) {
	defer r.outputs.Discard() // unless the run has begun
	if r.options.DryRun != engine.DryRunNone {
		limited, cancel := r.limited(ctx)
		defer cancel()
		t, op, err := prepare(limited)
		if err == nil {
			err = r.plan(limited, ctx, t, op, false)
		}
		if err != nil {
			return r.notBegun(limited, err)
		}
		return r.runPlan(limited, ctx, t, op, nil)
	}
	agreed := &agreement{}
	if !r.asksFirst() {
		if err = r.runLocked(ctx, prepare, agreed); !errors.Is(err, errAsks) {
			return err
		}
	}
	limited, cancel := r.limited(ctx)
	defer cancel()
	if err := r.agree(limited, ctx, prepare, agreed); err != nil {
		return r.notBegun(limited, err)
	}
	return r.runLocked(ctx, prepare, agreed)
}

// refuseManaged returns an error if a Set owns what an operation changes.
func (r run) refuseManaged(ctx context.Context, t setflags.Target, op *sets.Operation) error {
	return r.advisePin(refuseManaged(ctx, r.env, t.Cluster, recordsOf(op.Locked)))
}

// runLocked locks the set, makes the plan, or makes the one again that the user has agreed to, and
// runs it.
func (r run) runLocked(
	unlimited context.Context, prepare preparation, agreed *agreement,
) (err error) {
	ctx, cancel := r.limited(unlimited)
	defer cancel()
	for _, set := range r.locks {
		held, locked, refused := r.lock.Acquire(ctx, r.env, r.locksIn, set, r.command)
		if refused != nil {
			return r.notBegun(ctx, refused)
		}
		defer func(ctx context.Context) { err = cli.Release(ctx, held, err) }(ctx)
		ctx = locked
	}
	t, op := agreed.t, agreed.op
	if op == nil || len(r.locks) > 0 { // else only the plan is made again
		if t, op, err = prepare(ctx); err != nil {
			return r.notBegun(ctx, err)
		}
	}
	if agreed.op == nil {
		if err := r.refuseManaged(ctx, t, op); err != nil {
			return r.notBegun(ctx, err)
		}
	}
	return sets.Protocol{
		Lock: func(ctx context.Context, set lock.Set) (*lock.Lock, context.Context, error) {
			held, run, err := r.lock.Acquire(ctx, r.env, t.Cluster, set, r.command)
			return held, run, r.notBegun(ctx, err)
		},
		Unlock: cli.Release,
		Plan: func(ctx context.Context, locked bool) error {
			if agreed.op == nil {
				return r.notBegun(ctx, r.plan(ctx, ctx, t, op, locked))
			}
			return r.notBegun(ctx, r.planAgain(ctx, op, agreed))
		},
		Check: func(ctx context.Context) error { return r.checkAgain(ctx, op) },
		Run: func(ctx context.Context, held *lock.Lock) error {
			if err := r.runPlan(ctx, unlimited, t, op, held); err != nil || r.finish == nil {
				return err
			}
			return r.finish(ctx)
		},
	}.Change(ctx, op)
}

// runPlan runs a plan that was made, within a context, and what follows if it fails within another
// that has no limit of time.
func (r run) runPlan(
	ctx, unlimited context.Context, t setflags.Target, op *sets.Operation, held *lock.Lock,
) error {
	if r.restores != nil {
		r.show.Header.Restores = *r.restores
	}
	recorder := r.recorder(t, op)
	return r.end(r.carryOut(ctx, unlimited, runContext{t, recorder, held, r.outputs}))
}

// advisePin returns the error of a rollback of a set that a Set owns with how the controller makes
// it.
func (r run) advisePin(err error) error {
	owned := (*managed.OwnedError)(nil)
	if r.restores == nil || !errors.As(err, &owned) {
		return err
	}
	return fmt.Errorf("%w\nthe controller deploys revision %d by spec.pin: "+
		"%s", err, *r.restores, r.env.Kubectl("patch", "set.muster.dev", owned.Set.Name,
		"-n", owned.Set.Namespace, "--type=merge",
		"-p", fmt.Sprintf(`{"spec":{"pin":%d}}`, *r.restores)))
}

// end puts the files of the readers in their places. The result of the run counts more than what
// cannot be written.
func (r run) end(result error) error {
	if unwritten := r.outputs.End(); unwritten != nil {
		return &cli.OutputError{Err: unwritten, Result: result}
	}
	return result
}

// carryOut runs the plan within a context, and what follows if it fails within another that has no
// limit of time.
func (r run) carryOut(ctx, unlimited context.Context, this runContext) error {
	err := r.start(ctx, this.Recorder, this.held)
	during, done := this.held.During(unlimited)
	defer done()
	failed := (*cli.ResultError)(nil)
	if r.recover == nil || !errors.As(err, &failed) || failed.Interrupted || during.Err() != nil {
		return err
	}
	if !this.FailedAfterChanges() {
		r.env.Notice("note: nothing is rolled back, since this run has changed no object; the command " +
			"rollback undoes what earlier runs have changed")
		return err
	}
	return r.recover(during, this)
}

// checkAgain looks at a plan that was made again after the user has agreed to the first one.
func (r run) checkAgain(ctx context.Context, op *sets.Operation) error {
	if err := r.check(ctx, op); err != nil || r.review == nil {
		return err
	}
	outlooks, err := r.outlooks(ctx, op, dryRunOf(op.Plan))
	if err != nil {
		return err
	}
	_, err = r.review(ctx, outlooks)
	return err
}

// outlooks runs the plan of the operation dry.
func (r run) outlooks(
	ctx context.Context, op *sets.Operation, mode engine.DryRun,
) ([]view.Outlook, error) {
	fields := ""
	if r.validation != nil {
		fields = r.validation.ofDryRuns()
	}
	return outlooksOf(ctx, r.env, op, mode, fields)
}

// outlooksOf runs the plan of an operation dry, and warns of what the server would not store.
func outlooksOf(
	ctx context.Context, env *cli.Env, op *sets.Operation, mode engine.DryRun, fields string,
) ([]view.Outlook, error) {
	outlooks, err := cli.Outlooks(ctx, env, op.Plan, op.Run, mode, fields)
	for _, o := range outlooks {
		env.WarnUnstored(o.Step.Ref, o.Step.Source, o.Unstored)
	}
	return outlooks, err
}

// limited returns a context that ends when the time for the whole run is over.
func (r run) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	if r.timeout <= 0 {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, r.timeout, engine.ErrOutOfTime)
}

// notBegun returns the error of a run that ended before it changed anything.
func (r run) notBegun(ctx context.Context, err error) error {
	late := errors.Is(err, context.DeadlineExceeded) || errors.Is(err, engine.ErrOutOfTime)
	if late && errors.Is(context.Cause(ctx), engine.ErrOutOfTime) {
		return fmt.Errorf("the run has not begun within --timeout %s; nothing was changed", r.timeout)
	}
	return err
}

// follow sets how the run goes to what its plan says: the operation may have other options than the
// flags.
func (r *run) follow(op *sets.Operation) {
	if r.dryRun != nil {
		r.options.DryRun = r.dryRun.Mode(op.Plan.ServerSide)
	}
	waves := op.Basis.Options.Waves()
	r.show.Waves, r.options.Limits.PerWave = waves, waves
}

// dryRunOf returns how a plan is tried before it is shown. What the server merges it alone knows.
func dryRunOf(p *plan.Plan) engine.DryRun {
	if p.ServerSide {
		return engine.DryRunServer
	}
	return engine.DryRunClient
}

// plan makes the plan, checks it, and returns an error unless the user agrees to it. The answer has
// no limit of time. Locked reports whether the lock of the set is held.
func (r *run) plan(
	ctx, unlimited context.Context, t setflags.Target, op *sets.Operation, locked bool,
) error {
	if err := op.MakePlan(ctx); err != nil {
		return err
	}
	r.follow(op)
	t.Print(r.env, r.show.Output, op)
	r.show.Header.Set, r.show.Header.Cluster = t.Set, t.Place
	r.show.Header.Namespace = t.Namespace
	r.logs.cluster = t.Cluster
	r.logs.begin = func() (context.Context, context.CancelFunc) {
		return context.WithCancel(context.WithoutCancel(ctx)) // an interrupted run has logs too
	}
	if r.validation != nil {
		if err := r.validation.checkRun(ctx, r.env, t.Cluster, op, locked); err != nil {
			return err
		}
	}
	r.show.Children = op.Children(ctx)
	if err := r.check(ctx, op); err != nil {
		return err
	}
	heldBack := len(op.Plan.HeldBack())
	if err := r.confirm(ctx, unlimited, op); err != nil {
		return err
	}
	if len(op.Plan.HeldBack()) < heldBack { // the user has allowed more
		if err := r.check(ctx, op); err != nil {
			return err
		}
	}
	printForgotten(r.env, op.Plan)
	return nil
}

// start runs the plan. If not everything succeeded, it prints at the end what did not.
func (r run) start(ctx context.Context, op *sets.Recorder, held *lock.Lock) error {
	if r.noWait {
		op.AwaitOnly(nil)
		r.show.NoWait = true
	}
	failure := func(step *plan.Step, err error) string {
		return failureText(step, err, op.Plan.ServerSide)
	}
	began, word := r.env.Now(), view.NewFailureSummary(op.Plan, failure, r.env.ClusterFlags()...)
	refused, wrote := false, false
	op.Listeners = append(op.Listeners, func(e event.Event) {
		word.Event(e)
		refused = refused || cluster.RefusalOf(e.Err) == cluster.ByRights
		if len(e.Unstored) > 0 {
			r.env.WarnUnstored(e.Ref, op.Plan.Steps[e.Step].Source, e.Unstored)
		}
		if e.Kind == event.Settled && e.Status.Warns {
			r.env.Warn(e.Ref, op.Plan.Steps[e.Step].Source, e.Status.Message)
		}
		wrote = wrote || e.NotRecreated ||
			e.Kind == event.Acted && e.Op.Writes() && e.Outcome == event.Succeeded
	})
	if r.heartbeat != nil && r.options.DryRun == engine.DryRunNone {
		r.heartbeat.Start(op.Plan)
		defer r.heartbeat.Stop()
		op.Listeners = append(op.Listeners, r.heartbeat.Event)
	}
	err := cmp.Or(cli.RunPlan(ctx, op.Plan, op.Run, r.options, r.show, held), heldResult(op.Plan))
	defer r.record(ctx, op, err == nil)
	incomplete := (*cli.ResultError)(nil)
	if errors.As(err, &incomplete) {
		word.Print(r.env.Err, r.env.Now().Sub(began))
		if refused && r.access != "" {
			r.env.Notice("next: " + r.access)
		}
	}
	if incomplete != nil && errors.Is(context.Cause(ctx), engine.ErrOutOfTime) {
		r.env.Notice(fmt.Sprintf("error: the run has not ended within --timeout %s; %s", r.timeout,
			afterTimeout(op.Plan, wrote)))
		return &cli.ResultError{}
	}
	return err
}

// record writes the run to the history of its set; done means that everything succeeded.
func (r run) record(ctx context.Context, op *sets.Recorder, done bool) {
	if err := op.Record(ctx, done); err != nil {
		r.env.Notice("Warning: " + err.Error())
	}
}

// afterTimeout returns what is true after a run whose time was over, and what the same command
// would do. Wrote reports whether the run has written an object.
func afterTimeout(p *plan.Plan, wrote bool) string {
	switch {
	case wrote:
		return "the record is complete, and the same command continues"
	case slices.ContainsFunc(p.Steps, func(s plan.Step) bool { return s.Op.Writes() }):
		return "no object was changed; the same command begins again"
	default:
		return "no object had to be changed; the same command waits again"
	}
}

// writesObjects reports whether a plan writes or deletes objects.
func writesObjects(p *plan.Plan) bool {
	return slices.ContainsFunc(p.Steps, func(s plan.Step) bool { return s.Op.Writes() })
}

// printForgotten prints the objects that leave the record because their kind does not exist.
func printForgotten(env *cli.Env, p *plan.Plan) {
	for _, ref := range p.Forgotten {
		env.Notice(fmt.Sprintf("%s is removed from the record: the cluster does not have the kind %s "+
			"any more, or has it with another scope, so the object does not exist", ref.Short(),
			ref.GroupKind()))
	}
}
