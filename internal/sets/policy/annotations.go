package policy

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/muster-deploy/muster/internal/manifest"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/sets/policy/resource"
)

// strategies are the values of the annotations of kapp that have a choice.
var strategies = map[string][]string{
	resource.AnnCreateStrategy: {"", "fallback-on-update", "fallback-on-update-or-noop"},
	resource.AnnUpdateStrategy: {"", "fallback-on-replace", "always-replace", "skip"},
	resource.AnnDeleteStrategy: {"", "orphan"},
}

// Located returns an error of an object with its file and document.
func Located(obj manifest.Object, err error) error {
	return fmt.Errorf("%s: %s: %w", obj.Origin, object.RefOf(obj.Unstructured), err)
}

// CheckAppValues returns an error for every annotation of kapp that has an invalid value.
func CheckAppValues(objects []manifest.Object) error {
	var errs []error
	for _, obj := range objects {
		add := func(err error) { errs = append(errs, Located(obj, err)) }
		annotations := obj.GetAnnotations()
		for _, key := range slices.Sorted(maps.Keys(annotations)) {
			if allowed, ok := strategies[key]; ok && !slices.Contains(allowed, annotations[key]) {
				add(&AnnotationError{key, fmt.Errorf("%q is none of %q", annotations[key], allowed[1:])})
			}
			if err := checkVersioning(key, annotations[key]); err != nil {
				add(&AnnotationError{key, err})
			}
			if key == resource.AnnNonce && annotations[key] != "" {
				add(&AnnotationError{key, fmt.Errorf("%q must be empty: each apply sets it",
					annotations[key])})
			}
		}
	}
	return errors.Join(errs...)
}

// WithNonce returns the objects, with a nonce in copies of those that have the annotation for it,
// and the nonce, if any has it.
func WithNonce(
	desired []plan.Desired, now time.Time,
) (set []plan.Desired, random []string) {
	set = slices.Clone(desired)
	for i, d := range desired {
		if _, ok := object.AnnotationsOf(d.Object).Lookup(resource.AnnNonce); ok {
			nonce := resource.Nonce(now)
			random, set[i].Object = []string{nonce}, d.Object.DeepCopy()
			annotations := set[i].Object.GetAnnotations()
			annotations[resource.AnnNonce] = nonce
			set[i].Object.SetAnnotations(annotations)
		}
	}
	return set, random
}
