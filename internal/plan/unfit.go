package plan

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/diff"
	"github.com/muster-deploy/muster/internal/object"
)

// base returns what was applied last to a live object that a desired one replaces, nil if that is
// not known: its annotation, which annotated reports, or the fields that belong alone to the
// manager and to the managers that have set the mark of the set. Only for an object of the set
// these are known to be the set's.
func (w writeMode) base(
	live, want *unstructured.Unstructured,
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
		applied, err = w.appliedByOthers(live, want)
	} else {
		applied, err = diff.AppliedPart(live, want, w.setter())
	}
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
	live, want *unstructured.Unstructured,
) (*unstructured.Unstructured, error) {
	for _, key := range w.owner.Applied {
		if applied := appliedTo(live, key); applied != nil {
			return applied, nil
		}
	}
	if w.owner.adoptionOf(live) != AdoptAll {
		return nil, nil
	}
	set := w.setter() // another set with this format
	set.Manager = ""
	return diff.AppliedPart(live, want, set)
}

// setter returns the managers of the set, of which some may have written the object before it was
// the set's.
func (w writeMode) setter() diff.Setter {
	field, key := w.owner.mark()
	return diff.Setter{Manager: w.manager, Field: field, Key: key,
		Annotations: append([]string{w.lastApplied}, w.owner.Applied...)}
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

// mayHaveAdded reports whether others may have set fields of maps that the update of a step removes
// as a whole.
func (p *Plan) mayHaveAdded(step *Step) bool {
	if p.OnlyClientSide || step.Op != Update || step.Patch.Data == nil {
		return false
	}
	want, err := p.described(step)
	if err != nil {
		return false
	}
	applied, _, err := p.writeMode().base(step.Have, want)
	return err == nil && diff.MayHaveAdded(want, applied, step.Have)
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
// say more: whose values an update overwrites or removes, or what the set has applied server-side.
// It is also true if the object was read in another version, whose fields cannot be compared.
func (p *Plan) LacksOwners(step *Step) bool {
	if step.Op == Update && step.Have != nil && !p.OnlyClientSide &&
		step.Have.GetAPIVersion() != step.Want.GetAPIVersion() {
		return true
	}
	if step.Have == nil || len(step.Have.GetManagedFields()) > 0 ||
		step.Op != Update && step.Op != Unchanged {
		return false
	}
	if p.MayContest(step) || step.ServerSide || p.mayHaveAdded(step) {
		return true
	}
	return !p.OnlyClientSide && p.LastApplied != "" && !isAnnotated(step.Have, p.LastApplied) &&
		p.Owner.Marks() && (p.Owner.Owns(step.Have) || p.Owner.adoptionOf(step.Have) == AdoptAll)
}
