package drift

import (
	"bytes"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// owned is a place in a live object with the entries of managedFields that own it.
type owned struct {
	owners []int // indexes of entries
	leaves []int // of these, those that own the value as a whole
	fields map[string]*owned
	items  []*ownedItem

	byText map[string]*ownedItem // the items by their elements
	groups []ownedGroup          // the items by the names of their keys, once they are needed
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
		root.add(set, at)
	}
	return root, managers, nil
}

// add adds an entry as the owner of the places of a set.
func (o *owned) add(set *fieldpath.Set, entry int) {
	for element := range set.Members.All() {
		place := o.at(element)
		place.owners = append(place.owners, entry)
		if _, isInner := set.Children.Get(element); !isInner {
			place.leaves = append(place.leaves, entry)
		}
	}
	for element := range set.Children.All() {
		inner, _ := set.Children.Get(element)
		o.at(element).add(inner, entry)
	}
}

// at returns the place of a field or an item, creating it if necessary.
func (o *owned) at(element fieldpath.PathElement) *owned {
	if element.FieldName == nil {
		return o.item(element)
	}
	if o.fields == nil {
		o.fields = map[string]*owned{}
	}
	name := *element.FieldName
	if o.fields[name] == nil {
		o.fields[name] = &owned{}
	}
	return o.fields[name]
}

func (o *owned) item(element fieldpath.PathElement) *owned {
	text, err := fieldpath.SerializePathElement(element)
	if err != nil {
		text = element.String()
	}
	if o.byText == nil {
		o.byText = map[string]*ownedItem{}
	}
	if o.byText[text] == nil {
		o.byText[text] = &ownedItem{element: element}
		o.items = append(o.items, o.byText[text])
	}
	return &o.byText[text].owned
}

// field returns the place of a field; nil if nobody owns it or a part of it.
func (o *owned) field(name string) *owned {
	if o == nil {
		return nil
	}
	return o.fields[name]
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
