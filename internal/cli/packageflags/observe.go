package packageflags

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/muster-deploy/muster/internal/base/limit"
	"github.com/muster-deploy/muster/internal/base/plaintext"
	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/lock"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/ready"
	"github.com/muster-deploy/muster/internal/sets/operation"
	"github.com/muster-deploy/muster/internal/sets/policy"
	"github.com/muster-deploy/muster/internal/show/view"
)

// StatusForm is what differs between the native command status and that of kpt live.
type StatusForm struct {
	Rules []ready.Rule
	// Targets connects and returns the objects to show.
	Targets func(context.Context) (*operation.StatusTargets, cluster.Writer, error)
	// Printer returns the printer of the statuses.
	Printer func(io.Writer, *operation.StatusTargets, view.ChildRows) view.Printer
	JSON    bool // nothing but JSON is printed to the standard output
	Strict  bool // filters that match no object are an error
	Causes  bool // causes are printed
	// Ends means that nothing is awaited in vain: neither an object that does not exist, unless a run
	// may create it, nor any without progress for Stall. What did not come is printed at the end.
	Ends  bool
	Stall limit.Time
	// Children returns the function that reads child objects; nil is that of kpt live.
	Children func(context.Context, cluster.Writer, *ready.RuleSet) view.ChildRows
}

// Run shows the status of objects, and reports whether the awaited state was reached.
func (f *StatusFlags) Run(
	ctx context.Context, env *cli.Env, form StatusForm,
) (met bool, err error) {
	reading, stop := limit.OfFlag(f.Timeout).Context(ctx)
	m, client, err := form.Targets(reading)
	stop()
	if reading.Err() != nil && ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		return false, fmt.Errorf("the cluster has not answered within --timeout %s", f.Timeout)
	}
	if err != nil {
		return false, err
	}
	refs := f.Filter(m.All.Refs())
	if len(refs) == 0 {
		return true, f.printEmpty(env, form.JSON, form.Strict && m.All.Len() > 0)
	}
	set, err := policy.NewRuleSet(ctx, client, form.Rules, refs)
	if err != nil {
		return false, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	children := form.Children
	if children == nil {
		children = operation.ChildRows
	}
	printer := form.Printer(cancelWriter{env.Out, cancel}, m, children(ctx, client, set))
	options := engine.ObserveOptions{
		Until: engine.Until(f.Until.Value), Timeout: limit.OfFlag(f.Timeout), NoCauses: !form.Causes,
		LogLines: f.LogLines, Stall: limit.None(), Finished: m.Finished,
		Pods: engine.PodPolicy{Check: form.Causes},
	}
	sink := printUnreachable(env.Err, printer.Event)
	began, word := env.Now(), view.NewFailureSummary(summaryPlan(refs, options.Until), nil,
		env.ClusterFlags()...)
	awaits := options.Until == engine.UntilCurrent || options.Until == engine.UntilDeleted
	if form.Ends && awaits {
		options.Stall, options.Unattended = form.Stall, awaitFree(ctx, client, m.Locks)
	}
	met, err = operation.Observe(ctx, client, set, refs, options, func(e event.Event) {
		if word.Event(e); e.Kind != event.Settled {
			sink(e)
		}
	})
	if closed := printer.Close(err); err == nil || closed != nil && errors.Is(err, context.Canceled) {
		err = closed
	}
	if form.Ends && err == nil {
		word.Print(env.Err, env.Now().Sub(began))
	}
	return met || !awaits, err
}

// summaryPlan returns the plan of steps that wait for objects to be current, or deleted.
func summaryPlan(refs []object.Ref, until engine.Until) *plan.Plan {
	p := &plan.Plan{Steps: make([]plan.Step, len(refs))}
	for i, ref := range refs {
		p.Steps[i] = plan.Step{Ref: ref, Op: plan.Observe}
		if until == engine.UntilDeleted {
			p.Steps[i].Op = plan.AwaitDeleted
		}
	}
	return p
}

// awaitFree returns a channel that is closed as soon as no run holds one of some locks. If they
// cannot be read, it is never closed.
func awaitFree(ctx context.Context, c cluster.Writer, sets []lock.Set) <-chan struct{} {
	free := make(chan struct{})
	go func() { // it ends with the context
		if lock.AwaitFree(ctx, c, sets) == nil {
			close(free)
		}
	}()
	return free
}

// cancelWriter is a writer that cancels a context when a write fails: nobody reads the output any
// more.
type cancelWriter struct {
	io.Writer
	cancel context.CancelFunc
}

// Write writes text.
func (r cancelWriter) Write(text []byte) (int, error) {
	n, err := r.Writer.Write(text)
	if err != nil {
		r.cancel()
	}
	return n, err
}

// printUnreachable prints, once for all objects, that the cluster cannot be reached, and passes
// other events to next.
func printUnreachable(side io.Writer, next event.Sink) event.Sink {
	printed := ""
	return func(e event.Event) {
		text := cli.UnreachableLine(e)
		if e.Err == nil {
			next(e)
		} else if text != printed {
			fmt.Fprintln(side, plaintext.Message(text))
		}
		printed = text
	}
}

// printEmpty reports that nothing was deployed, or that the filters match no object. The latter is
// an error unless --poll-until is deleted. JSON output stays empty.
func (f *StatusFlags) printEmpty(env *cli.Env, json, filtered bool) error {
	text := "no resources found in the inventory"
	if filtered {
		text = "no object of the inventory matches --names and --namespaces"
	}
	switch {
	case filtered && f.Until.Value != "deleted":
		return errors.New(text)
	case json:
		return nil
	}
	_, err := fmt.Fprintln(env.Out, text)
	return err
}
