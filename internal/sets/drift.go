package sets

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/feature/drift"
	"github.com/muster-deploy/muster/internal/history"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/sets/policy"
	"github.com/muster-deploy/muster/internal/sets/policy/resource"
	"github.com/muster-deploy/muster/internal/sets/policy/versions"
)

// Drift is what differs from a baseline.
type Drift struct {
	Objects []drift.Object // in the order of object.Compare
	// Compared are the objects that were compared, in the order of object.Compare.
	Compared []object.Ref
	// Unserved are objects that could not be compared because their kinds are not served, although
	// they may exist.
	Unserved []object.Ref
	// Uncompared are the errors of objects that lack a value of another object.
	Uncompared []error
	Incomplete error // why objects were not compared; nil if all were

	wanted  map[object.Ref]wantedObject
	live    map[object.Ref]*unstructured.Unstructured
	options drift.Options // of the comparison
}

// ownAnnotations are annotations in which tools keep what they applied.
var ownAnnotations = []string{
	resource.AnnKubectlApplied, resource.AnnIdentity, resource.AnnOriginal, resource.AnnOriginalDiff,
	resource.AnnOriginalDiffFull, resource.AnnOriginal + "-diff-md5", resource.AnnNonce,
	resource.AnnLastRenewed,
}

// Find plans the baseline, and compares its objects with the live ones.
func (b *Baseline) Find(ctx context.Context, o drift.Options) (*Drift, error) {
	if err := b.prepare(ctx); err != nil {
		return nil, err
	}
	if err := b.operation.MakePlan(ctx); err != nil {
		return nil, err
	}
	return b.compare(ctx, b.operation, o)
}

// FindIn returns what Find does, by the plan of another operation if that has the same objects. The
// plan has read the owners of all fields.
func (b *Baseline) FindIn(
	ctx context.Context, op *Operation, o drift.Options,
) (*Drift, error) {
	same, err := b.isOf(op)
	if err != nil {
		return nil, err
	}
	if !same {
		return b.Find(ctx, o)
	}
	return b.compare(ctx, op, o)
}

// isOf reports whether the baseline has the objects of an operation. Versions of objects are named
// for a comparison otherwise than for a run.
func (b *Baseline) isOf(op *Operation) (bool, error) {
	if slices.ContainsFunc(op.Manifests, func(d plan.Desired) bool {
		return resource.HasAnnotation(d.Object, resource.AnnVersioned)
	}) {
		return false, nil
	}
	if b.Revision == nil {
		return true, nil
	}
	objects := make([]history.Object, len(op.Manifests))
	for i, d := range op.Manifests {
		objects[i].Unstructured = d.Object
	}
	content, err := history.Content(objects, false)
	return content == b.Revision.Content, err
}

// compare returns how the live objects of the plan of an operation differ from what the plan wants
// of them. The plan says which objects are compared, and with which values.
func (b *Baseline) compare(
	ctx context.Context, op *Operation, o drift.Options,
) (*Drift, error) {
	if b.set.format().listable && !op.Recorded && (b.Revision == nil || !b.membersOnly) {
		if _, err := b.set.Mark(ctx, b.cluster); err != nil {
			return nil, err
		}
	}
	c := comparison{
		Baseline: b, plan: op.Plan, index: op.Plan.Index(), described: map[object.Ref]plan.Desired{},
		found: &Drift{
			wanted: map[object.Ref]wantedObject{}, live: map[object.Ref]*unstructured.Unstructured{},
			options: b.driftOptions(op.Plan, o),
		},
	}
	for _, d := range op.planned {
		c.described[object.RefOf(d.Object)] = d
	}
	if !b.membersOnly {
		c.found.Incomplete = op.hidden
	}
	c.addUnserved()
	for i := range op.Plan.Steps {
		if err := c.step(ctx, &op.Plan.Steps[i]); err != nil {
			return nil, err
		}
	}
	found := c.found
	slices.SortFunc(found.Compared, object.Compare)
	slices.SortFunc(found.Objects, func(x, y drift.Object) int { return object.Compare(x.Ref, y.Ref) })
	return found, nil
}

// comparison compares the objects of a plan.
type comparison struct {
	*Baseline
	plan      *plan.Plan
	index     plan.Index
	described map[object.Ref]plan.Desired
	found     *Drift
}

// addUnserved adds the objects of the baseline whose kinds the cluster does not serve: those whose
// kind does not exist are gone.
func (c *comparison) addUnserved() {
	if c.unserved == nil {
		return
	}
	c.found.Incomplete = errors.Join(c.unserved.Check(), c.found.Incomplete)
	for _, d := range c.desired {
		switch ref := object.RefOf(d.Object); {
		case c.unserved.NoKind.Has(ref):
			c.add(&drift.Object{Ref: ref, Kind: drift.Deleted}, d)
		case c.unserved.Unserved.Has(ref):
			c.found.Unserved = append(c.found.Unserved, ref)
		}
	}
}

// step compares the object of a step.
func (c *comparison) step(ctx context.Context, step *plan.Step) error {
	d, ok := c.described[step.Ref]
	switch {
	case !step.Op.IsObject() || step.Op.External() || step.ReasonCode == plan.ReasonCompleted,
		step.ReasonCode == plan.ReasonExcluded:
		return nil
	case !ok:
		c.addUnwanted(step)
		return nil
	}
	live := cmp.Or(step.Have, step.Leaving)
	w, err := c.wanted(step, d, live)
	c.found.wanted[step.Ref], c.found.live[step.Ref] = w, live
	if err != nil {
		left := fmt.Errorf("%s was not compared: %w", step.Ref, err)
		c.found.Uncompared = append(c.found.Uncompared, left)
		c.found.Incomplete = errors.Join(c.found.Incomplete, left)
		return nil
	}
	result, err := w.compare(live, c.found.options)
	if err == nil && c.mayBeUnstored(ctx, result) {
		w.unstored = c.unstored[w.plain()]
		c.found.wanted[step.Ref] = w
		result, err = w.compare(live, c.found.options)
	}
	if err != nil {
		return err
	}
	c.found.Compared = append(c.found.Compared, step.Ref)
	c.add(result, d)
	return nil
}

// add adds an object that differs, unless nobody wants it any more.
func (c *comparison) add(o *drift.Object, d plan.Desired) {
	if o == nil || o.Kind == drift.Deleted && c.newest != nil &&
		!c.newest.Has(wantedObject{Desired: d}.plain()) {
		return
	}
	if o.Source = d.Source; c.Revision != nil { // else the source of a step names the revision
		suffix := fmt.Sprintf("of revision %d", c.Revision.Number)
		o.Source = strings.TrimSpace(strings.TrimSuffix(o.Source, suffix))
	}
	c.found.Objects = append(c.found.Objects, *o)
}

// wanted returns what a plan wants of the object of a step. The error is that a value is missing
// which the object takes from another one; an object that does not exist is missing in any case.
func (c *comparison) wanted(
	step *plan.Step, d plan.Desired, live *unstructured.Unstructured,
) (w wantedObject, err error) {
	w = wantedObject{
		Desired: d, plan: c.plan, private: step.Sensitive,
		frozen: step.ReasonCode == plan.ReasonCreateOnly, foreign: step.Op == plan.Skip,
	}
	w.unstored = c.unstored[w.plain()]
	if step.Draft != nil && live != nil {
		var completed *unstructured.Unstructured
		if completed, err = c.plan.Completed(step, c.index); err == nil {
			w.Object = completed
		}
	}
	return w, err
}

// wantedObject is what a plan wants of an object.
type wantedObject struct {
	plan.Desired
	plan     *plan.Plan
	private  bool // it may hold values of Secrets
	frozen   bool // runs create it and never update it
	foreign  bool // runs do not write it: its mark is that of others
	unstored []string
}

// isVersion reports whether the object is a version of the one that is described.
func (w wantedObject) isVersion() bool {
	return resource.HasAnnotation(w.Object, resource.AnnVersioned)
}

// plain returns the object, or the described one of which it is a version.
func (w wantedObject) plain() object.Ref {
	ref := object.RefOf(w.Object)
	if base, _, ok := versions.Split(ref.Name); ok && w.isVersion() {
		ref.Name = base
	}
	return ref
}

// compare compares the object with a live one, nil if that does not exist. The result is nil if
// nothing differs that runs would write.
func (w wantedObject) compare(
	live *unstructured.Unstructured, o drift.Options,
) (*drift.Object, error) {
	want, err := w.Object, error(nil)
	if live != nil {
		if want, err = w.plan.Baseline(want, live); err != nil {
			return nil, fmt.Errorf("%s: %w", object.RefOf(live), err)
		}
	}
	if w.foreign {
		want = object.WithMetadata(want, func(metadata map[string]any) {
			labels, _ := metadata["labels"].(map[string]any)
			delete(labels, o.Mark)
			object.DeleteAnnotations(metadata, o.Mark)
		})
	}
	o.Private, o.Unstored = o.Private || w.private, w.unstored
	if w.isVersion() {
		o.Ignore = nil // another content would be a new version
	}
	result, err := drift.Compare(want, live, o)
	if err == nil && result != nil && result.Kind == drift.Changed && w.frozen {
		return nil, nil
	}
	return result, err
}

// since returns when the baseline was deployed; zero for files.
func (b *Baseline) since() time.Time {
	switch {
	case b.Revision == nil:
		return time.Time{}
	case b.Newer > 0:
		return b.Revision.Time
	default:
		return b.last.Time
	}
}

// driftOptions completes the options of a comparison with what is known of the set.
func (b *Baseline) driftOptions(p *plan.Plan, o drift.Options) drift.Options {
	o.Mark = cmp.Or(p.Owner.Label, p.Owner.Annotation)
	o.IgnoreAnnotations = append(slices.Clone(ownAnnotations), o.IgnoreAnnotations...)
	o.Newer, o.Since = b.Newer > 0, b.since()
	if manager := b.settings.Plan.FieldManager; manager != "" && manager != policy.DefaultManager {
		o.Own = append(o.Own, manager)
	}
	o.SameName = func(want, live string) bool {
		base, _, ok := versions.Split(live)
		return ok && base == want && slices.ContainsFunc(b.desired, func(d plan.Desired) bool {
			return d.Object.GetName() == base && resource.HasAnnotation(d.Object, resource.AnnVersioned)
		})
	}
	return o
}

// addUnwanted adds the object of a step that carries the mark of the set and that nobody desires:
// neither the baseline nor the newest revision. Objects that controllers created are theirs.
func (c *comparison) addUnwanted(step *plan.Step) {
	obj, plain := step.Have, step.Ref
	if base, _, ok := versions.Split(plain.Name); ok {
		plain.Name = base
	}
	switch {
	case !c.set.format().listable || c.membersOnly || step.ReasonCode == plan.ReasonSameObject,
		obj == nil || obj.GetDeletionTimestamp() != nil || len(obj.GetOwnerReferences()) > 0,
		plain != step.Ref && c.desires(plain),
		c.newest != nil && (c.newest.Has(step.Ref) || c.newest.Has(plain)):
	default:
		c.found.Objects = append(c.found.Objects, drift.Object{Ref: step.Ref, Kind: drift.Added})
	}
}

// desires reports whether the baseline has an object.
func (b *Baseline) desires(ref object.Ref) bool {
	return slices.ContainsFunc(b.desired, func(d plan.Desired) bool {
		return object.RefOf(d.Object) == ref
	})
}

// Join adds the persons that an audit log names.
func (b *Baseline) Join(ctx context.Context, found *Drift, log *drift.AuditLog) error {
	for i := range found.Objects {
		kind, err := b.cluster.Kind(ctx, found.Objects[i].Ref.GroupKind())
		if err != nil {
			return err
		}
		log.Join(&found.Objects[i], kind.Resource.GroupResource(), b.since())
	}
	return nil
}
