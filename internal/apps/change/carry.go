package change

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/muster-deploy/muster/internal/apps/resource"
)

// passing are the fields of the metadata that change with every write, whoever writes.
var passing = [...]string{"generation", "managedFields", "resourceVersion", "selfLink"}

// carry gives the approved update of an object that somebody else has changed in fields that the change has nothing to do with:
// those that neither the new object describes nor the approved difference removes. What the other made of them stays. Maps
// are taken apart into their keys; a list is one value. Again is the change recalculated; ok is false if the other has
// touched more, if the object was deployed meanwhile, so that others approved something else, or if it is another one by now.
func (c *Change) carry(live *unstructured.Unstructured, again *Change) (carried *Change, ok bool, err error) {
	if c.Existing.GetUID() != live.GetUID() || c.Existing.GetAnnotations()[resource.AnnOriginal] != live.GetAnnotations()[resource.AnnOriginal] {
		return nil, false, nil
	}
	moved, err := c.moves(live)
	if err != nil {
		return nil, false, err
	}
	before, after, err := c.BeforeAfter()
	if err != nil {
		return nil, false, err
	}
	removals := slices.DeleteFunc(fieldEdits(nil, nil, edit{old: before.Object, oldThere: true, new: after.Object, newHas: true}),
		func(e edit) bool { return e.newHas || equal(e.old, map[string]any{}) })
	applied := again.Applied.DeepCopy()
	for _, m := range moved {
		switch where, value := find(again.Applied.Object, written(again.Applied, m.path)); {
		case where == there && m.newHas && equal(value, m.new):
		case where == absent && m.newHas && !slices.ContainsFunc(removals, m.touches):
			m.put(applied.Object, bare(live).Object)
		case where == absent && !m.newHas:
		default:
			return nil, false, nil
		}
	}
	for _, e := range removals {
		e.put(applied.Object, nil)
	}
	again.Applied, again.moved, again.unmoved = applied, moved, c.Existing
	return again, true, nil
}

// written is where an object that is sent has what is read at a path: the server makes data of the stringData of a Secret.
func written(obj *unstructured.Unstructured, path []string) []string {
	if len(path) == 2 && path[0] == "data" && obj.GetKind() == "Secret" && obj.GetAPIVersion() == "v1" {
		if plain := []string{"stringData", path[1]}; isThere(obj.Object, plain) {
			return plain
		}
	}
	return path
}

// moves are the fields in which the live object is not as it was when the change was calculated.
func (c *Change) moves(live *unstructured.Unstructured) ([]edit, error) {
	then, err := c.set.stripped(c.Existing)
	if err != nil {
		return nil, err
	}
	now, err := c.set.stripped(live)
	if err != nil {
		return nil, err
	}
	all := fieldEdits(nil, nil, edit{old: then.Object, oldThere: true, new: now.Object, newHas: true})
	return slices.DeleteFunc(all, func(e edit) bool {
		return len(e.path) > 1 && e.path[0] == "metadata" && slices.Contains(passing[:], e.path[1])
	}), nil
}

// FieldsChangedByOthers names the fields that somebody else has changed since the change was approved, without their values, and which are left as
// they are now; it is empty for most changes.
func (c *Change) FieldsChangedByOthers() []string {
	names := make([]string, len(c.moved))
	for i, m := range c.moved {
		names[i] = m.name()
	}
	return names
}

// WithoutChangesByOthers gives a stored object as it would be if nobody else had changed it since the change was approved: for the history,
// which tells of what we applied and not of what others did. The object itself is not changed.
func (c *Change) WithoutChangesByOthers(stored *unstructured.Unstructured) *unstructured.Unstructured {
	if len(c.moved) == 0 {
		return stored
	}
	stored = stored.DeepCopy()
	for _, m := range c.moved {
		m.old, m.oldThere, m.new, m.newHas = m.new, m.newHas, m.old, m.oldThere
		m.put(stored.Object, c.unmoved.Object)
	}
	return stored
}

// fieldEdits lists the differences of two values by the fields of maps, in the order of their names. A map that is only on one
// side has all its fields there; a list is one value.
func fieldEdits(all []edit, path []string, e edit) []edit {
	old, oldMap := e.old.(map[string]any)
	new, newMap := e.new.(map[string]any)
	if (oldMap || !e.oldThere) && (newMap || !e.newHas) && len(old)+len(new) > 0 {
		keys := slices.AppendSeq(slices.Collect(maps.Keys(old)), maps.Keys(new))
		slices.Sort(keys)
		for _, key := range slices.Compact(keys) {
			var inner edit
			inner.old, inner.oldThere = old[key]
			inner.new, inner.newHas = new[key]
			all = fieldEdits(all, append(path, key), inner)
		}
		return all
	}
	if e.oldThere == e.newHas && equal(e.old, e.new) {
		return all
	}
	e.path = slices.Clone(path)
	return append(all, e)
}

// place says whether there is a value at a path.
type place int

const (
	there   place = iota
	absent        // a map on the way, or the last one, does not have the key
	blocked       // what is on the way is no map
)

// find gives the value at a path of a map.
func find(object map[string]any, path []string) (place, any) {
	var value any = object
	for _, key := range path {
		fields, ok := value.(map[string]any)
		if !ok {
			return blocked, nil
		}
		if value, ok = fields[key]; !ok {
			return absent, nil
		}
	}
	return there, value
}

func isThere(object map[string]any, path []string) bool {
	where, _ := find(object, path)
	return where == there
}

// touches reports whether one of two edits is of the same field as the other, or of one within it.
func (e edit) touches(other edit) bool {
	shorter := min(len(e.path), len(other.path))
	return slices.Equal(e.path[:shorter], other.path[:shorter])
}

// put gives a map the new value of an edit. Where a whole map is missing on the way it is taken over from the object that has
// the value already, since one that is half there would be completed in another way by the server.
func (e edit) put(object, from map[string]any) {
	last := len(e.path) - 1
	for i, key := range e.path[:last] {
		next, ok := object[key].(map[string]any)
		if !ok {
			if _, value := find(from, e.path[:i+1]); value != nil && e.newHas {
				object[key] = runtime.DeepCopyJSONValue(value)
			}
			return
		}
		object = next
	}
	if e.newHas {
		object[e.path[last]] = runtime.DeepCopyJSONValue(e.new)
	} else {
		delete(object, e.path[last])
	}
}

// name is the path as it is shown: .metadata.annotations["example.com/by"].
func (e edit) name() string {
	var b strings.Builder
	for _, key := range e.path {
		if strings.Trim(key, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == "" && key != "" {
			b.WriteString("." + key)
		} else {
			b.WriteString("[" + strconv.Quote(key) + "]")
		}
	}
	return b.String()
}
