package filter

import (
	"encoding/json"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// ChangeFilter selects changes. The nil ChangeFilter selects all.
type ChangeFilter struct {
	And              []ChangeFilter
	Or               []ChangeFilter
	Not              *ChangeFilter
	NewResource      *clause
	ExistingResource *clause
	Ops              []string // add, update, delete, keep, exists or noop
}

// ParseChangeFilter reads a filter in JSON, whose keys are taken in any case: and, or, not, newResource, existingResource or ops. An
// empty text and an object without any of them give nil, which selects everything.
func ParseChangeFilter(text string) (*ChangeFilter, error) {
	if text == "" {
		return nil, nil
	}
	c := &ChangeFilter{}
	if err := json.Unmarshal([]byte(text), c); err != nil {
		return nil, fmt.Errorf("Parsing diff filter '%s': %w", text, err)
	}
	if err := c.compile(); err != nil {
		return nil, fmt.Errorf("Parsing diff filter '%s': %w", text, err)
	}
	if c.And == nil && c.Or == nil && c.Not == nil && c.NewResource == nil && c.ExistingResource == nil && c.Ops == nil {
		return nil, nil
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
	return errors.Join(append(failed, c.Not.compile(), c.NewResource.compile(), c.ExistingResource.compile())...)
}

// Matches reports whether a change is selected: its operation, the object as it is to be and as it is, of which one may be nil.
// The first clause that is there decides, in the order of the fields of Change; one about an object that is nil is passed over.
// All of ops have to be the operation, so that more than one selects nothing.
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
	}
	return len(c.Ops) > 0 && allMatch(c.Ops, func(in *string) bool { return *in == op })
}
