package config

import (
	"fmt"
	"maps"
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/sets/policy/resource"
)

// Fit returns a desired object as the rules let it replace a live one in a merge of three sides:
// with the values of the live object where a rule leaves them to others. Applied is what was
// applied last; nil if that is not known. The arguments do not change. Without rules for its kind
// the result is the desired object itself.
//
// Rebase rules are evaluated as in Rebase, on the manifest, except that items of lists are paired
// by their names, if all have one. A path that comparisons with live objects exclude keeps its live
// value, if there is one. A path that comparisons with what was applied last exclude keeps it while
// the manifest says what it said then. No rule reaches the annotations that record what was
// applied.
func (c *Config) Fit(desired, live, applied *unstructured.Unstructured) (
	*unstructured.Unstructured, error) {
	if !c.mayFit(text(desired.Object, "kind")) {
		return desired, nil
	}
	described, books := withoutBooks(desired)
	live, _ = withoutBooks(live)
	result, err := c.rebase(live, described, true)
	if err != nil {
		return nil, err
	}
	leave := func(p path) error {
		p.named = true
		if err := copyPath(p, result.Object, []map[string]any{live.Object,
			described.Object}); err != nil {
			return fmt.Errorf("leave %s to others: %w", p, err)
		}
		return nil
	}
	for _, p := range c.notCompared.matching(result.Object) {
		if err := leave(p); err != nil {
			return nil, err
		}
	}
	for _, p := range c.notApplied.matching(result.Object) {
		same, err := sameAt(p, described, applied)
		if err == nil && same {
			err = leave(p)
		}
		if err != nil {
			return nil, err
		}
	}
	return withBooks(result, books), nil
}

// mayFit reports whether Fit has rules that may match objects of a kind.
func (c *Config) mayFit(kind string) bool {
	return len(c.rebases.candidates(kind))+len(c.notCompared.candidates(kind))+
		len(c.notApplied.candidates(kind)) > 0
}

// sameAt reports whether a manifest says at a path what it said when it was applied.
func sameAt(p path, described, applied *unstructured.Unstructured) (bool, error) {
	if applied == nil {
		return false, nil
	}
	again := applied.DeepCopy()
	p.named = true
	err := remove(p, again.Object) // the manifest may not say it any more
	if err == nil {
		err = copyPath(p, again.Object, []map[string]any{described.Object})
	}
	if err != nil {
		return false, fmt.Errorf("compare %s with what was applied: %w", p, err)
	}
	return reflect.DeepEqual(again.Object, applied.Object), nil
}

// withoutBooks returns an object without the annotations that record what was applied, and these.
func withoutBooks(obj *unstructured.Unstructured) (
	rest *unstructured.Unstructured, books map[string]any) {
	books = map[string]any{}
	rest = object.WithMetadata(obj, func(metadata map[string]any) {
		annotations, _ := metadata["annotations"].(map[string]any)
		for _, key := range resource.Bookkeeping {
			if value, ok := annotations[key]; ok {
				books[key] = value
				delete(annotations, key)
			}
		}
		if len(books) > 0 && len(annotations) == 0 {
			delete(metadata, "annotations")
		}
	})
	return rest, books
}

// withBooks returns an object with annotations that record what was applied.
func withBooks(obj *unstructured.Unstructured, books map[string]any) *unstructured.Unstructured {
	if len(books) == 0 {
		return obj
	}
	return object.WithMetadata(obj, func(metadata map[string]any) {
		annotations, ok := metadata["annotations"].(map[string]any)
		if !ok {
			annotations = map[string]any{}
			metadata["annotations"] = annotations
		}
		maps.Copy(annotations, books)
	})
}
