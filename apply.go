package muster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/muster-deploy/muster/internal/base/limit"
	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/history"
	"github.com/muster-deploy/muster/internal/lock"
	"github.com/muster-deploy/muster/internal/sets"
	"github.com/muster-deploy/muster/internal/sets/operation"
	"github.com/muster-deploy/muster/internal/sets/policy"
)

// NoLimit is the timeout of a run that may wait for ever. The zero value of a timeout is none.
const NoLimit time.Duration = -1

// ApplyOptions say how a set is applied. The zero value waits until all objects are ready, or no
// object makes progress any more, keeps ten revisions, and has to find the definition of the record
// in the cluster.
type ApplyOptions struct {
	PlanOptions
	// Check sees the plan before anything is written. Its error is that of Apply, which then has
	// changed nothing.
	Check func(*Plan) error
	// Exact lets a step fail if others change its object after Check has seen the plan. Otherwise it
	// is decided again for the changed object, and may write fields that the plan does not have.
	Exact bool
	// NoWait ends the run when everything is written. Objects that others depend on are not waited
	// for either.
	NoWait bool
	// Timeout limits how long an object may take to become ready, or to be gone; NoLimit lets it take
	// for ever. 0 ends the wait when no object has made progress for 15 minutes.
	Timeout time.Duration
	// InstallDefinition installs the definition of ResourceGroup, the record of packages, if the
	// cluster has none.
	InstallDefinition bool
	History           HistoryOptions
	Holder            Holder
}

// DestroyOptions say how a set is destroyed.
type DestroyOptions struct {
	// AllowDelete is that of PlanOptions.
	AllowDelete []string
	Check       func(*Plan) error // as in ApplyOptions
	Timeout     time.Duration     // as in ApplyOptions: for an object to be gone
	KeepHistory bool
	Holder      Holder
}

// HistoryOptions say what the history of the set keeps of a run.
type HistoryOptions struct {
	Disabled bool
	Limit    int    // of the number of revisions; 0 means ten
	Message  string // why the run is made
	Source   string // the artifact that the manifests come from, with its digest
	// Branch and Commit are those of the git repository that the manifests come from.
	Branch, Commit string
	Tool           string // who runs it, as in: muster-controller v1.2.3
}

// Holder describes the run to others who want to change the set meanwhile: the lock of a set is a
// Lease, and a second run fails with a LockedError, or waits.
type Holder struct {
	Name    string // a user or a program
	Command string // what it does; empty means apply or destroy
	Wait    time.Duration
	// Waiting receives who runs it when a run that waits finds the lock held, and again when it is
	// held by another run; nil ignores that.
	Waiting func(holder string)
	// Supersede asks a run that holds the lock to stop.
	Supersede bool
}

// LockedError reports that another run holds the lock of the set.
type LockedError struct{ err *lock.HeldError }

func (e *LockedError) Error() string { return e.err.Error() }

// Holder returns who runs it.
func (e *LockedError) Holder() string { return e.err.Holder.String() }

// Apply makes the cluster the same as the set: it creates, updates and prunes objects, and waits
// until they are ready. At every instant the record covers all objects that exist because of the
// set. When the context ends, nothing new is written, writes that were sent are finished, and the
// record is saved; the outcome is Interrupted then.
//
// The error is about the run as a whole: a *LockedError, a *PruneLimitError, that of Check, or of a
// request. What happened to the objects is in the result, and in the events, which a sink receives
// from one goroutine at a time. The sink may be nil.
func (s *Set) Apply(ctx context.Context, o ApplyOptions, sink func(Event)) (*Result, error) {
	definition := operation.RequireDefinition
	if o.InstallDefinition {
		definition = operation.InstallAtRun
	}
	op, err := s.prepareApply(ctx, o, definition, policy.Comparison{})
	if err != nil {
		return nil, err
	}
	return s.run(ctx, op, runOptions{
		command: "apply", check: o.Check, limits: o.PlanOptions.check, exact: o.Exact, noWait: o.NoWait,
		timeout: o.Timeout, history: o.History, holder: o.Holder, restores: s.revision,
		fields: s.fieldValidation(o.PlanOptions),
		validate: func(ctx context.Context, op *sets.Operation, locked bool) error {
			return s.validate(ctx, op, o.PlanOptions, locked)
		},
	}, sink)
}

// Destroy deletes all objects of a set, and its record last. A set without a record is an error,
// except for an app. What the sink receives and the error is are as in Apply.
func (s *Set) Destroy(
	ctx context.Context, o DestroyOptions, sink func(Event),
) (*Result, error) {
	options, err := PlanOptions{AllowDelete: o.AllowDelete}.options(time.Now())
	if err != nil {
		return nil, err
	}
	op, err := s.set.PrepareDestroy(ctx, s.cluster.client, operation.DestroyOptions{
		Options: options, Notice: s.request.Notice,
	})
	if err != nil {
		return nil, missing(err)
	}
	return s.run(ctx, op, runOptions{
		command: "destroy", check: o.Check, timeout: o.Timeout, holder: o.Holder,
		keep: o.KeepHistory,
	}, sink)
}

// runOptions say how an operation is run.
type runOptions struct {
	command string
	check   func(*Plan) error
	limits  func(*sets.Operation) error
	// validate validates the objects of the plan; nil for none. Fields is what the server does about
	// unknown fields.
	validate func(ctx context.Context, op *sets.Operation, locked bool) error
	fields   string
	exact    bool
	noWait   bool
	timeout  time.Duration
	history  HistoryOptions
	keep     bool // the history, although the set is destroyed
	holder   Holder
	// restores is the revision of the history that is applied; 0 is none.
	restores int
}

// run locks the set, makes the plan, and runs it.
func (s *Set) run(
	ctx context.Context, op *sets.Operation, o runOptions, sink func(Event),
) (result *Result, err error) {
	var made *Plan
	err = sets.Protocol{
		Lock: func(
			ctx context.Context, set lock.Set,
		) (*lock.Lock, context.Context, error) {
			return o.holder.acquire(ctx, s.cluster, set, o.command)
		},
		Unlock: func(ctx context.Context, held *lock.Lock, err error) error {
			return cmp.Or(err, held.Release(ctx))
		},
		Plan: func(ctx context.Context, locked bool) (err error) {
			made, err = makePlan(ctx, op, o, locked)
			return err
		},
		Check: func(ctx context.Context) (err error) {
			made, err = checkPlan(ctx, op, o)
			return err
		},
		Run: func(ctx context.Context, held *lock.Lock) (err error) {
			result, err = s.runPlan(ctx, op, o, made, held, sink)
			return err
		},
	}.Change(ctx, op)
	return result, err
}

// runPlan runs a plan that was made, and records the result.
func (s *Set) runPlan(
	ctx context.Context, op *sets.Operation, o runOptions, made *Plan, held *lock.Lock,
	sink func(Event),
) (*Result, error) {
	if o.exact {
		op.Plan.Guard(nil)
	}
	recorder := sets.NewRecorder(s.cluster.client, op, o.historyOptions(s.cluster))
	if o.noWait {
		recorder.AwaitOnly(nil)
	}
	c := newCollector(op.Plan, sink)
	summary, err := recorder.Run(ctx, o.engineOptions(), held.Count(len(op.Plan.Refs()), c.add))
	result := c.result(made, summary)
	done := err == nil && result.Outcome == Succeeded && len(result.Left) == 0
	if unrecorded := recorder.Record(ctx, done); unrecorded != nil {
		result.Warning = unrecorded.Error()
	}
	result.Revision = recorder.Revision().Number
	return result, err
}

// makePlan makes and checks the plan of an operation.
// Locked reports whether the lock of the set is held.
func makePlan(
	ctx context.Context, op *sets.Operation, o runOptions, locked bool,
) (*Plan, error) {
	if err := op.MakePlan(ctx); err != nil {
		return nil, missing(err)
	}
	if o.validate != nil {
		if err := o.validate(ctx, op, locked); err != nil {
			return nil, err
		}
	}
	return checkPlan(ctx, op, o)
}

// checkPlan returns the plan of an operation unless the options do not allow it.
func checkPlan(ctx context.Context, op *sets.Operation, o runOptions) (*Plan, error) {
	made, err := newPlan(ctx, op)
	if err == nil && o.limits != nil {
		err = o.limits(op)
	}
	if err == nil && o.check != nil {
		err = o.check(made)
	}
	return made, err
}

// engineOptions returns how the plan is run.
func (o runOptions) engineOptions() engine.Options {
	return engine.Options{
		DryRun: engine.DryRunNone, Limits: limitsOf(o.timeout), GiveUp: true, FieldValidation: o.fields,
		Pods: engine.CheckPods(),
	}
}

// limitsOf returns the limits of a run with a timeout: those of the engine if it is 0.
func limitsOf(timeout time.Duration) engine.Limits {
	if timeout == 0 {
		return engine.Limits{}
	}
	each := limit.OfFlag(timeout)
	return engine.Limits{Apply: each, Delete: each, Stall: limit.None()}
}

// historyOptions returns what the history keeps.
func (o runOptions) historyOptions(c *Cluster) sets.HistoryOptions {
	limit := o.history.Limit
	if limit == 0 {
		limit = history.DefaultLimit
	}
	if o.history.Disabled {
		limit = 0
	}
	return sets.HistoryOptions{
		Limit: limit, Secrets: history.OwnNamespace, Keep: o.keep, Now: time.Now,
		Restores: o.restores,
		Describe: func(ctx context.Context) history.Meta {
			user, _ := c.client.User(ctx) // empty if the server does not say
			meta := history.Meta{
				User: user, Login: o.holder.Name, Tool: o.history.Tool, Command: o.command,
				Message: o.history.Message, Artifact: o.history.Source,
				Parent: o.restores, Restores: o.restores,
			}
			if o.history.Commit != "" {
				meta.Git = &history.Git{Branch: o.history.Branch, Commit: o.history.Commit}
			}
			return meta
		},
	}
}

// acquire returns the lock of a set; nil if the user may not use Leases, or if the namespace does
// not exist yet.
func (h Holder) acquire(
	ctx context.Context, c *Cluster, set lock.Set, command string,
) (*lock.Lock, context.Context, error) {
	host, _ := os.Hostname() // empty if it is not known
	if h.Command != "" {
		command = h.Command
	}
	waiting := func(holder lock.Holder) {
		if h.Waiting != nil {
			h.Waiting(holder.String())
		}
	}
	held, run, err := lock.AcquireIfPossible(ctx, c.client, set, lock.Options{
		Holder: lock.Holder{
			User: h.Name, Host: host, PID: os.Getpid(), Run: lock.NewRun(), Command: command,
			Since: time.Now(),
		},
		Wait: h.Wait, Waiting: waiting, Supersede: h.Supersede, Manager: DefaultManager,
	})
	if other := (*lock.HeldError)(nil); errors.As(err, &other) {
		return nil, nil, &LockedError{other}
	}
	if err != nil {
		return nil, nil, fmt.Errorf("lock the set: %w", err)
	}
	return held, run, nil
}
