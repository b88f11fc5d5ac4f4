package plan

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-deploy/muster/internal/diff"
	"github.com/muster-deploy/muster/internal/object"
)

// Keeper decides what the objects of a set say about the set and about what it applied to them, if
// that is more than a plain copy in the annotation LastApplied: another tool may read it. Several
// goroutines may call its methods at once.
type Keeper interface {
	// Applied returns the text of the annotation LastApplied for a desired object; ok is false for an
	// object that does not get it. Such an object is written server-side.
	Applied(want *unstructured.Unstructured) (text string, ok bool, err error)
	// Seal returns further annotations of an object, which has that of LastApplied, before it is
	// stored in place of the live one, or of none.
	Seal(sent, live *unstructured.Unstructured) map[string]string
	// Correct returns the object for a second write, from the object as the server stored it in
	// answer to a creation or an update; nil if none is needed. It is called again, for up to a
	// minute, if others change the object in between. First is the first answer.
	Correct(step *Step, first, stored *unstructured.Unstructured) (*unstructured.Unstructured, error)
}

// keepApplied stores a desired object itself in its annotation, for the next merge, and reports
// whether it has that then.
func (w writeMode) keepApplied(want *unstructured.Unstructured) (ok bool, err error) {
	if w.keeper == nil {
		return true, setLastApplied(want, w.lastApplied)
	}
	text, ok, err := w.keeper.Applied(want)
	if err != nil {
		return false, fmt.Errorf("keep the configuration: %w", err)
	}
	if !ok {
		removeAnnotation(want, w.lastApplied)
		return false, nil
	}
	annotate(want, w.lastApplied, text)
	return true, nil
}

// Kept returns the annotations by which an object that is stored in a given form says that a
// desired object was applied to it; nil if the plan keeps a plain copy.
func (p *Plan) Kept(desired, stored *unstructured.Unstructured) map[string]string {
	if p.Keeper == nil {
		return nil
	}
	kept := map[string]string{}
	if text, ok := object.AnnotationsOf(desired).Lookup(p.LastApplied); ok {
		kept[p.LastApplied] = text
	}
	maps.Copy(kept, p.Keeper.Seal(withAnnotations(stored, kept), nil))
	return kept
}

// changeKept changes what a desired object says about itself for another tool, which takes what it
// reads for what was written: the object does not say it of what is left to others. It says the
// same as the live object as long as its manifest does not change.
func (w writeMode) changeKept(
	want, live *unstructured.Unstructured,
	change func(*unstructured.Unstructured) (*unstructured.Unstructured, error),
) error {
	if w.keeper == nil || w.lastApplied == "" || live == nil {
		return nil
	}
	described := readLastApplied(want, w.lastApplied)
	if described == nil {
		return nil
	}
	before := readLastApplied(live, w.lastApplied)
	if before != nil && reflect.DeepEqual(before.Object, described.Object) {
		return nil
	}
	described, err := change(described)
	if err != nil {
		return err
	}
	text, err := json.Marshal(described.Object)
	if err != nil {
		return fmt.Errorf("keep the configuration: %w", err)
	}
	annotate(want, w.lastApplied, string(text))
	return nil
}

// keepIgnored changes what a desired object says about itself where fields are left to others.
func (w writeMode) keepIgnored(step *Step, want *unstructured.Unstructured) error {
	if len(w.ignore) == 0 && len(step.Contested) == 0 && step.ReasonCode != ReasonAutoscaled {
		return nil // nothing is left to others
	}
	return w.changeKept(want, step.Have, func(described *unstructured.Unstructured) (
		*unstructured.Unstructured, error) {
		return w.withoutLeft(step, described)
	})
}

// keepLeft lets a desired object have the live values of fields that are left to others, and not
// say of itself that it sets them.
func (w writeMode) keepLeft(
	want, live *unstructured.Unstructured, left []diff.ContestedField,
) error {
	if len(left) == 0 {
		return nil
	}
	for _, field := range left {
		field.Keep(want, live)
	}
	return w.changeKept(want, live, func(described *unstructured.Unstructured) (
		*unstructured.Unstructured, error) {
		for _, field := range left {
			field.LeaveOut(described)
		}
		return described, nil
	})
}

// withoutLeft returns what an object says about itself without replicas that are left to an
// autoscaler, contested fields that are left to controllers, and with the live values of ignored
// fields. It changes the argument.
func (w writeMode) withoutLeft(
	step *Step, described *unstructured.Unstructured,
) (*unstructured.Unstructured, error) {
	if step.ReasonCode == ReasonAutoscaled {
		unstructured.RemoveNestedField(described.Object, "spec", "replicas")
	}
	for _, c := range step.Contested {
		if c.Left {
			c.LeaveOut(described)
		}
	}
	return w.ignore.KeepDescribed(described, step.Have)
}

// sealed returns an object with the annotations of the keeper, as it replaces a live one, or none.
func (w writeMode) sealed(sent, live *unstructured.Unstructured) *unstructured.Unstructured {
	if w.keeper == nil {
		return sent
	}
	return withAnnotations(sent, w.keeper.Seal(sent, live))
}

// seal adds the annotations of the keeper to the result of a merge and to its patch, if what is
// applied changes: else those of the live object stay.
func (w writeMode) seal(m merged, live *unstructured.Unstructured) (merged, error) {
	if w.keeper == nil || w.sealsOf(m.result, live) != nil {
		return m, nil
	}
	seals := w.keeper.Seal(m.result, live)
	err := m.changePatch(func(fields map[string]any) error {
		for key, value := range seals {
			if object.AnnotationsOf(live).Get(key) == value { // it may be a part of what was applied
				unstructured.RemoveNestedField(fields, "metadata", "annotations", key)
				continue
			}
			if err := unstructured.SetNestedField(fields, value, "metadata", "annotations",
				key); err != nil {
				return err
			}
		}
		return nil
	})
	m.result = withAnnotations(m.result, seals)
	return m, err
}

// changePatch changes the patch of a merge, which keeps numbers with all their digits.
func (m *merged) changePatch(change func(fields map[string]any) error) error {
	fields := map[string]any{}
	decoder := json.NewDecoder(bytes.NewReader(m.patch.Data))
	decoder.UseNumber()
	err := decoder.Decode(&fields)
	if err == nil {
		err = change(fields)
	}
	if err != nil {
		return fmt.Errorf("read the patch: %w", err)
	}
	if m.patch.Data, err = json.Marshal(fields); err != nil {
		return fmt.Errorf("build the patch: %w", err)
	}
	return nil
}

// recorded returns the object of a server-side apply with what the keeper says of it: of what is
// described, without fields that are left to others.
func (w writeMode) recorded(
	step *Step, want, described *unstructured.Unstructured,
) (*unstructured.Unstructured, error) {
	if w.keeper == nil {
		return want, nil
	}
	live := step.Have
	described = described.DeepCopy()
	kept, err := w.keepApplied(described)
	if err != nil {
		return nil, err
	}
	if err := w.keepIgnored(step, described); err != nil {
		return nil, fmt.Errorf("keep the configuration: %w", err)
	}
	if kept && !w.isTooLarge(described, nil, live) {
		want = withAnnotations(want, map[string]string{
			w.lastApplied: object.AnnotationsOf(described).Get(w.lastApplied),
		})
	}
	if live == nil {
		return withAnnotations(want, w.keeper.Seal(want, live)), nil
	}
	seals := w.sealsOf(want, live)
	if seals == nil {
		applier := diff.Applier{Manager: w.manager, LastApplied: w.lastApplied}
		becomes, err := diff.AfterApply(want, live, applier)
		if err != nil {
			return nil, fmt.Errorf("compute the change: %w", err)
		}
		seals = w.keeper.Seal(becomes, live)
	}
	return withAnnotations(want, seals), nil
}

// sealsOf returns the annotations of the keeper that a live object has; nil if it has none, or if a
// desired object says that something else is applied.
func (w writeMode) sealsOf(want, live *unstructured.Unstructured) map[string]string {
	has, seals := object.AnnotationsOf(live), map[string]string{}
	if has.Get(w.lastApplied) != object.AnnotationsOf(want).Get(w.lastApplied) {
		return nil
	}
	for _, key := range w.books {
		if value, ok := has.Lookup(key); ok && key != w.lastApplied {
			seals[key] = value
		}
	}
	if len(seals) == 0 {
		return nil
	}
	return seals
}

// completeWrite makes an update of a step that changes nothing if a run was killed between the two
// writes of its object: what that says about itself is wrong.
func (w writeMode) completeWrite(step *Step) error {
	if w.keeper == nil {
		return nil
	}
	stored := Step{Ref: step.Ref, Want: step.Have, Have: step.Have}
	next, err := w.keeper.Correct(&stored, step.Have, step.Have)
	if err != nil || next == nil {
		return err
	}
	changes := map[string]any{}
	for key, value := range next.GetAnnotations() {
		if object.AnnotationsOf(step.Have).Get(key) != value {
			changes[key] = value
		}
	}
	metadata := map[string]any{"annotations": changes}
	data, err := json.Marshal(map[string]any{"metadata": metadata})
	if err != nil {
		return fmt.Errorf("build the patch: %w", err)
	}
	step.Op, step.Want = Update, next
	step.Patch = diff.Patch{Type: types.MergePatchType, Data: data}
	return nil
}

// bookkeeping returns the annotations that say what was applied, for comparisons.
func (w writeMode) bookkeeping() []string {
	return append([]string{w.lastApplied}, w.books...)
}

// comparison returns how an object is compared with the live one: without what says what was
// applied.
func (w writeMode) comparison() diff.Options {
	return diff.Options{IgnoreAnnotations: w.bookkeeping()}
}

// withAnnotations returns a copy of an object with more annotations. It shares all else with it.
func withAnnotations(
	obj *unstructured.Unstructured, more map[string]string,
) *unstructured.Unstructured {
	if len(more) == 0 {
		return obj
	}
	return object.WithMetadata(obj, func(metadata map[string]any) {
		annotations, _ := metadata["annotations"].(map[string]any)
		if annotations == nil {
			annotations = map[string]any{}
			metadata["annotations"] = annotations
		}
		for key, value := range more {
			annotations[key] = value
		}
	})
}

// withoutBooks returns an object without the annotations of the keeper: a copy if it has one of
// them. It has no empty annotations, unless it says of itself that it was described with such.
func (w writeMode) withoutBooks(obj *unstructured.Unstructured) *unstructured.Unstructured {
	has := func(key string) bool { return isAnnotated(obj, key) }
	if !slices.ContainsFunc(w.books, has) {
		return obj
	}
	empty := false
	if described := readLastApplied(obj, w.lastApplied); described != nil {
		_, empty, _ = unstructured.NestedMap(described.Object, "metadata", "annotations")
	}
	obj = obj.DeepCopy()
	for _, key := range w.books {
		removeAnnotation(obj, key)
	}
	if len(obj.GetAnnotations()) == 0 && !empty {
		obj.SetAnnotations(nil)
	}
	return obj
}

// removeAnnotation removes an annotation of an object, in place.
func removeAnnotation(obj *unstructured.Unstructured, key string) {
	annotations := obj.GetAnnotations()
	delete(annotations, key)
	obj.SetAnnotations(annotations)
}
