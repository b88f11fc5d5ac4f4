package change

import (
	"encoding/json"
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Masker hides values that are not to be shown. Values that are equal have the same number, for as long as the Masker is
// used; numbers begin at 1 and are given in the order in which values are met. It is not safe for concurrent use.
type Masker struct {
	rules   masking
	numbers map[string]int
}

// masking are the rules that say what is hidden.
type masking interface {
	// Mask replaces, in place, what is hidden by what hide gives for it.
	Mask(obj *unstructured.Unstructured, hide func(value any) string) error
	// Masks reports whether something of an object is hidden.
	Masks(obj *unstructured.Unstructured) bool
}

// NewMasker gives a Masker that hides what the rules say.
func NewMasker(rules masking) *Masker {
	return &Masker{rules, map[string]int{}}
}

// hide gives the words that stand for a value.
func (m *Masker) hide(value any) string {
	data, err := json.Marshal(value)
	if err != nil {
		data = fmt.Appendf(nil, "%d values before", len(m.numbers)) // never equal to another, so that no change is hidden
	}
	number, known := m.numbers[string(data)]
	if !known {
		number = len(m.numbers) + 1
		m.numbers[string(data)] = number
	}
	return fmt.Sprintf("<-- value not shown (#%d)", number)
}

// masked gives a copy in which values are hidden; without a Masker, an object or something to hide, what was given.
func (m *Masker) masked(obj *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if m == nil || obj == nil || !m.rules.Masks(obj) {
		return obj, nil
	}
	obj = obj.DeepCopy()
	return obj, m.rules.Mask(obj, m.hide)
}

// Texts gives the two texts whose difference is shown, as YAML; either is empty where there is nothing, and both are the
// same where nothing is shown. Without a Masker nothing is hidden.
func (c *Change) Texts(m *Masker) (before, after string, err error) {
	old, new, err := c.BeforeAfter()
	if err != nil {
		return "", "", err
	}
	if old, err = m.masked(old); err != nil {
		return "", "", fmt.Errorf("Masking existing resource: %w", err)
	}
	if before, err = text(old); err != nil {
		return "", "", err
	}
	if c.New == nil && new != nil {
		return before, before, nil
	}
	if new, err = m.masked(new); err != nil {
		return "", "", fmt.Errorf("Masking new resource: %w", err)
	}
	after, err = text(new)
	return before, after, err
}

// YAML gives what is printed of the change by those who want to see what is applied: a comment with what is done, and for
// objects that are sent their text, without managed fields. There is no comment where nothing is done.
func (c *Change) YAML(m *Masker) (comment, object string, err error) {
	op := c.ApplyOp()
	if op == Noop {
		return "", "", nil
	}
	strategy, err := c.Strategy()
	if err != nil {
		return "", "", err
	}
	comment = "# " + op.Word() + ": " + c.Description()
	if strategy != "" {
		comment += " (strategy: " + strategy + ")"
	}
	if c.Applied == nil {
		return comment, "", nil
	}
	obj, err := m.masked(unmanaged(c.Applied))
	if err != nil {
		return "", "", err
	}
	object, err = text(obj)
	return comment, object, err
}

// unmanaged is an object without managed fields that shares all else with the one given.
func unmanaged(obj *unstructured.Unstructured) *unstructured.Unstructured {
	metadata, ok := obj.Object["metadata"].(map[string]any)
	if !ok || metadata["managedFields"] == nil {
		return obj
	}
	object := maps.Clone(obj.Object)
	metadata = maps.Clone(metadata)
	delete(metadata, "managedFields")
	object["metadata"] = metadata
	return &unstructured.Unstructured{Object: object}
}

// text is an object as YAML with sorted keys.
func text(obj *unstructured.Unstructured) (string, error) {
	if obj == nil {
		return "", nil
	}
	out, err := marshal(obj.Object)
	if err != nil {
		return "", fmt.Errorf("write %s as YAML: %w", obj.GetName(), err)
	}
	return out, nil
}
