package change

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/muster-deploy/muster/internal/base/jsonvalue"
	"github.com/muster-deploy/muster/internal/sets/policy/resource"
)

// volatileMetadata are the metadata fields that change with every write.
var volatileMetadata = [...]string{"generation", "managedFields", "resourceVersion", "selfLink"}

// rebaseOnto returns the approved update for a live object that others have changed only in fields
// that the update does not concern: fields that are neither in the new object nor removed by the
// approved difference. These keep the values of the others. A list counts as one value. Again is
// the recalculated change. ok is false if others have changed more, if the object was deployed
// meanwhile, so that others approved another change, or if it was recreated.
func (c *Change) rebaseOnto(
	live *unstructured.Unstructured, again *Change,
) (rebased *Change, ok bool, err error) {
	original := c.Existing.GetAnnotations()[resource.AnnOriginal]
	if c.Existing.GetUID() != live.GetUID() ||
		original != live.GetAnnotations()[resource.AnnOriginal] {
		return nil, false, nil
	}
	foreign, err := c.editsByOthers(live)
	if err != nil {
		return nil, false, err
	}
	before, after, err := c.BeforeAfter()
	if err != nil {
		return nil, false, err
	}
	removals := slices.DeleteFunc(fieldEdits(before, after), func(e jsonvalue.Difference) bool {
		return e.InNew || jsonvalue.Equal(e.Old, map[string]any{})
	})
	applied := again.Applied.DeepCopy()
	for _, e := range foreign {
		overlaps := func(other jsonvalue.Difference) bool { return overlap(e.Path, other.Path) }
		switch result, value := find(again.Applied.Object, inputPath(again.Applied, e.Path)); {
		case result == found && e.InNew && jsonvalue.Equal(value, e.New):
		case result == absent && e.InNew && !slices.ContainsFunc(removals, overlaps):
			put(e, applied.Object, withoutRecord(live).Object)
		case result == absent && !e.InNew:
		default:
			return nil, false, nil
		}
	}
	for _, e := range removals {
		put(e, applied.Object, nil)
	}
	again.Applied, again.foreign, again.approved = applied, foreign, c.Existing
	return again, true, nil
}

// inputPath returns the path at which an object that is sent has a field of the stored one: the
// server turns the stringData of a Secret into data.
func inputPath(obj *unstructured.Unstructured, path jsonvalue.Path) jsonvalue.Path {
	if len(path) == 2 && path[0].Key == "data" && obj.GetKind() == "Secret" &&
		obj.GetAPIVersion() == "v1" {
		plain := jsonvalue.Path{{Kind: jsonvalue.MapKey, Key: "stringData"}, path[1]}
		if result, _ := find(obj.Object, plain); result == found {
			return plain
		}
	}
	return path
}

// editsByOthers returns the differences between the live object and the one for which the change
// was calculated.
func (c *Change) editsByOthers(live *unstructured.Unstructured) ([]jsonvalue.Difference, error) {
	then, err := c.calc.stripped(c.Existing)
	if err != nil {
		return nil, err
	}
	now, err := c.calc.stripped(live)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(fieldEdits(then, now), func(e jsonvalue.Difference) bool {
		return len(e.Path) > 1 && e.Path[0].Key == "metadata" &&
			slices.Contains(volatileMetadata[:], e.Path[1].Key)
	}), nil
}

// FieldsChangedByOthers returns the paths of the fields that others have changed since the change
// was approved and that keep their values. It is empty for most changes.
func (c *Change) FieldsChangedByOthers() []string {
	names := make([]string, len(c.foreign))
	for i, e := range c.foreign {
		names[i] = e.Path.String()
	}
	return names
}

// WithoutChangesByOthers returns a stored object as it would be if nobody else had changed it since
// the change was approved: the record is of what was applied. The object itself is not changed.
func (c *Change) WithoutChangesByOthers(
	stored *unstructured.Unstructured,
) *unstructured.Unstructured {
	if len(c.foreign) == 0 {
		return stored
	}
	stored = stored.DeepCopy()
	for _, e := range c.foreign {
		e.Old, e.InOld, e.New, e.InNew = e.New, e.InNew, e.Old, e.InOld
		put(e, stored.Object, c.approved.Object)
	}
	return stored
}

// fieldEdits returns the differences of two objects by the fields of maps. A map that only one has
// differs in all its fields.
func fieldEdits(old, new *unstructured.Unstructured) []jsonvalue.Difference {
	return jsonvalue.Differences(old.Object, new.Object,
		jsonvalue.Options{Lists: jsonvalue.AsValue, ExpandMaps: true})
}

// sameDifference reports whether two pairs of objects differ in the same way.
func sameDifference(before, after, before2, after2 any) bool {
	return slices.EqualFunc(
		jsonvalue.Differences(before, after, jsonvalue.Options{}),
		jsonvalue.Differences(before2, after2, jsonvalue.Options{}),
		func(a, b jsonvalue.Difference) bool {
			return slices.Equal(a.Path, b.Path) && a.InOld == b.InOld && a.InNew == b.InNew &&
				jsonvalue.Equal(a.Old, b.Old) && jsonvalue.Equal(a.New, b.New)
		})
}

// lookup is the result of a search for a path.
type lookup int

const (
	found   lookup = iota
	absent         // a map does not have the key
	blocked        // a value on the way is no map
)

// find returns the value at a path of a map.
func find(object map[string]any, path jsonvalue.Path) (lookup, any) {
	var value any = object
	for _, step := range path {
		fields, ok := value.(map[string]any)
		if !ok {
			return blocked, nil
		}
		if value, ok = fields[step.Key]; !ok {
			return absent, nil
		}
	}
	return found, value
}

// overlap reports whether one path is equal to or within the other.
func overlap(a, b jsonvalue.Path) bool {
	shorter := min(len(a), len(b))
	return slices.Equal(a[:shorter], b[:shorter])
}

// put applies an edit to a map. A map that is missing on the way is copied from source, which has
// the new value: the server would complete a partial one differently.
func put(e jsonvalue.Difference, object, source map[string]any) {
	last := len(e.Path) - 1
	for i, step := range e.Path[:last] {
		next, ok := object[step.Key].(map[string]any)
		if !ok {
			if _, value := find(source, e.Path[:i+1]); value != nil && e.InNew {
				object[step.Key] = runtime.DeepCopyJSONValue(value)
			}
			return
		}
		object = next
	}
	if key := e.Path[last].Key; e.InNew {
		object[key] = runtime.DeepCopyJSONValue(e.New)
	} else {
		delete(object, key)
	}
}
