package change

import (
	"encoding/json"
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/sets/policy/config"
)

// Masker hides values. Equal values have the same number for as long as the Masker is used; numbers
// begin at 1 and follow the order in which values occur. It is not safe for concurrent use.
type Masker struct {
	rules   *config.Config
	numbers map[string]int
}

// NewMasker returns a Masker for the values that the rules hide.
func NewMasker(rules *config.Config) *Masker {
	return &Masker{rules, map[string]int{}}
}

// hide returns the replacement of a value.
func (m *Masker) hide(value any) string {
	data, err := json.Marshal(value)
	if err != nil {
		data = fmt.Appendf(nil, "%d values before",
			len(m.numbers)) // never equal to another, so that no change is hidden
	}
	number, known := m.numbers[string(data)]
	if !known {
		number = len(m.numbers) + 1
		m.numbers[string(data)] = number
	}
	return fmt.Sprintf("<-- value not shown (#%d)", number)
}

// masked returns a copy with hidden values, or obj itself without a Masker, an object or values to
// hide.
func (m *Masker) masked(obj *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if m == nil || obj == nil || !m.rules.Masks(obj) {
		return obj, nil
	}
	obj = obj.DeepCopy()
	return obj, m.rules.Mask(obj, m.hide)
}

// Texts returns the two YAML texts whose difference is printed. Either is empty if there is no
// object; both are the same if no difference is printed. Without a Masker nothing is hidden.
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

// YAML returns the output for users who want to see what is applied: a comment with the operation,
// and the text of the object that is sent, without managed fields. The comment is empty if nothing
// is done.
func (c *Change) YAML(m *Masker) (comment, object string, err error) {
	op := c.ApplyOp()
	if op == Noop {
		return "", "", nil
	}
	strategy, err := c.Strategy()
	if err != nil {
		return "", "", err
	}
	if c.calc.FromFiles {
		strategy = "unknown"
	}
	comment = "# " + op.Word() + ": " + c.Description()
	if strategy != "" {
		comment += " (strategy: " + strategy + ")"
	}
	if c.Applied == nil {
		return comment, "", nil
	}
	obj, err := m.masked(withoutManagedFields(c.Applied))
	if err != nil {
		return "", "", err
	}
	object, err = text(obj)
	return comment, object, err
}

// withoutManagedFields returns an object without managed fields that shares all other values.
func withoutManagedFields(obj *unstructured.Unstructured) *unstructured.Unstructured {
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

// text returns an object as YAML with sorted keys.
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
