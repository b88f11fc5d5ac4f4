package view

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/diff"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/plan"
)

// Outlook is the result of a dry run for one object.
type Outlook struct {
	Step    *plan.Step
	op      plan.Op       // what would really be done
	outcome event.Outcome // Succeeded, Skipped or Failed
	Reason  string        // why it is skipped, kept or orphaned, or what the server could not check
	Err     error         // why it would fail
	after   *unstructured.Unstructured

	Unstored    []string // paths of values that the server would not store
	recreates   bool     // an update would delete the object and create it again
	bookkeeping []string // annotations that differences leave out
	Destroys    bool     // the plan deletes all of the set
	ServerSide  bool     // the plan writes all objects server-side
}

// Outlooks runs a plan dry by the given function, and returns the outlook for each object, in the
// order of the plan. Notice receives a line for each new reason why the server has to be asked
// again; nil ignores them.
func Outlooks(
	p *plan.Plan, notice func(string), run func(event.Sink) error,
) ([]Outlook, error) {
	found := make([]Outlook, len(p.Steps))
	state, noticed := NewRunState(p), map[string]bool{}
	err := run(func(e event.Event) {
		state.Add(e)
		if e.Kind == event.Retried && notice != nil && e.Err != nil && !noticed[e.Err.Error()] {
			noticed[e.Err.Error()] = true
			notice(fmt.Sprintf("still trying %s: %v", e.Ref, e.Err))
		}
		if e.Kind == event.Acted {
			found[e.Step] = outlookOf(state, e)
		}
	})
	if err != nil {
		return nil, err
	}
	var outlooks []Outlook
	for _, o := range found {
		if o.Step != nil { // barriers and guards concern no object
			outlooks = append(outlooks, o)
		}
	}
	return outlooks, nil
}

func outlookOf(b *RunState, e event.Event) Outlook {
	step := &b.Plan.Steps[e.Step]
	o := Outlook{Step: step, op: e.Op, outcome: e.Outcome, Reason: e.Reason, Err: e.Err,
		recreates: e.Recreates, Unstored: e.Unstored,
		bookkeeping: append([]string{b.Plan.LastApplied}, b.Plan.Bookkeeping...),
		Destroys:    b.Plan.Destroys, ServerSide: b.Plan.ServerSide}
	if e.Outcome == event.Skipped {
		o.Reason = SkipReason(b, e)
	}
	if e.Outcome != event.Succeeded {
		return o
	}
	switch {
	case step.BeingDeleted(): // a run would write it, and wait until it is gone
		o.Refuse("it is being deleted; apply again when it is gone")
	case slices.Contains(diff.ServerFields(o.SentFields()), "metadata.resourceVersion"):
		o.Refuse("the manifest has a metadata.resourceVersion, which is not that of " +
			"the object, so that the server would refuse it; take it out")
	case e.DryRunObject != nil:
		o.after = e.DryRunObject
	case step.Op == plan.Create || step.Op == plan.Update:
		o.after = step.Want
	}
	return o
}

// Refuse makes the outlook that of an object that would fail, with the reason.
func (o *Outlook) Refuse(text string) {
	o.outcome, o.Reason, o.Err = event.Failed, "", errors.New(text)
}

// SentFields returns the patch that a client-side apply would send, or nil.
func (o Outlook) SentFields() map[string]any {
	if len(o.Step.Patch.Data) == 0 || o.op != plan.Update {
		return nil
	}
	fields := map[string]any{}
	if err := json.Unmarshal(o.Step.Patch.Data, &fields); err != nil {
		panic(fmt.Sprintf("read a patch of our own: %v", err)) // cannot happen
	}
	return fields
}

// FallsShort reports whether a run would end with exit code 3 because of the object: it fails, it
// belongs to others, or it is not deleted because of what it holds.
func (o Outlook) FallsShort() bool {
	if o.Verb() == ToFail {
		return true
	}
	switch o.Step.ReasonCode {
	case plan.ReasonForeign, plan.ReasonUnowned:
		return o.Verb() == ToSkip
	case plan.ReasonHeld, plan.ReasonProtected:
		return o.Verb() == ToKeep
	}
	return false
}

// BeforeAfter returns the object before and after the operation, with sensitive values masked.
func (o Outlook) BeforeAfter() (before, after *unstructured.Unstructured) {
	if o.Step.Sensitive {
		return nil, nil
	}
	if o.Verb() == ToLeave {
		return diff.Mask(o.Step.Have, o.Step.Have)
	}
	return diff.Mask(o.Step.Have, o.after)
}

// Comparable returns the object before and after without the fields that nobody writes.
func (o Outlook) Comparable() (before, after *unstructured.Unstructured) {
	before, after = o.BeforeAfter()
	return diff.Comparable(before, after, diff.Options{IgnoreAnnotations: o.bookkeeping})
}

// ChangesOnlyMarks reports whether the operation leaves the object, or changes nothing of it but
// labels and annotations that the function matches, and annotations in which tools record what they
// applied. What others have changed meanwhile is a change, too: see Overtaken.
func (o Outlook) ChangesOnlyMarks(isMark func(key string) bool) bool {
	if o.outcome != event.Succeeded || o.Step.Have == nil || o.after == nil || o.recreates {
		return o.Verb() == ToLeave
	}
	before, after := o.Step.Have.DeepCopy(), o.after.DeepCopy()
	for _, obj := range []*unstructured.Unstructured{before, after} {
		for _, field := range []string{"labels", "annotations"} {
			values, _, _ := unstructured.NestedMap(obj.Object, "metadata", field)
			maps.DeleteFunc(values, func(key string, _ any) bool {
				return isMark(key) || slices.Contains(o.bookkeeping, key)
			})
			unstructured.RemoveNestedField(obj.Object, "metadata", field)
			if len(values) > 0 {
				_ = unstructured.SetNestedMap(obj.Object, values, "metadata", field) // it was one
			}
		}
	}
	return len(diff.Between(before, after, diff.Options{})) == 0
}

// Overtaken reports whether the server answered for a newer version of the object than the one that
// was read: nobody knows which of the differences are those of the operation.
func (o Outlook) Overtaken() bool {
	if o.Step.Have == nil || o.after == nil {
		return false
	}
	version := o.after.GetResourceVersion()
	return version != "" && version != o.Step.Have.GetResourceVersion()
}

// Verb is the operation of an outlook, as plans print it.
type Verb string

const (
	ToCreate    Verb = "create"
	ToConfigure Verb = "configure"
	ToRecreate  Verb = "recreate"
	ToLeave     Verb = "unchanged"
	ToPrune     Verb = "prune"
	ToOrphan    Verb = "orphan"
	ToKeep      Verb = "keep"
	ToSkip      Verb = "skip"
	ToFail      Verb = "fail"
)

// Verbs are all verbs in the order in which they are counted.
var Verbs = []Verb{
	ToCreate, ToConfigure, ToRecreate, ToLeave, ToPrune, ToOrphan, ToKeep, ToSkip, ToFail,
}

// Verb returns the operation.
func (o Outlook) Verb() Verb {
	switch {
	case o.outcome == event.Failed:
		return ToFail
	case o.op == plan.Orphan:
		return ToOrphan
	case o.op == plan.Keep || o.op == plan.Delete && o.outcome == event.Skipped:
		return ToKeep
	case o.outcome == event.Skipped:
		return ToSkip
	case o.op == plan.Create:
		return ToCreate
	case o.op == plan.Update && o.recreates:
		return ToRecreate
	case o.op == plan.Update:
		return ToConfigure
	case o.op == plan.Delete:
		return ToPrune
	default:
		return ToLeave
	}
}

// Changes reports whether the operation changes the cluster or the record.
func (v Verb) Changes() bool {
	return v == ToCreate || v == ToConfigure || v == ToRecreate || v == ToPrune || v == ToOrphan
}

// ContentHidden is printed instead of an object that takes values from a Secret: without them it is
// unknown which fields to mask.
const ContentHidden = "its content is not shown, because it has values of a Secret"
