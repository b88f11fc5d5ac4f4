package plan

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/diff"
	"github.com/muster-deploy/muster/internal/object"
)

// base returns what was applied last to a live object, nil if that is not known: its annotation,
// which annotated reports, or the fields that belong alone to the manager, if it has applied them
// server-side, and to the managers that have set the mark of the set. Only for an object of the set
// these are known to be the set's.
func (w writeMode) base(
	live *unstructured.Unstructured,
) (applied *unstructured.Unstructured, annotated bool, err error) {
	if live == nil {
		return nil, false, nil
	}
	foreign := !w.strict && w.owner.Marks() && !w.owner.Owns(live)
	if foreign && w.isOutdated(live) {
		return nil, false, nil
	}
	if applied = appliedTo(live, w.lastApplied); applied != nil {
		if w.keeper != nil { // nobody knows that the set applied these nulls
			applied = diff.WithoutNulls(applied)
		}
		return applied, true, nil
	}
	if w.strict || w.lastApplied == "" || !w.owner.Marks() {
		return nil, false, nil
	}
	if foreign {
		applied, err = w.appliedByOthers(live)
		return applied, false, err
	}
	field, key := w.owner.mark()
	applied, err = diff.AppliedPart(live, w.manager, field, key)
	return applied, false, err
}

// isOutdated reports whether the owner of a live object keeps what it applied last in an annotation
// of its own, so that one's own is from before that.
func (w writeMode) isOutdated(live *unstructured.Unstructured) bool {
	for _, key := range w.owner.Elsewhere {
		if isAnnotated(live, key) && slices.Contains(w.owner.others(live, nil).Annotations, key) {
			return true
		}
	}
	return false
}

// appliedByOthers returns what the former owner of a live object, or kubectl, has applied to it
// last: the base of a takeover. It is nil if that is not known.
func (w writeMode) appliedByOthers(
	live *unstructured.Unstructured,
) (*unstructured.Unstructured, error) {
	for _, key := range w.owner.Applied {
		if applied := appliedTo(live, key); applied != nil {
			return applied, nil
		}
	}
	if w.owner.adoptionOf(live) != AdoptAll {
		return nil, nil
	}
	field, key := w.owner.mark() // of another set with this format
	return diff.AppliedPart(live, "", field, key)
}

// isTooLarge reports whether a desired object with its applied configuration has annotations that
// are too large for a server, and would not have them without it. Those of the live object that the
// set has not applied count, too.
func (w writeMode) isTooLarge(want, applied, live *unstructured.Unstructured) bool {
	text, ok := object.AnnotationsOf(want).Lookup(w.lastApplied)
	if !ok {
		return false
	}
	annotations := want.GetAnnotations()
	if live != nil {
		for key, value := range live.GetAnnotations() {
			if _, desired := annotations[key]; !desired && !isAnnotated(applied, key) {
				annotations[key] = value
			}
		}
	}
	size := 0
	for key, value := range annotations {
		size += len(key) + len(value)
	}
	const limit = validation.TotalAnnotationSizeLimitB
	return size > limit && size-len(w.lastApplied)-len(text) <= limit
}

// IsTooLarge reports whether a server refuses a step's object because of the annotation with its
// applied configuration.
func (p *Plan) IsTooLarge(step *Step) bool {
	return !step.ServerSide && step.Want != nil && p.writeMode().isTooLarge(step.Want, nil, nil)
}

func isAnnotated(obj *unstructured.Unstructured, key string) bool {
	if obj == nil {
		return false
	}
	_, ok := object.AnnotationsOf(obj).Lookup(key)
	return ok
}

// unfit returns why client-side apply cannot write a desired object; empty if it can, or has to:
// its applied configuration is too large for the annotation, or not kept.
func (w writeMode) unfit(want, applied, live *unstructured.Unstructured, kept bool) string {
	switch {
	case w.strict:
		return ""
	case !kept:
		return "it does not get the annotation " + w.lastApplied
	case w.isTooLarge(want, applied, live):
		return "too large for the annotation " + w.lastApplied
	default:
		return ""
	}
}

// decideUnfit decides about an object that client-side apply cannot write, by server-side apply. It
// has the conflicts of client-side apply: unless they count, fields of others are overwritten.
func (w writeMode) decideUnfit(
	step *Step, want *unstructured.Unstructured, former Others, why string,
) error {
	removeAnnotation(want, w.lastApplied)
	step.ServerSide = true
	step.Force = w.conflicts == ConflictsIgnored || w.conflicts == NoteConflicts
	err := w.decideServerSide(step, want, former)
	if err == nil && step.Op != Unchanged && step.Reason == "" {
		step.ReasonCode, step.Reason = ReasonServerSide, "written server-side: "+why
	}
	return err
}

// LacksOwners reports whether the owners of the fields of a step's object, which it lacks, would
// say more: whose values an update overwrites, or what the set has applied server-side.
func (p *Plan) LacksOwners(step *Step) bool {
	if step.Have == nil || len(step.Have.GetManagedFields()) > 0 ||
		step.Op != Update && step.Op != Unchanged {
		return false
	}
	if p.MayContest(step) || step.ServerSide {
		return true
	}
	return !p.OnlyClientSide && p.LastApplied != "" && !isAnnotated(step.Have, p.LastApplied) &&
		p.Owner.Marks() && (p.Owner.Owns(step.Have) || p.Owner.adoptionOf(step.Have) == AdoptAll)
}
