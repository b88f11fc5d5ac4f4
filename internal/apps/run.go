package apps

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/apps/app"
	"github.com/muster-deploy/muster/internal/apps/change"
	"github.com/muster-deploy/muster/internal/apps/changegraph"
	"github.com/muster-deploy/muster/internal/apps/config"
	"github.com/muster-deploy/muster/internal/apps/filter"
	"github.com/muster-deploy/muster/internal/apps/lastapplied"
	"github.com/muster-deploy/muster/internal/apps/resource"
	"github.com/muster-deploy/muster/internal/diff"
	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/mutation"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/owner"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/ready"
	"github.com/muster-deploy/muster/internal/record"
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
	ServerSide     bool // make changes by server-side apply
	Conflicts      plan.Conflicts
	LeaveReplicas  bool // of workloads to their autoscalers
	HintRecreation bool // errors say what to do about fields that cannot change

	// Ignore are fields that are left to others once their object exists.
	Ignore diff.IgnoreRules

	IgnoreFailingAPIServices bool

	Held []schema.GroupKind // kinds of which no object is deleted

	WaitTimeout  time.Duration  // for each object; 0 is without limit
	Rules        *ready.RuleSet // readiness rules, which come before kapp's own
	ShowChildren bool           // events of objects that are not ready carry their child objects
	Engine       engine.Options // of Deploy and Delete

	PlanPolicy
	PruneAfterFailure bool // with GuardDeletes: objects are deleted after a failure, too
	Waves             bool // a change waits for all that depend on fewer in a row

	// Propagation is that of deletions; empty is Background.
	Propagation metav1.DeletionPropagation
	// AwaitPods is that of plan.Policy.
	AwaitPods bool

	// Policy says which annotations of packages count besides those of apps, by its functions and
	// annotations alone: nil for none, as under kapp's grammar.
	Policy *plan.Policy

	Debug        bool // print decisions
	DebugHistory bool // print what live objects are compared with
}

// PlanPolicy says in what the plan and the run of an app differ from those of kapp.
type PlanPolicy struct {
	Unchanged       bool // unchanged objects have a step and are waited for
	AwaitUnchanged  bool // unchanged objects that are not ready hold back their dependents
	AllRefs         bool // as in change.Options
	CountNext       bool // a version that is created is one of those that an annotation keeps
	KeepAdded       bool // updates keep defaults, labels and annotations that others added
	LeaveForeign    bool // objects of other owners are left alone, and are no error
	GuardDeletes    bool // deletions come last, and what objects that stay are in stays too
	Retain          bool // steps say why objects stay unchanged or in the cluster
	NameFiles       bool // steps name the file and document of their objects
	MaskValues      bool // of Secrets only values are masked, of other objects whole differences
	OnlyRules       bool // Rules judge objects, unless the configuration does; never kapp's rules
	RecordMore      bool // the record says that a run was interrupted, and lists the members
	KeepLeaving     bool // the record of a deleted app stays while its objects are leaving
	RecreateDeleted bool // objects that are being deleted are created once they are gone
	NoNulls         bool // a null is no value: inputs have none, and those applied last do not count
}

// LikePackages returns the policy by which the plan and the run of an app are like those of a
// package.
func LikePackages() PlanPolicy {
	return PlanPolicy{
		Unchanged: true, AwaitUnchanged: true, CountNext: true, KeepAdded: true, LeaveForeign: true,
		GuardDeletes: true, AllRefs: true, Retain: true, NameFiles: true, MaskValues: true,
		OnlyRules: true, RecordMore: true, KeepLeaving: true, RecreateDeleted: true,
		NoNulls: true,
	}
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
	deletes    bool                                      // the app is deleted
	patch      bool                                      // nothing is deleted
	nameOwners func([]owner.Owner, string) []owner.Owner // see Client.nameOwners
	adopted    map[liveObject]bool                       // live objects that lack the label of the app
	checkOwner func(ctx context.Context, input, live liveObject) error
	// foreignReason and foreign are those of the deployment; see PlanPolicy.LeaveForeign.
	foreignReason func(input, live liveObject) string
	foreign       map[liveObject]string

	leaving map[object.Ref]liveObject // live objects that are created again once they are gone
	scalers map[object.Ref]liveObject // autoscalers by what they scale
	owned   map[object.Ref]Ownership

	changes  []*change.Change
	excluded bool // changes are not made: the change filter excludes them, or they are left alone
	graph    *changegraph.Graph

	unknownGroups []changegraph.UnknownGroup
	masker        *change.Masker
	plan          *plan.Plan
	deciding      sync.Mutex // held while a change is decided again during the run

	takes [][]mutation.Substitution // by change: the values that its object takes from others

	sources   map[*unstructured.Unstructured]string // of the inputs: file and document
	described *object.Set                           // all inputs, those that a filter excludes too
	staying   []liveObject                          // with GuardDeletes: they are not deleted
	others    []liveObject                          // live objects that a filter leaves out
	unplanned []liveObject                          // live objects that stay and have no change
	missed    unlistedKinds                         // kinds of which the app may have more objects
	owners    map[*change.Change]liveObject         // deletions, and what would be lost with each
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
		DeleteGenerated: r.deletes && r.options.GuardDeletes,
		DeleteOwned:     r.deletes, KeepExcluded: r.deletes, Adopted: r.adopted, KeepVersions: r.patch,
		CountNext: r.options.CountNext, AllRefs: r.options.AllRefs,
		Unchanged: r.options.Unchanged, Held: r.options.Held,
		IgnoreFailingAPIServices: r.options.IgnoreFailingAPIServices,
	}
	if r.options.Policy != nil {
		o.Retained = r.options.Policy.Retains
	}
	if !r.deletes && r.options.UseLastApplied {
		o.LastApplied = r.lastApplied
	}
	leaves := r.options.LeaveReplicas || len(r.options.Ignore) > 0
	if !r.deletes && (r.options.Conflicts != plan.ConflictsIgnored || leaves) {
		r.owned, o.Adjust = map[object.Ref]Ownership{}, r.adjust
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
	for _, c := range r.changes {
		if c.ApplyOp() != change.Delete {
			continue
		}
		i := slices.IndexFunc(r.staying, func(o liveObject) bool {
			return plan.Holds(c.Existing, object.RefOf(o))
		})
		if i >= 0 {
			c.HeldFor = r.staying[i]
		}
	}
	r.findLosses(existing)
	for _, c := range r.changes {
		if c.New != nil || r.adopted[c.Existing] {
			c.Foreign = r.foreign[c.Existing]
		}
		r.excluded = r.excluded || c.HeldFor != nil || c.Foreign != ""
	}
	r.masker = r.NewMasker()
	if err := r.sort(); err != nil {
		return err
	}
	r.debugChanges()
	return nil
}

// sort orders the changes by their groups and rules.
func (r *Run) sort() error {
	nodes, err := r.nodes()
	if err != nil {
		return err
	}
	r.graph, err = changegraph.Build(nodes,
		changegraph.Options{AwaitUnchanged: r.options.AwaitUnchanged})
	return r.orderError(err)
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
	if r.options.NoNulls {
		base = diff.WithoutNulls(base)
	}
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

// silent returns an output that only passes the events on.
func silent(sink event.Sink) output {
	return func() (event.Sink, func(bool)) { return sink, func(bool) {} }
}

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
	case isBeforeRun(err) && errors.As(err, &broken):
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

// isBeforeRun reports whether an error of the record ended a run before it wrote an object.
func isBeforeRun(err error) bool {
	broken := (*engine.RecordError)(nil)
	return errors.As(err, &broken) && broken.Before
}

// runRecord is the record of an app during a run. The engine decides when it is written: before the
// first write of an object and after the last one. The record names the kinds and namespaces of the
// objects; the objects themselves are found by their label.
type runRecord struct {
	begin  func(ctx context.Context) error
	finish func(ctx context.Context, after *record.State) error
	begun  bool
	before record.Before // to be called before the record is deleted; may be nil
	// interrupted records the interrupt of a run that has begun; nil if that is a failure.
	interrupted func(ctx context.Context) error
	// list sets the members that the next write records; nil for none.
	list func(*record.State)
}

// runRecord returns a record of an app that is to be filled. kapp has no word for an interrupted
// run but a failed one.
func (r *Run) runRecord(target *app.App) *runRecord {
	records := &runRecord{}
	if r.options.RecordMore {
		records.interrupted = target.Interrupted
		records.list = func(state *record.State) { r.listMembers(target, state) }
	}
	return records
}

// listMembers sets the members that the record of the app lists: those of a run, and those that it
// did not touch, because a filter leaves them out or their kind cannot be listed.
func (r *Run) listMembers(target *app.App, state *record.State) {
	members, listed := slices.Clone(state.Members), object.NewSet(state.Refs()...)
	for _, obj := range r.unplanned {
		if ref := object.RefOf(obj); listed.Insert(ref) {
			members = append(members, record.Member{Ref: ref})
		}
	}
	recorded, _ := target.Members()
	planned := r.plan.Index()
	for _, m := range recorded {
		_, decided := planned[m.Ref]
		// A patch deletes nothing, and a filter may leave out an object that somebody has deleted.
		left := r.patch || r.missed.hide(m.Ref) || r.described.Has(m.Ref)
		if left && !decided && listed.Insert(m.Ref) {
			members = append(members, m)
		}
	}
	if !target.SetMembers(members) && state.Result == "" {
		r.Printer.Info(fmt.Sprintf("the record does not list the objects of the app, which are too many "+
			"for it (%d): their label says what the app has", len(members)))
	}
}

// Load returns an empty state.
func (*runRecord) Load(context.Context) (*record.State, error) { return &record.State{}, nil }

// Save records the beginning or the end of the run.
func (r *runRecord) Save(ctx context.Context, state *record.State) error {
	if r.list != nil {
		r.list(state)
	}
	switch {
	case state.Result == "":
		r.begun = true
		return r.begin(ctx)
	case state.Result == record.RunInterrupted && r.begun && r.interrupted != nil:
		return r.interrupted(ctx)
	default:
		return r.finish(ctx, state)
	}
}

// Delete records the end of a deletion that left no object: its finish deletes the record, if no
// other object is found.
func (r *runRecord) Delete(
	ctx context.Context, _ []object.Ref, before record.Before,
) error {
	r.before = before
	return r.finish(ctx, &record.State{Result: record.RunSucceeded})
}
