package plan

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/muster-deploy/muster/internal/object"
)

// ObjectError is one error of one object. Source is the file and document that describe the object,
// if any.
type ObjectError struct {
	Ref    object.Ref
	Source string
	Err    error
}

// Error returns the object, its source and the cause.
func (e *ObjectError) Error() string {
	if e.Source == "" {
		return fmt.Sprintf("%s: %v", e.Ref, e.Err)
	}
	return fmt.Sprintf("%s (%s): %v", e.Ref, e.Source, e.Err)
}

// Unwrap returns the cause.
func (e *ObjectError) Unwrap() error { return e.Err }

// ExternalError reports a dependency on an object that is neither desired nor recorded, and which a
// run therefore cannot wait for.
type ExternalError struct {
	From, To      object.Ref
	TakesValue    bool   // From takes a value from To, and does not only come after it
	SuggestedKind string // kind of a planned object that differs from To's in case; else empty
}

// Error returns the dependency, the reason and a hint.
func (e *ExternalError) Error() string {
	how, way := "depends on", "add it or remove the dependency"
	if e.TakesValue {
		how, way = "takes a value from", "add it or take the value from elsewhere"
	}
	where := "which is not part of the set"
	if e.TakesValue && e.To.Namespace == "" && e.From.Namespace != "" {
		where += ", neither in namespace " + e.From.Namespace + " nor without one"
	}
	if e.SuggestedKind != "" {
		way = fmt.Sprintf("its kind is written %q, did you mean %s?", e.To.Kind, e.SuggestedKind)
	}
	return fmt.Sprintf("%s %s, %s; %s", how, e.To, where, way)
}

// sortedErrors returns the errors in the order of their objects, then those without an object.
func (b *builder) sortedErrors() []error {
	place := func(err error) int {
		if of := (*ObjectError)(nil); errors.As(err, &of) {
			return b.index[of.Ref]
		}
		return len(b.nodes)
	}
	return slices.SortedStableFunc(slices.Values(b.errs), func(x, y error) int {
		return cmp.Compare(place(x), place(y))
	})
}

// addError adds an error of the object of a step. Joined errors are added one by one.
func (b *builder) addError(step Step, err error) {
	if err == nil {
		return
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, err := range joined.Unwrap() {
			b.addError(step, err)
		}
		return
	}
	b.errs = append(b.errs, &ObjectError{Ref: step.Ref, Source: step.Source, Err: err})
}
