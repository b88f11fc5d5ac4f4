package drift

import (
	"slices"
	"strings"
)

// place is a place in the live object. Outer are the owners of the value that it is a part of, if
// the server merges that value as a whole; unit is the place of that value, with its desired value.
// Top is the length of the route to the outermost value that the set does not desire, 0 if there is
// none.
type place struct {
	owned *owned
	path  string
	route []step
	outer []int
	unit  *unit
	top   int
}

// maxPlaces limits the bytes that the places of one comparison take, which are more than those of
// the object where values are deep or behind long keys. stepSize is about the size of a step.
const maxPlaces, stepSize = 64 << 20, 80

// hasRoom reports whether the parts of a value are compared one by one, and counts their places. If
// not, the value differs as a whole.
func (c *comparison) hasRoom(p place, parts int) bool {
	size := parts * (len(p.path) + stepSize*(len(p.route)+1))
	if size > c.room {
		return false
	}
	c.room -= size
	return true
}

// unit is a value that the server merges as a whole.
type unit struct {
	route []step
	want  any
}

// step is one step of a route: a field, or an item of a list by keys or by value.
type step struct {
	field string
	keys  map[string]any
	value any
	item  bool
	index int // of the desired item
	live  int // number of the live item when it was compared, from 1; 0 if there is none
	place int // number of the item in the list at hand, from 1; 0: it is found by keys or value
}

// absent is the place of an item that the list at hand lacks.
const absent = -1

func (p place) field(name string) place {
	path := p.path + "." + name
	if strings.ContainsAny(name, "./[] ") || name == "" {
		path = p.path + "[" + name + "]"
	}
	return p.inner(p.owned.field(name), strings.TrimPrefix(path, "."), step{field: name})
}

func (p place) inner(owned *owned, path string, s step) place {
	in := place{owned: owned, path: path, outer: p.outer, unit: p.unit, top: p.top,
		route: append(slices.Clone(p.route), s)}
	if p.owned != nil && len(p.owned.leaves) > 0 {
		in.outer = p.owned.leaves
	}
	return in
}

// owners returns the owners of the value, or of the value that it is a part of.
func (p place) owners() []int {
	if all := p.owned.all(); len(all) > 0 {
		return all
	}
	return p.outer
}

// isNone reports whether a value is the same as none: null, a list without content, unless the
// server replaces it as a part of another value, and in the metadata of the object, of which
// servers store no map without content, anything without content.
func (p place) isNone(value any) bool {
	list, isList := value.([]any)
	return value == nil || isList && len(list) == 0 && p.unit == nil ||
		len(p.route) > 0 && p.route[0].field == "metadata" && isEmpty(value)
}
