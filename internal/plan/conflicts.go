package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/muster-deploy/muster/internal/diff"
	"github.com/muster-deploy/muster/internal/managers"
	"github.com/muster-deploy/muster/internal/object"
)

// Conflicts is what happens with fields that others own and to which an update gives another value.
type Conflicts string

// The ways to handle conflicts. The zero value does not look for them: an update overwrites the
// fields, and a server-side apply fails.
const (
	ConflictsIgnored   Conflicts = ""
	NoteConflicts      Conflicts = "note" // as the zero value, but steps list the fields
	FailOnConflicts    Conflicts = "fail"
	TakeFromHumans     Conflicts = "take-from-humans" // fail over fields of controllers
	TakeAll            Conflicts = "take-all"
	YieldToControllers Conflicts = "yield-to-controllers" // fail over fields of humans
)

// ConflictModes are the values that users choose from.
var ConflictModes = []Conflicts{FailOnConflicts, TakeFromHumans, TakeAll, YieldToControllers}

// Contest is a field of a live object that others own and to which an update gives another value.
type Contest struct {
	diff.ContestedField
	Left bool `json:"left,omitempty"` // the field is left to its owners, and not sent
}

// ofController reports whether a controller is among the owners.
func (c Contest) ofController() bool { return hasController(c.Owners) }

// hasController reports whether a controller is among some owners. Other tools that deploy count as
// such, and so do unknown managers: a field that is left to its owner can still be taken later.
func hasController(owners []diff.FieldOwner) bool {
	return slices.ContainsFunc(owners, func(o diff.FieldOwner) bool {
		class := ClassOf(o.Manager)
		return class != managers.Human && class != managers.Own
	})
}

// ConflictError reports an update that is not made because of fields that others own.
type ConflictError struct {
	Fields []Contest
}

// Error returns the fields with their owners, without values.
func (e *ConflictError) Error() string {
	var texts []string
	for _, field := range e.Fields {
		for _, o := range field.Owners {
			text := fmt.Sprintf("%s was changed by %q (%s)", field.Field, o.Manager, ClassOf(o.Manager))
			if !o.Since.IsZero() {
				text += " since " + o.Since.UTC().Format(time.RFC3339)
			}
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, "; ")
}

// ObstacleError reports an update that is not made because of fields of others that cannot be
// beside those of the manifest.
type ObstacleError struct {
	Fields []diff.ContestedField
}

// Error returns the fields with their owners, without values.
func (e *ObstacleError) Error() string {
	var texts []string
	for _, field := range e.Fields {
		var names []string
		for _, o := range field.Owners {
			names = append(names, o.Manager)
		}
		texts = append(texts, fmt.Sprintf("%s is in the way, set by %s", field.Field,
			strings.Join(names, ", ")))
	}
	return strings.Join(texts, "; ")
}

// NeedsOwners reports whether decisions of the plan need the owners of the fields of live objects.
func (p *Plan) NeedsOwners() bool {
	return p.ServerSide || p.Conflicts != ConflictsIgnored || p.Ignore.NeedOwners()
}

// Conflict returns a *ConflictError if the update of a step sends fields that its owners must
// keep, or why it could not be merged into the live object. A server-side apply leaves that to the
// server, which does not know fields that are in the way of others: an *ObstacleError.
func (p *Plan) Conflict(step *Step) error {
	if step.Unmerged != nil {
		return step.Unmerged
	}
	if step.Op != Update {
		return nil
	}
	if step.ServerSide {
		return p.obstruction(step)
	}
	fields := slices.DeleteFunc(slices.Clone(step.Contested), func(c Contest) bool {
		return c.Left || !p.Conflicts.refuses(c)
	})
	if len(fields) == 0 {
		return nil
	}
	return &ConflictError{fields}
}

// obstruction returns an *ObstacleError if the owners of fields in the way must keep them.
func (p *Plan) obstruction(step *Step) error {
	var fields []diff.ContestedField
	for _, field := range step.Obstacles {
		yields := p.Conflicts == TakeFromHumans && !hasController(field.Owners)
		if len(field.Owners) > 0 && !yields && !p.Force && !step.Force {
			fields = append(fields, field)
		}
	}
	if len(fields) == 0 {
		return nil
	}
	return &ObstacleError{fields}
}

// refuses reports whether an update of a field that is not left to its owners is an error.
func (c Conflicts) refuses(contest Contest) bool {
	switch c {
	case FailOnConflicts, YieldToControllers:
		return true
	case TakeFromHumans:
		return contest.ofController()
	default:
		return false
	}
}

// TakeOver returns the step that takes over fields with which a server-side apply conflicts; ok is
// false if they must stay with their owners. What the manager of the plan, or a client-side apply
// that it replaces, has set is its own.
func (p *Plan) TakeOver(step *Step, fields []string) (next *Step, ok bool) {
	if !p.mergesByServer(step) || step.Force || step.Have == nil || len(fields) == 0 {
		return nil, false
	}
	own := p.writeMode().replaced(step.Have)
	for _, field := range fields {
		owners, err := diff.Owners(step.Have, field)
		if err != nil || len(owners) == 0 {
			return nil, false
		}
		others := withoutOwn(owners, own)
		if len(others) > 0 && (p.Conflicts != TakeFromHumans || hasController(others)) {
			return nil, false
		}
	}
	taken := *step
	taken.Force = true
	return &taken, true
}

// OwnsAll reports whether fields over which a server-side apply failed belong to the manager of the
// plan alone: it has updated them, and a run makes them applied ones first. It is false for none.
func (p *Plan) OwnsAll(step *Step, fields []string) bool {
	if !p.Preconditions || step.Have == nil || len(fields) == 0 {
		return false
	}
	for _, field := range fields {
		owners, err := diff.Owners(step.Have, field)
		other := slices.ContainsFunc(owners, func(o diff.FieldOwner) bool {
			return o.Manager != p.Manager
		})
		if err != nil || len(owners) == 0 || other {
			return false
		}
	}
	return true
}

// MayContest reports whether an update overwrites a value that was not applied last, so that the
// managed fields of the object, which it lacks, would say whose it is.
func (p *Plan) MayContest(step *Step) bool {
	if p.Conflicts == ConflictsIgnored || step.ServerSide || step.Op != Update || step.Have == nil ||
		len(step.Have.GetManagedFields()) > 0 {
		return false
	}
	applied := readLastApplied(step.Have, p.LastApplied)
	if applied == nil {
		return false
	}
	options := p.writeMode().comparison()
	expected := map[string]string{}
	for _, change := range diff.Between(applied, step.Want, options) {
		expected[change.Path] = change.String()
	}
	return slices.ContainsFunc(step.Diff, func(change diff.FieldChange) bool {
		return expected[change.Path] != change.String()
	})
}

// contested returns the contested fields of an update of a live object with managed fields. Merged
// is the result of a client-side apply, nil for a server-side one.
func (w writeMode) contested(
	want, merged, live *unstructured.Unstructured,
) ([]Contest, error) {
	if w.conflicts == ConflictsIgnored || live == nil || len(live.GetManagedFields()) == 0 {
		return nil, nil
	}
	c := diff.Comparison{
		Want: want, Live: live, Manager: w.manager, Operation: metav1.ManagedFieldsOperationApply,
		IgnoreAnnotations: w.bookkeeping(),
	}
	if merged != nil {
		c.Want, c.Merged, c.Operation = merged, true, metav1.ManagedFieldsOperationUpdate
		if _, ok := object.AnnotationsOf(live).Lookup(w.lastApplied); ok {
			c.Base = w.ownApplied(live)
		} else if base, _, err := w.base(live, want); base == nil || err != nil {
			return nil, err // it is adopted: nothing was applied that others could have changed
		} else {
			c.Base, c.Operation = base, "" // the manager has applied it server-side
		}
	}
	found, err := contestsOf(c)
	if merged != nil {
		return found, err
	}
	own := w.replaced(live)
	for i := range found {
		found[i].Owners = withoutOwn(found[i].Owners, own)
	}
	return slices.DeleteFunc(found, func(c Contest) bool { return len(c.Owners) == 0 }), err
}

func contestsOf(c diff.Comparison) ([]Contest, error) {
	fields, err := diff.Contested(c)
	if err != nil {
		return nil, fmt.Errorf("find the owners of fields: %w", err)
	}
	var contests []Contest
	for _, field := range fields {
		contests = append(contests, Contest{ContestedField: field})
	}
	return contests, nil
}

// ownApplied returns the configuration that was applied last, nil if another manager applied it.
func (w writeMode) ownApplied(live *unstructured.Unstructured) *unstructured.Unstructured {
	if live == nil {
		return nil
	}
	if appliers := diff.ClientSideManagers(live, w.lastApplied); appliers.Len() > 0 &&
		!appliers.Has(w.manager) {
		return nil
	}
	applied := appliedTo(live, w.lastApplied)
	if applied != nil && w.encodes {
		applied = diff.WithEncodedData(applied)
	}
	return applied
}

// obstacles returns the fields of a live object that are in the way of a server-side apply, with
// their owners other than the applier.
func (w writeMode) obstacles(
	described *unstructured.Unstructured, step *Step,
) ([]diff.ContestedField, error) {
	live := step.Have
	want, err := w.ignore.Keep(described, live)
	if err != nil {
		return nil, fmt.Errorf("keep ignored fields: %w", err)
	}
	return Obstacles(diff.Comparison{
		Want: want, Live: live, Base: w.ownApplied(live), Manager: w.manager,
		Operation: metav1.ManagedFieldsOperationApply, TooMany: step.TooMany,
		KeepFormerNames: w.strict,
	}, w.replaced(live))
}

// yieldObstacles returns what is in the way of a desired object in a live one and is left to the
// controllers that own it, and the object without the fields of it that cannot be beside that. Base
// is what was applied last; nil if unknown.
func (w writeMode) yieldObstacles(
	live, want, base *unstructured.Unstructured,
) (left []Contest, rest *unstructured.Unstructured, err error) {
	if w.conflicts != YieldToControllers || live == nil {
		return nil, want, nil
	}
	found, err := Obstacles(diff.Comparison{
		Want: want, Live: live, Base: base, Manager: w.manager,
	}, w.replaced(live))
	if err != nil {
		return nil, nil, err
	}
	rest = want
	for _, field := range found {
		if !hasController(field.Owners) {
			continue
		}
		if len(left) == 0 {
			rest = want.DeepCopy()
		}
		if field.LeaveOutRivals(rest) {
			left = append(left, Contest{ContestedField: field, Left: true})
		}
	}
	return left, rest, nil
}

// replaced returns the managers whose fields a server-side apply of a live object replaces: its own
// one, and those of client-side applies until it has applied the object itself.
func (w writeMode) replaced(live *unstructured.Unstructured) sets.Set[string] {
	own := sets.New(w.manager)
	applied := slices.ContainsFunc(live.GetManagedFields(), func(e metav1.ManagedFieldsEntry) bool {
		return e.Manager == w.manager && e.Operation == metav1.ManagedFieldsOperationApply
	})
	if w.lastApplied != "" && !applied {
		own = own.Union(diff.ClientSideManagers(live, w.lastApplied))
	}
	return own
}

// withoutOwn returns the owners of a field that are none of one's own managers.
func withoutOwn(owners []diff.FieldOwner, own sets.Set[string]) []diff.FieldOwner {
	return slices.DeleteFunc(slices.Clone(owners), func(o diff.FieldOwner) bool {
		return o.Subresource == "" && own.Has(o.Manager)
	})
}

// Obstacles returns the fields of a live object that are in the way of a server-side apply, with
// their owners, without one's own managers.
func Obstacles(c diff.Comparison, own sets.Set[string]) ([]diff.ContestedField, error) {
	found, err := diff.Obstacles(c)
	if err != nil {
		return nil, fmt.Errorf("find the fields that are in the way: %w", err)
	}
	for i := range found {
		found[i].Owners = withoutOwn(found[i].Owners, own)
	}
	return found, nil
}

// leftFields returns the contested fields that are left to controllers.
func (w writeMode) leftFields(contests []Contest) (fields []diff.ContestedField) {
	for _, c := range contests {
		if w.conflicts == YieldToControllers && c.ofController() {
			fields = append(fields, c.ContestedField)
		}
	}
	return fields
}

// markLeft marks the contested fields that an object without the fields of controllers no longer
// contests.
func (s *Step) markLeft(still []Contest) {
	for i, c := range s.Contested {
		s.Contested[i].Left = !slices.ContainsFunc(still, func(other Contest) bool {
			return other.Field == c.Field
		})
	}
}
