package object

import (
	"fmt"
	"slices"
)

// Set is an ordered set of references. The zero value is an empty set ready for use. Several
// goroutines may read a Set at once, but not while one of them adds to it.
type Set struct {
	refs    []Ref
	sources map[Ref]string
}

// NewSet returns the set of the references, in order, without duplicates.
func NewSet(refs ...Ref) *Set {
	s := &Set{}
	for _, ref := range refs {
		s.Insert(ref)
	}
	return s
}

// DuplicateError reports that two sources describe the same object.
type DuplicateError struct {
	Ref           Ref
	First, Second string
}

func (e *DuplicateError) Error() string {
	return fmt.Sprintf(
		"%s is described twice: in %s and in %s; keep one of them", e.Ref, e.First, e.Second,
	)
}

// Insert adds a reference without a source and reports whether it was new.
func (s *Set) Insert(ref Ref) bool {
	return s.Add(ref, "") == nil
}

// Add adds a reference and the place that describes it. If the reference is a member already, Add
// changes nothing and returns a *DuplicateError that names both places.
func (s *Set) Add(ref Ref, source string) error {
	if first, ok := s.sources[ref]; ok {
		return &DuplicateError{Ref: ref, First: first, Second: source}
	}
	if s.sources == nil {
		s.sources = map[Ref]string{}
	}
	s.sources[ref] = source
	s.refs = append(s.refs, ref)
	return nil
}

// Has reports whether the reference is a member. A nil set has no members.
func (s *Set) Has(ref Ref) bool {
	if s == nil {
		return false
	}
	_, ok := s.sources[ref]
	return ok
}

// Len returns the number of members.
func (s *Set) Len() int {
	if s == nil {
		return 0
	}
	return len(s.refs)
}

// Refs returns a copy of the members, in order.
func (s *Set) Refs() []Ref {
	if s == nil {
		return nil
	}
	return slices.Clone(s.refs)
}
