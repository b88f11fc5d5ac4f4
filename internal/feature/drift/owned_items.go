package drift

import (
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/muster-deploy/muster/internal/base/jsonvalue"
)

// ownedGroup is the items of a list that have keys of the same names, or none: these are found by
// value. It holds them by the hash of the keys or the value.
type ownedGroup struct {
	keys  []string
	items map[uint64][]*ownedItem
}

// maxGroups limits the names of keys that the items of one list have together. A server has one
// for each version of a kind, at most.
const maxGroups = 10

// itemOf returns the place of a live item of a list; nil if nobody owns it.
func (o *owned) itemOf(live any) *owned {
	if o == nil {
		return nil
	}
	if o.groups == nil {
		o.group()
	}
	for _, group := range o.groups {
		for _, known := range group.items[hashOf(live, group.keys)] {
			if known.is(live) {
				return &known.owned
			}
		}
	}
	return nil
}

// group sets the groups of the items.
func (o *owned) group() {
	o.groups = []ownedGroup{}
	for _, item := range o.items {
		var keys []string
		var value any
		switch element := item.element; {
		case element.Key != nil:
			fields := map[string]any{}
			for _, key := range *element.Key {
				keys, fields[key.Name] = append(keys, key.Name), key.Value.Unstructured()
			}
			value = fields
		case element.Value != nil:
			value = (*element.Value).Unstructured()
		default:
			continue // an index, which no server uses
		}
		at := slices.IndexFunc(o.groups, func(g ownedGroup) bool { return slices.Equal(g.keys, keys) })
		if at < 0 && len(o.groups) == maxGroups {
			continue
		}
		if at < 0 {
			at = len(o.groups)
			o.groups = append(o.groups, ownedGroup{keys, map[uint64][]*ownedItem{}})
		}
		hash := hashOf(value, keys)
		o.groups[at].items[hash] = append(o.groups[at].items[hash], item)
	}
}

// hashOf returns the hash of the keys of an item, or of the item itself if there are none. A
// missing key is the same as an empty text.
func hashOf(item any, keys []string) uint64 {
	if len(keys) == 0 {
		return jsonvalue.Hash(item)
	}
	fields, _ := item.(map[string]any)
	values := make([]any, len(keys))
	for i, key := range keys {
		if values[i] = fields[key]; values[i] == nil {
			values[i] = ""
		}
	}
	return jsonvalue.Hash(values)
}

// is reports whether the item is a live one.
func (i *ownedItem) is(live any) bool {
	if i.element.Key != nil {
		return hasKeys(live, i.element)
	}
	return jsonvalue.Equal((*i.element.Value).Unstructured(), live)
}

func hasKeys(item any, element fieldpath.PathElement) bool {
	fields, ok := item.(map[string]any)
	if !ok {
		return false
	}
	for _, key := range *element.Key {
		if !hasKey(fields, key.Name, key.Value.Unstructured()) {
			return false
		}
	}
	return true
}

// hasKey reports whether an item has a key. The server takes a missing one for an empty text.
func hasKey(fields map[string]any, name string, value any) bool {
	is, found := fields[name]
	return !found && value == "" || jsonvalue.Equal(is, value)
}
