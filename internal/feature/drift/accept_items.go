package drift

import (
	"slices"

	"github.com/muster-deploy/muster/internal/base/jsonvalue"
	"github.com/muster-deploy/muster/internal/builtin"
)

// liveRoute returns a route with the places of list items in the live object: keys may be there
// twice.
func liveRoute(live any, route []step) []step {
	found := slices.Clone(route)
	for i, s := range found {
		all, _ := lookup(live, found[:i])
		list, _ := all.([]any)
		if s.item && s.live > 0 && s.live <= len(list) && s.selects(list[s.live-1]) {
			found[i].place = s.live
		}
	}
	return found
}

// inManifest returns a route with the places of list items in a manifest. An item that the manifest
// does not have comes after the one that it follows in the live list; the error is that the route
// leads into it, or that its keys are there twice.
func inManifest(manifest map[string]any, live any, route []step) (found []step, err error) {
	found = slices.Clone(route)
	onServer := liveRoute(live, route)
	var value, stored any = manifest, nil
	if filled, ok := builtin.Stored(manifest); ok {
		stored = filled
	}
	for i, s := range found {
		if !s.item {
			fields, _ := value.(map[string]any)
			filled, _ := stored.(map[string]any)
			value, stored = fields[s.field], filled[s.field]
			continue
		}
		all, _ := lookup(live, onServer[:i])
		others, _ := all.([]any)
		list, _ := value.([]any)
		filled, _ := stored.([]any)
		switch at := s.matches(list, filled, others); {
		case len(at) > 1:
			return nil, errSameItems
		case len(at) == 0 && i < len(found)-1:
			return nil, errNoItem
		case len(at) == 0:
			found[i].index = placeOf(s, list, others)
		default:
			found[i].place = at[0] + 1
			value, stored = list[at[0]], nil
			if at[0] < len(filled) {
				stored = filled[at[0]]
			}
		}
	}
	return found, nil
}

// matches returns the places of the items of a manifest that a step leads into. Stored is the list
// as the server stores it, with defaults for keys that the items lack. Where these are not known,
// an item without a key matches if it fits a single live item that no other item has the keys of.
func (s step) matches(list, stored, live []any) (at []int) {
	known := len(stored) == len(list)
	if !known {
		stored = list
	}
	for i, item := range stored {
		if s.selects(item) {
			at = append(at, i)
		}
	}
	if len(at) > 0 || known || s.keys == nil {
		return at
	}
	for i, item := range list {
		fits := func(other any) bool { return s.isSame(item, other) && !s.hasKeysOf(list, other) }
		first := slices.IndexFunc(live, fits)
		if s.isSame(item, s.keys) && (first < 0 || !slices.ContainsFunc(live[first+1:], fits)) {
			at = append(at, i)
		}
	}
	return at
}

// hasKeysOf reports whether an item of a list has all keys of a live item.
func (s step) hasKeysOf(list []any, live any) bool {
	others, _ := live.(map[string]any)
	return slices.ContainsFunc(list, func(item any) bool {
		fields, _ := item.(map[string]any)
		for key := range s.keys {
			if !jsonvalue.Equal(fields[key], others[key]) {
				return false
			}
		}
		return fields != nil
	})
}

// placeOf returns where an item of a live list belongs in the list of a manifest that lacks it.
func placeOf(s step, list, live []any) int {
	at := slices.IndexFunc(live, s.selects)
	for _, before := range slices.Backward(live[:max(at, 0)]) {
		found := slices.IndexFunc(list, func(item any) bool { return s.isSame(item, before) })
		if found >= 0 {
			return found + 1
		}
	}
	return 0
}

// isSame reports whether an item of a manifest has the keys of a live item of the list that a step
// leads into, or its value.
func (s step) isSame(item, live any) bool {
	if s.keys == nil {
		return jsonvalue.Equal(item, live)
	}
	fields, _ := item.(map[string]any)
	others, _ := live.(map[string]any)
	for key := range s.keys {
		if value, ok := fields[key]; ok && !jsonvalue.Equal(value, others[key]) {
			return false
		}
	}
	return fields != nil
}
