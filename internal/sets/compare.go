package sets

import (
	"context"
	"errors"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/diff"
	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/history"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/sets/operation"
	"github.com/muster-deploy/muster/internal/sets/policy"
	"github.com/muster-deploy/muster/internal/show/view"
)

// Difference is how one object differs between two states.
type Difference struct {
	Ref    object.Ref
	Kind   diff.Kind // Added: it is in the second state alone
	Source string    // the file of the object
	// Before and After are the object in both states, without values of Secrets and without what only
	// the server writes; nil where it does not exist, or if its content is not shown.
	Before, After *unstructured.Unstructured
	Notes         []string
}

// Comparison is how two states of a set differ.
type Comparison struct {
	Differences []Difference
	Equal       int // the number of objects that do not differ
	// Skipped are objects that were not compared, each with the reason.
	Skipped []string
}

// Compare returns how two states differ: what leads from the first to the second. Objects in the
// cluster are compared with what an apply of the other state would make of them, so that fields
// count that the state sets or has set; nothing is changed.
func (s *States) Compare(ctx context.Context, from, to *State) (*Comparison, error) {
	switch {
	case from.live && to.live:
		return nil, errors.New("both states are the cluster; name another one")
	case from.live:
		return s.compareLive(ctx, to)
	case to.live:
		c, err := s.compareLive(ctx, from)
		if err == nil {
			c.reverse()
		}
		return c, err
	}
	before, err := s.manifests(ctx, from)
	if err != nil {
		return nil, err
	}
	after, err := s.manifests(ctx, to)
	if err != nil {
		return nil, err
	}
	return compareManifests(before, after), nil
}

// reverse exchanges the two states of a comparison.
func (c *Comparison) reverse() {
	kinds := map[diff.Kind]diff.Kind{
		diff.Added: diff.Removed, diff.Removed: diff.Added, diff.Changed: diff.Changed,
	}
	for i := range c.Differences {
		d := &c.Differences[i]
		d.Kind, d.Before, d.After = kinds[d.Kind], d.After, d.Before
	}
}

// compareManifests compares objects as their files have them.
func compareManifests(before, after []described) *Comparison {
	c, old := &Comparison{}, map[object.Ref]described{}
	for _, d := range before {
		old[object.RefOf(d.Object)] = d
	}
	wanted := object.NewSet()
	for _, d := range after {
		ref := object.RefOf(d.Object)
		wanted.Insert(ref)
		b, ok := old[ref]
		if !ok {
			_, obj := diff.Comparable(nil, d.Object, diff.Options{})
			c.add(Difference{Ref: ref, Kind: diff.Added, Source: d.Source, After: obj})
			continue
		}
		difference := Difference{Ref: ref, Kind: diff.Changed, Source: d.Source}
		have, want := b.Object, d.Object
		if object.IsSecret(want) {
			have, want = diff.WithEncodedData(have), diff.WithEncodedData(want)
		}
		withheld := errors.Join(b.withheld(), d.withheld())
		if withheld != nil {
			have, want = withoutData(have), withoutData(want)
		}
		difference.Before, difference.After = diff.Comparable(have, want, diff.Options{})
		if withheld == nil || c.addWithheld(&difference, b.object(), d.object(), withheld) {
			c.add(difference)
		}
	}
	for _, d := range before {
		if ref := object.RefOf(d.Object); !wanted.Has(ref) {
			obj, _ := diff.Comparable(d.Object, nil, diff.Options{})
			c.add(Difference{Ref: ref, Kind: diff.Removed, Source: d.Source, Before: obj})
		}
	}
	return c
}

// addWithheld adds to the difference of two Secrets without their data what is known of the data,
// and reports whether anything else or the data is known to differ or to be equal. If not, the data
// is not compared.
func (c *Comparison) addWithheld(d *Difference, a, b history.Object, withheld error) bool {
	same, known := history.SameData(a, b)
	switch reason := firstLine(withheld); {
	case known && same:
	case known:
		d.Notes = append(d.Notes, "its data differs; "+reason)
	case isEqual(*d):
		c.Skipped = append(c.Skipped, fmt.Sprintf("the data of %s: %s", d.Ref, reason))
		return false
	default:
		d.Notes = append(d.Notes, "its data is not compared: "+reason)
	}
	return true
}

// add adds a difference, unless both sides are equal.
func (c *Comparison) add(d Difference) {
	if d.Kind == diff.Changed && len(d.Notes) == 0 && isEqual(d) {
		c.Equal++
		return
	}
	c.Differences = append(c.Differences, d)
}

// isEqual reports whether both sides of a difference are equal.
func isEqual(d Difference) bool {
	return len(diff.Between(d.Before, d.After, diff.Options{})) == 0
}

// firstLine returns the first line of the text of an error.
func firstLine(err error) string {
	text, _, _ := strings.Cut(err.Error(), "\n")
	return text
}

// dataFields are the fields of a Secret that hold its data.
var dataFields = []string{"data", "stringData"}

// withoutData returns a Secret without its data.
func withoutData(obj *unstructured.Unstructured) *unstructured.Unstructured {
	obj = obj.DeepCopy()
	for _, field := range dataFields {
		unstructured.RemoveNestedField(obj.Object, field)
	}
	return obj
}

// options returns the options of an apply that is only planned.
func (s *States) options() operation.ApplyOptions {
	o := policy.Options{
		FieldManager: policy.DefaultManager, InventoryPolicy: "strict", Ordering: "graph",
		Propagation: metav1.DeletePropagationBackground, LeaveReplicas: true, AppAnnotations: true,
		AllowEmpty: true, ServerSide: s.ServerSide, ForceConflicts: s.ServerSide,
		Conflicts: plan.NoteConflicts, Ignore: s.Ignore, Now: s.Request.Now(),
	}
	return operation.ApplyOptions{
		Options: o, Definition: operation.SkipDefinition, Notice: s.Request.Notice,
	}
}

// compareLive compares the cluster with a state, by the plan of an apply.
func (s *States) compareLive(ctx context.Context, state *State) (*Comparison, error) {
	set, options := state.set, s.options()
	c, incomplete := &Comparison{}, map[object.Ref]history.Object{}
	if state.revision != nil {
		if _, _, err := s.base(ctx); err != nil {
			return nil, err
		}
		restored, err := AtRevision(ctx, s.Cluster, s.Request, s.store, state.revision.Number)
		if err != nil {
			return nil, err
		}
		options.Options = restored.Options(options.Options)
		options.ForceConflicts = options.ServerSide
		set = restored.Set
		lost := map[object.Ref]Loss{}
		for _, loss := range restored.Losses {
			lost[loss.Object] = loss
		}
		for _, obj := range state.revision.Objects {
			ref := object.RefOf(obj.Unstructured)
			switch loss, ok := lost[ref]; {
			case ok && loss.Stays && obj.Withheld != nil:
				incomplete[ref] = obj
			case ok:
				c.Skipped = append(c.Skipped, loss.String())
			}
		}
	}
	op, err := set.PrepareApply(ctx, s.Cluster, options)
	if err != nil {
		return nil, err
	}
	if err := op.MakePlan(ctx); err != nil {
		return nil, err
	}
	mode := engine.DryRunClient
	if options.ServerSide {
		mode = engine.DryRunServer
	}
	outlooks, err := view.Outlooks(op.Plan, s.Request.Notice, func(sink event.Sink) error {
		if _, err := op.Run(ctx, engine.Options{DryRun: mode}, sink); err != nil {
			return err
		}
		return ctx.Err()
	})
	if err != nil {
		return nil, err
	}
	for _, o := range outlooks {
		var known *history.Object
		if obj, ok := incomplete[o.Step.Ref]; ok {
			known = &obj
		}
		c.addOutlook(op.Plan, o, known)
	}
	return c, nil
}

// addOutlook adds how an object in the cluster differs from what an apply would make of it. Of a
// Secret whose data is not known, which an apply would leave, stored is what a revision has.
func (c *Comparison) addOutlook(p *plan.Plan, o view.Outlook, stored *history.Object) {
	step := o.Step
	d := Difference{Ref: step.Ref, Source: step.Source, Kind: diff.Changed}
	d.Before, d.After = o.Comparable()
	switch verb := o.Verb(); {
	case step.Op.External():
		return // others create it or delete it
	case step.Op.Removes() && step.Have == nil:
		return // it is recorded alone
	case step.Op.Removes():
		d.Kind, d.After = diff.Removed, nil
		d.Before, _ = diff.Comparable(step.Have, nil, bookkeeping(p))
		if step.Reason != "" {
			d.Notes = []string{step.Reason}
		}
	case verb == view.ToFail && (step.Op == plan.Create || step.Op == plan.Update):
		d.Before, d.After = diff.Comparable(step.Have, step.Want, bookkeeping(p))
		if o.Err != nil && cluster.RefusalOf(o.Err) != cluster.ByRights {
			d.Notes = []string{"the server would not accept it: " + firstLine(o.Err)}
		}
		if step.Op == plan.Create {
			d.Kind = diff.Added
		}
	case verb == view.ToSkip:
		c.Skipped = append(c.Skipped, fmt.Sprintf("%s: %s", step.Ref, o.Reason))
		return
	case verb == view.ToCreate:
		d.Kind = diff.Added
	}
	if step.Sensitive {
		d.Before, d.After = nil, nil
		if step.Op == plan.Unchanged {
			c.Equal++
			return
		}
		d.Notes = append(d.Notes, view.ContentHidden)
	}
	if stored != nil && step.Have != nil &&
		!c.addWithheld(&d, *stored, history.Object{Unstructured: step.Have}, stored.Withheld) {
		return
	}
	c.add(d)
}

// bookkeeping returns options that leave out what a tool keeps about an object in itself.
func bookkeeping(p *plan.Plan) diff.Options {
	return diff.Options{IgnoreAnnotations: append([]string{p.LastApplied}, p.Bookkeeping...)}
}
