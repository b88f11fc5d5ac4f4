package deploy

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/compat/kapp/change"
	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/record"
	"github.com/muster-deploy/muster/internal/sets/app"
	"github.com/muster-deploy/muster/internal/sets/app/lastapplied"
	"github.com/muster-deploy/muster/internal/sets/policy/changegraph"
	"github.com/muster-deploy/muster/internal/sets/policy/config"
	"github.com/muster-deploy/muster/internal/sets/policy/filter"
	"github.com/muster-deploy/muster/internal/sets/policy/resource"
)

// RunOptions say how the changes of an app are calculated and made.
type RunOptions struct {
	ChangeFilter   string // in JSON; changes that do not match are not made
	Mask           bool   // sensitive values are hidden in diffs and errors
	UseLastApplied bool   // compare with the object as it was applied last, unless others changed it
	UpdateStrategy string // of updates without an annotation
	ApplyIgnored   bool   // delete objects that controllers created, too
	Wait           bool
	WaitIgnored    bool // wait for the deletion of objects that controllers created, too
	AwaitUnchanged bool // unchanged objects that are not ready hold back their dependents
	ServerSide     bool // make changes by server-side apply

	IgnoreFailingAPIServices bool

	WaitTimeout  time.Duration // for each object; 0 is without limit
	ShowChildren bool          // events of objects that are not ready carry their child objects
	Engine       engine.Options

	Debug        bool // print decisions
	DebugHistory bool // print what live objects are compared with
}

// Review says how the user sees changes before and while they are made.
type Review struct {
	Print      func(*Run) error                  // prints the changes
	Serve      func(context.Context, *Run) error // serves them to a browser instead of making them
	DryRun     bool                              // changes are only printed
	Fields     bool                              // live objects keep managed fields, which diffs print
	NewPrinter func(*Run) RunPrinter             // prints the progress
}

// isPreview reports whether changes are only shown.
func (r *Review) isPreview() bool { return r.DryRun || r.Serve != nil }

// RunPrinter prints the progress of a run.
type RunPrinter interface {
	// Event prints an event. It is an event.Sink.
	Event(event.Event)
	// Close ends the output and returns the error of the run: that of one change, or of all that
	// failed. Complete means that all changes succeeded.
	Close(complete bool) error
}

// Run is a set of changes of an app, from their calculation to the end of their execution.
type Run struct {
	*Client
	options    RunOptions
	review     Review
	config     *config.Config
	app        *app.App
	deletes    bool                // the app is deleted
	patch      bool                // nothing is deleted
	adopted    map[liveObject]bool // live objects that lack the label of the app
	checkOwner func(ctx context.Context, input, live liveObject) error

	changes  []*change.Change
	excluded bool // the change filter excludes changes
	graph    *changegraph.Graph
	masker   *change.Masker
	plan     *plan.Plan
	deciding sync.Mutex // held while a change is decided again during the run

	described *object.Set                   // all inputs, those that a filter excludes too
	others    []liveObject                  // live objects that a filter leaves out
	unplanned []liveObject                  // live objects that stay and have no change
	owners    map[*change.Change]liveObject // deletions, and what would be lost with each
}

// Changes returns the changes in the order in which they are printed.
func (r *Run) Changes() []*change.Change { return r.changes }

// Plan returns the plan of the changes. WorkOf returns the change of a step.
func (r *Run) Plan() *plan.Plan { return r.plan }

// Masker returns the masker for diffs of the changes; nil if values are printed.
func (r *Run) Masker() *change.Masker { return r.masker }

// NewMasker returns a masker that numbers values from the beginning; nil if values are printed.
func (r *Run) NewMasker() *change.Masker {
	if !r.options.Mask {
		return nil
	}
	return change.NewMasker(r.config)
}

// Before returns the indexes of the changes that a change waits for.
func (r *Run) Before(i int) []int {
	var all []int
	for _, j := range r.graph.Needs[i] {
		if j < len(r.changes) {
			all = append(all, j)
			continue
		}
		all = append(all, r.Before(j)...)
	}
	return all
}

// calculate decides the changes that make the inputs of the existing objects, and their order.
func (r *Run) calculate(existing, inputs []liveObject) error {
	o := change.Options{
		DefaultUpdateStrategy: r.options.UpdateStrategy, Now: r.Now(),
		ApplyIgnored: r.options.ApplyIgnored, Wait: r.options.Wait, WaitIgnored: r.options.WaitIgnored,
		DeleteOwned: r.deletes, KeepExcluded: r.deletes, Adopted: r.adopted, KeepVersions: r.patch,
		IgnoreFailingAPIServices: r.options.IgnoreFailingAPIServices,
	}
	if !r.deletes && r.options.UseLastApplied {
		o.LastApplied = r.lastApplied
	}
	if r.options.ServerSide {
		o.Merge = serverSideMerge
	}
	if r.options.ChangeFilter != "" {
		matching, err := filter.ParseChangeFilter(r.options.ChangeFilter)
		if err != nil {
			return err
		}
		o.Filter = func(op string, new, existing *unstructured.Unstructured) bool {
			matches := matching.Matches(op, new, existing)
			r.excluded = r.excluded || !matches
			return matches
		}
	}
	var err error
	if r.changes, err = change.Calculate(existing, inputs, r.config, o); err != nil {
		return err
	}
	r.findLosses(existing)
	r.masker = r.NewMasker()
	if err := r.sort(); err != nil {
		return err
	}
	r.debugChanges()
	return nil
}

// nodes returns the changes with their groups and rules.
func (r *Run) nodes() ([]changegraph.Node, error) {
	nodes := make([]changegraph.Node, len(r.changes))
	for i, c := range r.changes {
		op := changegraph.Op(c.GraphOp())
		node, err := changegraph.NodeOf(c.Description(), op, c.Object(), r.config)
		if err != nil {
			return nil, err
		}
		node.Waits = c.WaitOp() == change.AwaitReconcile
		nodes[i] = node
	}
	return nodes, nil
}

// sort orders the changes by their groups and rules.
func (r *Run) sort() error {
	nodes, err := r.nodes()
	if err != nil {
		return err
	}
	r.graph, err = changegraph.Build(nodes,
		changegraph.Options{AwaitUnchanged: r.options.AwaitUnchanged})
	return err
}

// debugChanges prints the changes, and those that come before each.
func (r *Run) debugChanges() {
	if !r.options.Debug {
		return
	}
	for i, c := range r.changes {
		text := c.ApplyOp().Word() + " " + c.Description()
		if wait := c.WaitOp(); wait != "" {
			text += ", wait to " + string(wait)
		}
		var before []string
		for _, j := range r.Before(i) {
			before = append(before, r.changes[j].Description())
		}
		if len(before) > 0 {
			text += ", after " + strings.Join(before, ", ")
		}
		r.Printer.Debug(text, "Changes")
	}
}

// lastApplied returns the object that a live one is compared with if nobody has changed it since it
// was applied, and prints why if that is asked for.
func (r *Run) lastApplied(obj liveObject) (base liveObject, ok bool) {
	base, ok = lastapplied.Base(obj, r.config)
	if !r.options.DebugHistory && !r.options.Debug {
		return base, ok
	}
	sum := object.AnnotationsOf(obj).Get(resource.AnnOriginalDiffMD5)
	text := resource.Describe(obj)
	switch {
	case ok:
		text += " is compared with what was applied last: md5 " + sum + " matches"
	case sum == "":
		text += " is compared with the live object: no md5 is recorded"
	default:
		text += " is compared with the live object: md5 " + sum + " does not match"
	}
	if r.options.DebugHistory {
		r.Printer.Info(text, "History")
	} else {
		r.Printer.Debug(text, "History")
	}
	return base, ok
}

// output starts the output of a run. It returns the sink of the events, and a function that is
// called once when the run has ended; complete means that all changes succeeded.
type output func() (sink event.Sink, end func(complete bool))

// apply runs the plan. The records cover the objects of the run from before its first write until
// after its last one.
func (r *Run) apply(
	ctx context.Context, records record.Store, o engine.Options, start output,
) (event.Summary, error) {
	r.plan.Decider = decider{r, ctx}
	e := &engine.Engine{Cluster: r.Cluster, Records: records, Rules: r.readyRules()}
	sink, end := start()
	summary, err := e.Apply(ctx, r.plan, o, sink)
	end(err == nil && summary.Failures() == 0)
	return summary, err
}

// print runs the plan by a function as Deployment.execute, and prints the run. Failed is the error
// of the run in kapp's words, unrecorded that of the record at its end; an error of the record
// before the first write is that of the run.
func (r *Run) print(
	ctx context.Context,
	execute func(context.Context, engine.Options, output) (event.Summary, error, error),
) (failed, unrecorded, after error) {
	summary, err, after := execute(ctx, r.options.Engine, func() (event.Sink, func(bool)) {
		printer := r.review.NewPrinter(r)
		return r.held.Count(len(r.changes), printer.Event), func(complete bool) {
			failed = printer.Close(complete)
		}
	})
	broken := (*engine.RecordError)(nil)
	switch {
	case errors.As(err, &broken) && broken.Before:
		return broken.Err, nil, after
	case errors.As(err, &broken):
		unrecorded = broken.Err
	case err != nil:
		return err, nil, after
	}
	if count := summary.Failures(); failed == nil && count > 0 {
		failed = fmt.Errorf("Failed changes: %d", count)
	}
	if summary.Interrupted {
		deleted := failed
		failed = errors.New(
			"Interrupted: what was begun is in the record (hint: run the command again to continue)")
		if summary.NotRecreated > 0 && deleted != nil {
			failed = fmt.Errorf("%w\n\n%w", failed, deleted)
		}
	}
	return failed, unrecorded, after
}

// beforeRun returns the error of a record that could not be written before the first object.
func beforeRun(err error) error {
	const action = "save the record before the first write"
	return &engine.RecordError{Action: action, Before: true, Err: err}
}

// runRecord is the record of an app during a run. The engine decides when it is written: before the
// first write of an object and after the last one. The record names the kinds and namespaces of the
// objects; the objects themselves are found by their label.
type runRecord struct {
	begin  func(ctx context.Context) error
	finish func(ctx context.Context, after *record.State) error
	begun  bool
}

// Load returns an empty state.
func (*runRecord) Load(context.Context) (*record.State, error) { return &record.State{}, nil }

// Save records the beginning or the end of the run.
func (r *runRecord) Save(ctx context.Context, state *record.State) error {
	if state.Result == "" {
		r.begun = true
		return r.begin(ctx)
	}
	return r.finish(ctx, state)
}

// Delete records the end of a deletion that left no object: its finish deletes the record, if no
// other object is found.
func (r *runRecord) Delete(
	ctx context.Context, _ []object.Ref, _ record.Before,
) error {
	return r.finish(ctx, &record.State{Result: record.RunSucceeded})
}
