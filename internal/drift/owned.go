package drift

import (
	"bytes"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/muster-deploy/muster/internal/diff/jsonvalue"
)

// owned is a place in a live object with the entries of managedFields that own it.
type owned struct {
	owners []int // indexes of entries
	leaves []int // of these, those that own the value as a whole
	fields map[string]*owned
	items  []*ownedItem
}

// ownedItem is an item of a list that merges item by item.
type ownedItem struct {
	owned
	element fieldpath.PathElement
}

// readOwned returns the owners of all fields of a live object, and the entries of managedFields.
func readOwned(live *unstructured.Unstructured) (*owned, []Manager, error) {
	root := &owned{}
	var managers []Manager
	for _, entry := range live.GetManagedFields() {
		m := Manager{Name: entry.Manager, Operation: string(entry.Operation),
			Subresource: entry.Subresource}
		if entry.Time != nil {
			m.Time = entry.Time.Time
		}
		managers = append(managers, m)
		if entry.FieldsV1 == nil {
			continue
		}
		set := &fieldpath.Set{}
		if err := set.FromJSON(bytes.NewReader(entry.FieldsV1.GetRawBytes())); err != nil {
			return nil, nil, fmt.Errorf("read managed fields of %q: %w", entry.Manager, err)
		}
		at := len(managers) - 1
		set.Iterate(func(path fieldpath.Path) {
			place := root.at(path)
			place.owners = append(place.owners, at)
		})
		set.Leaves().Iterate(func(path fieldpath.Path) {
			place := root.at(path)
			place.leaves = append(place.leaves, at)
		})
	}
	return root, managers, nil
}

// at returns the place of a path, creating it if necessary.
func (o *owned) at(path fieldpath.Path) *owned {
	for _, element := range path {
		if element.FieldName == nil {
			o = o.item(element)
			continue
		}
		if o.fields == nil {
			o.fields = map[string]*owned{}
		}
		name := *element.FieldName
		if o.fields[name] == nil {
			o.fields[name] = &owned{}
		}
		o = o.fields[name]
	}
	return o
}

func (o *owned) item(element fieldpath.PathElement) *owned {
	for _, known := range o.items {
		if known.element.Equals(element) {
			return &known.owned
		}
	}
	added := &ownedItem{element: element}
	o.items = append(o.items, added)
	return &added.owned
}

// field returns the place of a field; nil if nobody owns it or a part of it.
func (o *owned) field(name string) *owned {
	if o == nil {
		return nil
	}
	return o.fields[name]
}

// itemOf returns the place of a live item of a list; nil if nobody owns it.
func (o *owned) itemOf(live any) *owned {
	if o == nil {
		return nil
	}
	for _, known := range o.items {
		switch {
		case known.element.Key != nil && hasKeys(live, known.element):
			return &known.owned
		case known.element.Value != nil &&
			jsonvalue.Equal((*known.element.Value).Unstructured(), live):
			return &known.owned
		}
	}
	return nil
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

// all returns the owners of the value and of all its parts, ascending.
func (o *owned) all() []int {
	if o == nil {
		return nil
	}
	owners := slices.Clone(o.owners)
	for _, inner := range o.fields {
		owners = append(owners, inner.all()...)
	}
	for _, item := range o.items {
		owners = append(owners, item.all()...)
	}
	slices.Sort(owners)
	return slices.Compact(owners)
}

// listType is how the server merges a list.
type listType struct {
	keys   []string // of the items of an associative list
	values bool     // the list is a set
}

// listType returns how the server merges the list at the place. Neither keys nor values: the server
// replaces it as a whole.
func (o *owned) listType() listType {
	if o == nil || len(o.items) == 0 {
		return listType{}
	}
	element := o.items[0].element
	var t listType
	switch {
	case element.Key != nil:
		for _, key := range *element.Key {
			t.keys = append(t.keys, key.Name)
		}
	case element.Value != nil:
		t.values = true
	}
	return t
}
