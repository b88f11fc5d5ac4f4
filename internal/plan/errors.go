package plan

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/muster-deploy/muster/internal/object"
)

// ObjectError is one thing that is wrong with one object. Source is the file and document that describe it, if any.
type ObjectError struct {
	Ref    object.Ref
	Source string
	Err    error
}

func (e *ObjectError) Error() string {
	if e.Source == "" {
		return fmt.Sprintf("%s: %v", e.Ref, e.Err)
	}
	return fmt.Sprintf("%s (%s): %v", e.Ref, e.Source, e.Err)
}

// Unwrap gives what is wrong.
func (e *ObjectError) Unwrap() error { return e.Err }

// ExternalError says that an object depends on one that is neither wanted nor recorded, for which a run cannot wait.
type ExternalError struct {
	From, To      object.Ref
	TakesValue    bool   // From takes a value from To; else it only comes after it
	SuggestedKind string // what the kind of To would have to be for it to be part of the set: it differs in its case; else empty
}

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

// sortedErrors puts errors of objects into the order of the objects; others come last.
func (b *builder) sortedErrors() []error {
	place := func(err error) int {
		if of := (*ObjectError)(nil); errors.As(err, &of) {
			return b.index[of.Ref]
		}
		return len(b.nodes)
	}
	return slices.SortedStableFunc(slices.Values(b.errs), func(x, y error) int { return cmp.Compare(place(x), place(y)) })
}

// addError notes what is wrong with the object of a step, each error by itself if several are joined.
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
