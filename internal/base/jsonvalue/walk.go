package jsonvalue

import "slices"

// Difference is a place at which two values differ. Old and New may be shared with the compared
// values and must not be modified.
type Difference struct {
	Path         Path // valid during the visit only; Clone it to keep it
	Old, New     any
	InOld, InNew bool // whether there is a value on that side, possibly null
}

// Lists is a way to compare lists.
type Lists int

// The ways to compare lists.
const (
	ByIndex Lists = iota // item by item
	ByName               // by the name or key of the items where all have a distinct one, else ByIndex
	AsValue              // as one value
)

// Options control a walk.
type Options struct {
	Lists        Lists
	NullIsAbsent bool // a null field is the same as no field
	ExpandMaps   bool // a map that only one side has differs in each of its fields
}

// Walk visits the differences between two values, sorted by path: map keys by name, list items by
// index, named items in the order of the old list and then of the new one. A change of the order of
// named items that both lists have is one more difference, of their names. If the paths of all
// differences would be far larger than the values, some maps and lists are visited as one value.
func Walk(old, new any, options Options, visit func(Difference)) {
	w := walker{Options: options, visit: visit, room: maxPaths}
	w.values(old, new)
}

// Differences returns the differences between two values in the order of Walk.
func Differences(old, new any, options Options) []Difference {
	var all []Difference
	Walk(old, new, options, func(d Difference) {
		d.Path = slices.Clone(d.Path)
		all = append(all, d)
	})
	return all
}

type walker struct {
	Options
	visit func(Difference)
	path  Path
	size  int // about the bytes of the path
	room  int // bytes that the paths of parts of values may have
}

// maxPaths limits the bytes that the paths of a walk have together, which are many where values are
// deep or behind long keys. stepSize is about the size of a step without its text.
const maxPaths, stepSize = 64 << 20, 50

// hasRoom reports whether the parts of a value are visited one by one, and counts their paths.
func (w *walker) hasRoom(parts int) bool {
	size := parts * w.size
	if size > w.room {
		return false
	}
	w.room -= size
	return true
}

func (w *walker) values(old, new any) {
	if !Equal(old, new) {
		w.unequal(Difference{Old: old, New: new, InOld: true, InNew: true})
	}
}

// at visits the differences between two unequal values one step deeper.
func (w *walker) at(step Step, d Difference) {
	size := len(step.Key) + len(step.Field) + stepSize
	w.path, w.size = append(w.path, step), w.size+size
	w.unequal(d)
	w.path, w.size = w.path[:len(w.path)-1], w.size-size
}

// unequal visits the differences within d, or d itself if it is the smallest one.
func (w *walker) unequal(d Difference) {
	oldMap, oldIsMap := d.Old.(map[string]any)
	newMap, newIsMap := d.New.(map[string]any)
	oldList, oldIsList := d.Old.([]any)
	newList, newIsList := d.New.([]any)
	switch {
	case oldIsMap && newIsMap && w.hasRoom(max(len(oldMap), len(newMap))):
		w.maps(oldMap, newMap)
	case w.ExpandMaps && (!d.InOld && len(newMap) > 0 || !d.InNew && len(oldMap) > 0) &&
		w.hasRoom(len(oldMap)+len(newMap)):
		w.maps(oldMap, newMap)
	case oldIsList && newIsList && w.Lists != AsValue && w.hasRoom(max(len(oldList), len(newList))):
		w.lists(oldList, newList)
	default:
		d.Path = w.path
		w.visit(d)
	}
}

func (w *walker) maps(old, new map[string]any) {
	var keys []string
	for key, value := range old {
		if other, ok := new[key]; !ok || !Equal(value, other) {
			keys = append(keys, key)
		}
	}
	for key := range new {
		if _, ok := old[key]; !ok {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	for _, key := range keys {
		var d Difference
		d.Old, d.InOld = old[key]
		d.New, d.InNew = new[key]
		if w.NullIsAbsent {
			d.InOld, d.InNew = d.Old != nil, d.New != nil
		}
		if d.InOld || d.InNew {
			w.at(Step{Kind: MapKey, Key: key}, d)
		}
	}
}

func (w *walker) lists(old, new []any) {
	if w.Lists == ByName {
		for _, field := range []string{"name", "key"} {
			oldItems, oldOK := itemsByName(old, field)
			newItems, newOK := itemsByName(new, field)
			if oldOK && newOK {
				w.namedLists(field, oldItems, newItems)
				return
			}
		}
	}
	for i := range max(len(old), len(new)) {
		d := Difference{InOld: i < len(old), InNew: i < len(new)}
		if d.InOld {
			d.Old = old[i]
		}
		if d.InNew {
			d.New = new[i]
		}
		if !d.InOld || !d.InNew || !Equal(d.Old, d.New) {
			w.at(Step{Kind: ListIndex, Index: i}, d)
		}
	}
}

func (w *walker) namedLists(field string, old, new namedItems) {
	for _, name := range old.names {
		d := Difference{Old: old.items[name], InOld: true}
		d.New, d.InNew = new.items[name]
		if !d.InNew || !Equal(d.Old, d.New) {
			w.at(Step{Kind: NamedItem, Field: field, Key: name}, d)
		}
	}
	for _, name := range new.names {
		if _, ok := old.items[name]; !ok {
			d := Difference{New: new.items[name], InNew: true}
			w.at(Step{Kind: NamedItem, Field: field, Key: name}, d)
		}
	}
	before, after := old.namesIn(new), new.namesIn(old)
	if !slices.Equal(before, after) {
		w.path = append(w.path, Step{Kind: ItemOrder, Field: field})
		w.visit(Difference{Path: w.path, Old: before, New: after, InOld: true, InNew: true})
		w.path = w.path[:len(w.path)-1]
	}
}

// namedItems is a list of maps with distinct names.
type namedItems struct {
	names []string
	items map[string]any
}

// itemsByName indexes a list by a field of its items; ok is false unless every item is a map with a
// distinct string in the field.
func itemsByName(list []any, field string) (out namedItems, ok bool) {
	out.items = make(map[string]any, len(list))
	for _, item := range list {
		fields, _ := item.(map[string]any)
		name, ok := fields[field].(string)
		if !ok || out.items[name] != nil {
			return namedItems{}, false
		}
		out.names = append(out.names, name)
		out.items[name] = item
	}
	return out, true
}

// namesIn returns the names that another list has as well, in the order of this one, as a JSON
// list.
func (n namedItems) namesIn(other namedItems) []any {
	var names []any
	for _, name := range n.names {
		if _, ok := other.items[name]; ok {
			names = append(names, name)
		}
	}
	return names
}
