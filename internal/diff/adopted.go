package diff

import (
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/muster-deploy/muster/internal/builtin"
)

// AfterAdoption returns the object after a server-side apply before which the applier takes over
// fields that were updated, of itself and of client-side managers: these go if want lacks them, or
// get their defaults. Answer is the answer of the server to the apply alone. An annotation of this
// name, unless it is empty, stays as the answer has it.
func AfterAdoption(
	answer, want, live *unstructured.Unstructured, by Applier, annotation string,
) (*unstructured.Unstructured, error) {
	after, err := AfterApply(want, live, by)
	if unmerged := (*MergeError)(nil); errors.As(err, &unmerged) {
		return answer, nil // the server may merge what we cannot
	}
	if err != nil {
		return nil, fmt.Errorf("compute the change: %w", err)
	}
	adopted, others, err := by.adopted(live)
	if err != nil {
		return nil, err
	}
	if annotation != "" {
		others.Insert(fieldpath.MakePathOrDie("metadata", "annotations", annotation))
	}
	inAfter, inWant, released := &lookups{}, &lookups{}, fieldpath.NewSet()
	adopted.Difference(withParents(others)).Iterate(func(path fieldpath.Path) {
		_, stays := inAfter.valueAt(after.Object, path)
		if _, sends := inWant.valueAt(want.Object, path); !stays && !sends {
			released.Insert(path.Copy())
		}
	})
	left := WithoutFields(answer, released)
	if stored, ok := builtin.Stored(left.Object); ok {
		inStored := &lookups{}
		released.Iterate(func(path fieldpath.Path) {
			if value, has := inStored.valueAt(stored, path); has {
				setAt(left.Object, path, value)
			}
		})
	}
	return left, nil
}

// adopted returns the fields of a live object that were updated and become the applier's, and those
// of all others.
func (a Applier) adopted(live *unstructured.Unstructured) (updated, others *FieldSet, err error) {
	updated, others = fieldpath.NewSet(), fieldpath.NewSet()
	owns := a.owns(live)
	for _, entry := range live.GetManagedFields() {
		if entry.FieldsV1 == nil {
			continue
		}
		set, err := managedSet(entry)
		if err != nil {
			return nil, nil, err
		}
		switch own := owns(map[string]any{
			"manager": entry.Manager, "operation": string(entry.Operation),
			"subresource": entry.Subresource,
		}); {
		case !own:
			others = others.Union(set)
		case entry.Operation == metav1.ManagedFieldsOperationUpdate:
			updated = updated.Union(set)
		}
	}
	return updated, others, nil
}

// withParents returns a set of fields with all values that hold them.
func withParents(set *FieldSet) *FieldSet {
	all := fieldpath.NewSet()
	set.Iterate(func(path fieldpath.Path) {
		for i := range path {
			all.Insert(path[:i+1].Copy())
		}
	})
	return all
}

// setAt sets the value at a path of a value. It does nothing where a list lacks the item, or where
// another value is on the way.
func setAt(value any, path fieldpath.Path, to any) {
	switch value := value.(type) {
	case map[string]any:
		if path[0].FieldName == nil {
			return
		}
		name := *path[0].FieldName
		if len(path) == 1 {
			value[name] = to
			return
		}
		if _, has := value[name]; !has && path[1].FieldName != nil {
			value[name] = map[string]any{}
		}
		setAt(value[name], path[1:], to)
	case []any:
		if at := indexOf(value, path[0]); at >= 0 && len(path) > 1 {
			setAt(value[at], path[1:], to)
		}
	}
}
