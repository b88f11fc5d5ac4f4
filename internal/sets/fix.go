package sets

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/diff"
	"github.com/muster-deploy/muster/internal/feature/drift"
	"github.com/muster-deploy/muster/internal/history"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/owner"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/sets/policy"
)

// FixOptions say what a fix puts back.
type FixOptions struct {
	drift.Options
	// DeleteAdded deletes objects that carry the mark of the set and that nobody deployed with it.
	DeleteAdded bool
}

// FixComparison is that of the operation which a fix reduces to what drifted.
var FixComparison = policy.Comparison{Owners: true, NewestVersions: true, AllKinds: true,
	Adopter: "apply "}

// Fix is an operation that puts back what drifted from a baseline, and changes nothing else.
type Fix struct {
	*Operation // that applies all of the baseline
	baseline   *Baseline
	options    FixOptions

	drift *Drift
	left  []LeftDrift
}

// LeftDrift is an object that drifted and that a fix does not change.
type LeftDrift struct {
	Ref    object.Ref
	Reason string // what is the matter, and what users may do
}

// Set returns the set that is compared, with the objects and the rules of the baseline. The error
// is a *NewerError or a *LossError if it cannot be fixed.
func (b *Baseline) Set(ctx context.Context, r Request) (Set, *Restored, error) {
	if b.Revision == nil {
		return b.set, nil, nil
	}
	if b.Newer > 0 {
		return nil, nil, &NewerError{b.Revision.Number, b.Newer}
	}
	restored, err := AtRevision(ctx, b.cluster, r, b.store, b.Revision.Number)
	if err == nil {
		err = restored.Check()
	}
	return restored, restored, err
}

// NewerError reports that the set was deployed since the revision that it is compared with.
type NewerError struct{ Number, Newer int }

func (e *NewerError) Error() string {
	return fmt.Sprintf("revision %d is newer than revision %d, and did not succeed or deployed other "+
		"objects; nothing was changed: apply again, restore one with rollback --to %[2]d, or compare "+
		"with the files (--against .)", e.Newer, e.Number)
}

// NewFix returns the operation that puts back what drifted. All applies the whole baseline without
// pruning anything but, with DeleteAdded, objects of an app.
func (b *Baseline) NewFix(all *Operation, o FixOptions) *Fix {
	f := &Fix{Operation: all, baseline: b, options: o}
	all.MayBeEmpty, all.Revise = true, f.revise
	return f
}

// Drift returns what was found when the plan was made.
func (f *Fix) Drift() *Drift { return f.drift }

// Left returns the objects that drifted and that the plan does not change, in order.
func (f *Fix) Left() []LeftDrift { return f.left }

// Unfixed returns the objects that drifted, in order, if the plan changes none of them.
func (f *Fix) Unfixed() []LeftDrift { return remaining(f.drift, f.reasons()) }

// Remaining compares again after the fix was run, and returns the objects that drift still, in
// order: those of Left, and those whose fields the server has not as they were written. The error
// may be about objects that could not be compared.
func (f *Fix) Remaining(ctx context.Context) ([]LeftDrift, error) {
	found, err := f.baseline.Find(ctx, f.options.Options)
	if err != nil {
		return nil, fmt.Errorf("compare again after the fix: %w", err)
	}
	return remaining(found, f.reasons()), found.Incomplete
}

// reasons returns why the plan does not change the objects of Left.
func (f *Fix) reasons() map[object.Ref]string {
	known := map[object.Ref]string{}
	for _, left := range f.left {
		known[left.Ref] = left.Reason
	}
	return known
}

// remaining returns the objects that drifted, with the reasons that are known.
func remaining(found *Drift, known map[object.Ref]string) (all []LeftDrift) {
	for i := range found.Objects {
		o := &found.Objects[i]
		if !o.Counts() {
			continue
		}
		reason := known[o.Ref]
		switch {
		case reason != "":
		case o.Deleting:
			reason = "it is being deleted"
		case o.Kind == drift.Deleted:
			reason = "it does not exist"
		case o.Kind == drift.Added:
			reason = "it exists still"
		default:
			var paths []string
			for _, field := range o.Drifted() {
				paths = append(paths, field.Path)
			}
			reason = strings.Join(paths, ", ") +
				"; the server, a webhook or another manager sets it otherwise"
		}
		all = append(all, LeftDrift{o.Ref, reason})
	}
	return all
}

// CheckCurrent returns an error if the set was deployed since the baseline was read, or if its last
// run did not succeed and has no revision: then it is not known what the set should be. It is
// called under the lock of the set, once the plan is made.
func (f *Fix) CheckCurrent(ctx context.Context) error {
	b := f.baseline
	if b.Revision == nil {
		return nil // the files say what the set should be
	}
	if f.Unfinished && b.last.WasApplied() {
		return fmt.Errorf("the last run of %s did not succeed and has no revision, so that its objects "+
			"may not be those of %s; nothing was changed: apply again, roll back, or compare with the "+
			"files (--against .)", b.Title, b.Text)
	}
	heads, err := b.store.List(ctx)
	if err != nil {
		return err
	}
	if number := newestOf(heads); number != b.last.Number {
		return fmt.Errorf("revision %d was written meanwhile; nothing was changed: give the command "+
			"again", number)
	}
	for _, o := range f.drift.Objects {
		for _, field := range o.Drifted() {
			if field.Class == drift.Own {
				return fmt.Errorf("%s was deployed since revision %d without a revision: %s has another %s, "+
					"which %s set; nothing was changed: apply the set again, and then fix what drifted",
					b.Title, b.Revision.Number, o.Ref, field.Path, field.Managers[0].Name)
			}
		}
	}
	return nil
}

func newestOf(heads []history.Head) int {
	if len(heads) == 0 {
		return 0
	}
	return heads[0].Number
}

// revise compares, and reduces the plan of the whole baseline to what drifted. What drifted is no
// part of the set, so that the revision describes the whole set.
func (f *Fix) revise(ctx context.Context) (err error) {
	f.Basis.Options.NoPrune, f.Basis.Partial = false, ""
	if f.drift, err = f.baseline.compare(ctx, f.Operation, f.options.Options); err != nil {
		return err
	}
	r := revision{Fix: f, plan: f.Plan, drifted: map[object.Ref]*drift.Object{},
		created: map[object.Ref]bool{}}
	for i := range f.drift.Objects {
		if o := &f.drift.Objects[i]; o.Counts() {
			r.drifted[o.Ref] = o
		}
	}
	for i := range r.plan.Steps {
		if step := &r.plan.Steps[i]; step.Op == plan.Create {
			r.created[step.Ref] = true
		}
	}
	f.left = nil
	for i := range r.plan.Steps {
		if err := r.step(&r.plan.Steps[i]); err != nil {
			return fmt.Errorf("%s: %w", r.plan.Steps[i].Ref, err)
		}
	}
	r.addLeft()
	return nil
}

// revision reduces the plan of a whole set to what drifted.
type revision struct {
	*Fix
	plan    *plan.Plan
	drifted map[object.Ref]*drift.Object
	created map[object.Ref]bool // by the plan of the whole set
}

// step reduces a step of the plan to what drifted.
func (r *revision) step(step *plan.Step) error {
	o := r.drifted[step.Ref]
	switch {
	case !step.Op.IsObject() || step.Op.External() || step.ReasonCode == plan.ReasonCompleted:
	case step.Op.Removes():
		if step.Op != plan.Delete || o == nil || o.Kind != drift.Added || !r.options.DeleteAdded {
			step.Op, step.Patch, step.Wait = plan.Keep, diff.Patch{}, false
			step.ReasonCode, step.Reason = plan.ReasonExcluded, "it is no part of the set"
		}
	case step.Op == plan.Create, step.Op == plan.Skip, r.takesNewValues(step):
	case o == nil || o.Kind != drift.Changed || o.Deleting:
		step.Leave()
	default:
		return r.revert(step, o)
	}
	return nil
}

// takesNewValues reports whether the object takes values from one that the plan creates: they may
// be others than before.
func (r *revision) takesNewValues(step *plan.Step) bool {
	for _, s := range step.Substitutions {
		if r.created[s.Source] {
			return true
		}
	}
	return false
}

// revert makes a step put back the fields that drifted.
func (r *revision) revert(step *plan.Step, o *drift.Object) error {
	wanted, live := r.drift.wanted[o.Ref], r.drift.live[o.Ref]
	replace, recreate, wait := step.Replace, step.Recreate, step.Wait
	described := wanted.Object
	if step.ServerSide {
		described = step.Want
	}
	step.Leave()
	step.Wait, step.Described = wait, described
	next, err := reverted(*step, live, o.Drifted())
	if err != nil {
		return err
	}
	*step = *next
	step.Replace, step.Recreate = replace, recreate
	approved := o.Drifted()
	owners := owner.Text(owner.Of(live))
	step.Reverts = func(now *unstructured.Unstructured) (*plan.Step, error) {
		if text := owner.Text(owner.Of(now)); text != owners {
			return nil, fmt.Errorf("it was taken over meanwhile: it belongs to %s", cmp.Or(text, "nobody"))
		}
		o, err := wanted.compare(now, r.drift.options)
		if err != nil {
			return nil, err
		}
		var fields []drift.Field
		if o != nil {
			fields = o.Drifted()
		}
		for _, field := range fields {
			if !slices.ContainsFunc(approved, field.Same) {
				return nil, errors.New("others changed " + field.Path + " since it was compared; give the " +
					"command again")
			}
		}
		return reverted(*step, now, fields)
	}
	return nil
}

// reverted returns a step that puts back fields of a live object, by a patch.
func reverted(
	step plan.Step, live *unstructured.Unstructured, fields []drift.Field,
) (*plan.Step, error) {
	want, err := drift.Revert(live, fields)
	if err != nil {
		return nil, err
	}
	want.SetManagedFields(nil)
	step.Op, step.Have, step.Want = plan.Update, live, want
	step.FullReplace, step.Patch = true, diff.Patch{}
	if len(fields) == 0 {
		step.Op, step.Want, step.FullReplace = plan.Unchanged, live, false
		return &step, nil
	}
	step.Patch, err = diff.MergePatch(live, want)
	if step.Diff = nil; !step.HoldsSecret() {
		step.Diff = diff.Between(live, want, diff.Options{IgnoreAnnotations: ownAnnotations})
	}
	return &step, err
}

// addLeft collects the objects that drifted and that the plan does not change.
func (r *revision) addLeft() {
	steps := r.plan.Index()
	for _, o := range r.Fix.drift.Objects {
		i, planned := steps[o.Ref]
		reason := ""
		switch {
		case !o.Counts():
			continue
		case o.Kind == drift.Added:
			if planned && r.plan.Steps[i].Op == plan.Delete {
				continue
			}
			reason = "it carries the mark of the app, and was not deployed with it: --delete-added " +
				"deletes it, the next apply prunes it, and without the label " + r.mark() +
				" it is no part of the app"
		case planned && r.plan.Steps[i].Op.Writes():
			continue
		case o.Deleting:
			reason = "it is being deleted: give the command again when it is gone"
		case planned && r.plan.Steps[i].Reason != "":
			reason = r.plan.Steps[i].Reason
		case planned && r.plan.Steps[i].Op == plan.Unchanged:
			continue // it takes values from an object that is fixed
		default:
			reason = "the plan does not have it"
		}
		r.Fix.left = append(r.Fix.left, LeftDrift{o.Ref, reason})
	}
}

// mark returns the key of the label of the app.
func (r *revision) mark() string { return r.Fix.drift.options.Mark }
