// Package filter selects objects and changes by the filters that kapp takes as flags and as JSON.
// Filters are checked when they are parsed, so that matching cannot fail. The package is pure, and
// several goroutines may use a filter.
package filter

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
)

// ResourceFilter selects objects. A nil ResourceFilter selects all objects.
type ResourceFilter struct {
	And      []ResourceFilter
	Or       []ResourceFilter
	Not      *ResourceFilter
	Resource *clause
}

// clause is a condition on one object. Every list that is not empty has to contain the object, and
// both times have to hold.
type clause struct {
	CreatedAtBeforeTime, CreatedAtAfterTime *time.Time
	Kinds, Namespaces, Names                []string // * or % at the start or the end matches any text
	KindNames                               []string // "KIND/NAME"
	KindNamespaces                          []string // "KIND/NAMESPACE"
	KindNsNames                             []string // "KIND/NAMESPACE/NAME"
	Labels                                  []string // selectors

	selectors []labels.Selector
}

// ParseResourceFilter parses a filter in JSON with the keys and, or, not and resource, in any
// case. An object without any of them selects nothing.
func ParseResourceFilter(text string) (*ResourceFilter, error) {
	r := &ResourceFilter{}
	err := unmarshal(text, r)
	if err == nil {
		err = r.compile()
	}
	if err != nil {
		return nil, fmt.Errorf("Parsing filter '%s': %w", text, err)
	}
	return r, nil
}

// unmarshal decodes a text in JSON. Unknown keys are errors, since a filter with a mistyped key
// selects other objects than its author expects.
func unmarshal(text string, into any) error {
	if err := json.Unmarshal([]byte(text), &json.RawMessage{}); err != nil {
		return err
	}
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.DisallowUnknownFields()
	return decoder.Decode(into)
}

func (r *ResourceFilter) compile() error {
	if r == nil {
		return nil
	}
	var failed []error
	for _, list := range [][]ResourceFilter{r.And, r.Or} {
		for i := range list {
			failed = append(failed, list[i].compile())
		}
	}
	return errors.Join(append(failed, r.Not.compile(), r.Resource.compile())...)
}

// Matches reports whether the object is selected. The first of and, or, not and resource decides.
func (r *ResourceFilter) Matches(obj *unstructured.Unstructured) bool {
	switch {
	case r == nil:
		return true
	case len(r.And) > 0:
		return allMatch(r.And, func(in *ResourceFilter) bool { return in.Matches(obj) })
	case len(r.Or) > 0:
		return !allMatch(r.Or, func(in *ResourceFilter) bool { return !in.Matches(obj) })
	case r.Not != nil:
		return !r.Not.Matches(obj)
	case r.Resource != nil:
		return r.Resource.matches(obj)
	}
	return false
}

// MayMatch reports whether the filter may select an object of which only the identity is known,
// whatever its labels and age are.
func (r *ResourceFilter) MayMatch(identity *unstructured.Unstructured) bool {
	may, _ := r.bounds(identity)
	return may
}

// bounds reports whether an object of an identity may be selected, and whether it is in any case.
func (r *ResourceFilter) bounds(identity *unstructured.Unstructured) (may, must bool) {
	mays := func(in *ResourceFilter) bool { may, _ := in.bounds(identity); return may }
	musts := func(in *ResourceFilter) bool { _, must := in.bounds(identity); return must }
	not := func(f func(*ResourceFilter) bool) func(*ResourceFilter) bool {
		return func(in *ResourceFilter) bool { return !f(in) }
	}
	switch {
	case r == nil:
		return true, true
	case len(r.And) > 0:
		return allMatch(r.And, mays), allMatch(r.And, musts)
	case len(r.Or) > 0:
		return !allMatch(r.Or, not(mays)), !allMatch(r.Or, not(musts))
	case r.Not != nil:
		may, must = r.Not.bounds(identity)
		return !must, !may
	case r.Resource != nil:
		c := r.Resource
		known := c.CreatedAtBeforeTime == nil && c.CreatedAtAfterTime == nil && len(c.selectors) == 0
		may = c.matchesIdentity(identity)
		return may, may && known
	}
	return false, false
}

func allMatch[T any](list []T, holds func(*T) bool) bool {
	for i := range list {
		if !holds(&list[i]) {
			return false
		}
	}
	return true
}

// compile checks the strings of a clause and parses its selectors.
func (c *clause) compile() error {
	if c == nil {
		return nil
	}
	var failed []error
	for _, list := range []struct {
		name  string
		texts []string
	}{{"kinds", c.Kinds}, {"namespaces", c.Namespaces}, {"names", c.Names}} {
		for _, text := range list.texts {
			if text == "" {
				failed = append(failed, fmt.Errorf(
					"Expected %s to be non-empty, but one is an empty string ('*' stands for any)",
					list.name))
			}
		}
	}
	c.selectors = nil
	for _, text := range c.Labels {
		selector, err := labels.Parse(text)
		if err != nil {
			failed = append(failed, fmt.Errorf("Parsing label selector failed: %w", err))
			continue
		}
		c.selectors = append(c.selectors, selector)
	}
	return errors.Join(failed...)
}

func (c *clause) matches(obj *unstructured.Unstructured) bool {
	created := obj.GetCreationTimestamp().Time // zero for an object that does not exist yet
	if c.CreatedAtBeforeTime != nil && created.After(*c.CreatedAtBeforeTime) ||
		c.CreatedAtAfterTime != nil && created.Before(*c.CreatedAtAfterTime) {
		return false
	}
	if !c.matchesIdentity(obj) {
		return false
	}
	has := labels.Set(obj.GetLabels())
	return len(c.selectors) == 0 ||
		slices.ContainsFunc(c.selectors, func(s labels.Selector) bool { return s.Matches(has) })
}

// matchesIdentity reports whether the kind, the namespace and the name of an object are selected.
func (c *clause) matchesIdentity(obj *unstructured.Unstructured) bool {
	kind, namespace, name := obj.GetKind(), obj.GetNamespace(), obj.GetName()
	for _, list := range []struct {
		texts []string
		value string
	}{{c.Kinds, kind}, {c.Namespaces, namespace}, {c.Names, name}} {
		if !MatchAny(list.texts)(list.value) {
			return false
		}
	}
	for _, list := range []struct {
		texts []string
		value []string
	}{{c.KindNames, []string{kind, name}}, {c.KindNamespaces, []string{kind, namespace}},
		{c.KindNsNames, []string{kind, namespace, name}}} {
		if len(list.texts) > 0 && !slices.Contains(list.texts, strings.Join(list.value, "/")) {
			return false
		}
	}
	return true
}

// MatchAny returns whether a value matches one of some patterns, or there are none.
func MatchAny(patterns []string) func(value string) bool {
	return func(value string) bool {
		return len(patterns) == 0 || slices.ContainsFunc(patterns, func(pattern string) bool {
			return MatchPattern(pattern, value)
		})
	}
}

// MatchPattern reports whether a value matches a pattern.
func MatchPattern(pattern, value string) bool {
	const wild = "*%"
	if pattern == "" {
		return value == ""
	}
	rest := strings.TrimLeft(pattern[:1], wild) + pattern[1:]
	starts := len(rest) < len(pattern)
	if rest == "" {
		return true
	}
	last := len(rest) - 1
	ends := strings.ContainsAny(rest[last:], wild)
	if ends {
		rest = rest[:last]
	}
	switch {
	case starts && ends:
		return strings.Contains(value, rest)
	case starts:
		return strings.HasSuffix(value, rest)
	case ends:
		return strings.HasPrefix(value, rest)
	}
	return value == rest
}
