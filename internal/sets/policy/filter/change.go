package filter

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// ChangeFilter selects changes. A nil ChangeFilter selects all changes.
type ChangeFilter struct {
	And              []ChangeFilter
	Or               []ChangeFilter
	Not              *ChangeFilter
	NewResource      *clause
	ExistingResource *clause
	Ops              []string // add, update, delete, keep, exists or noop
}

// ParseChangeFilter parses a filter in JSON with the keys and, or, not, newResource,
// existingResource and ops, in any case. It returns nil for an empty text.
func ParseChangeFilter(text string) (*ChangeFilter, error) {
	if text == "" {
		return nil, nil
	}
	c := &ChangeFilter{}
	err := unmarshal(text, c)
	if err == nil {
		err = c.compile()
	}
	if err != nil {
		return nil, fmt.Errorf("Parsing diff filter '%s': %w", text, err)
	}
	return c, nil
}

func (c *ChangeFilter) compile() error {
	if c == nil {
		return nil
	}
	var failed []error
	for _, list := range [][]ChangeFilter{c.And, c.Or} {
		for i := range list {
			failed = append(failed, list[i].compile())
		}
	}
	return errors.Join(append(failed, c.Not.compile(), c.NewResource.compile(),
		c.ExistingResource.compile())...)
}

// Matches reports whether a change is selected by its operation, the desired object and the
// existing one, of which one may be nil. The first clause in the order of the fields decides; one
// about a nil object only if there is none about the other object. It selects nothing then. All of
// Ops have to equal the operation, so that several select nothing. Without clauses all changes are
// selected.
func (c *ChangeFilter) Matches(op string, desired, existing *unstructured.Unstructured) bool {
	switch {
	case c == nil:
		return true
	case len(c.And) > 0:
		return allMatch(c.And, func(in *ChangeFilter) bool { return in.Matches(op, desired, existing) })
	case len(c.Or) > 0:
		return !allMatch(c.Or, func(in *ChangeFilter) bool { return !in.Matches(op, desired, existing) })
	case c.Not != nil:
		return !c.Not.Matches(op, desired, existing)
	case c.NewResource != nil && desired != nil:
		return c.NewResource.matches(desired)
	case c.ExistingResource != nil && existing != nil:
		return c.ExistingResource.matches(existing)
	case c.NewResource != nil || c.ExistingResource != nil:
		return false
	}
	return allMatch(c.Ops, func(in *string) bool { return *in == op })
}
