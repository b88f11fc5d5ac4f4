package adopt

import (
	"bytes"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// extractApplied returns the fields of a live object that one of the managers applied by
// server-side apply; nil if none did.
func extractApplied(obj *unstructured.Unstructured, managers []string) *unstructured.Unstructured {
	for _, entry := range obj.GetManagedFields() {
		if entry.Operation != metav1.ManagedFieldsOperationApply || entry.Subresource != "" ||
			entry.FieldsV1 == nil || !slices.Contains(managers, entry.Manager) {
			continue
		}
		set := &fieldpath.Set{}
		if set.FromJSON(bytes.NewReader(entry.FieldsV1.GetRawBytes())) != nil {
			continue
		}
		tree := &ownedFields{}
		set.Leaves().Iterate(tree.add)
		if data := tree.fields["stringData"]; data != nil && obj.GetKind() == secretKind.Kind {
			for key := range data.fields { // the server has moved them
				tree.add(fieldpath.MakePathOrDie("data", key))
			}
		}
		fields, ok := tree.extract(obj.Object).(map[string]any)
		if !ok || len(fields) == 0 {
			continue
		}
		out := &unstructured.Unstructured{Object: fields}
		out.SetAPIVersion(obj.GetAPIVersion())
		out.SetKind(obj.GetKind())
		out.SetName(obj.GetName())
		out.SetNamespace(obj.GetNamespace())
		return out
	}
	return nil
}

// ownedFields is a set of fields as a tree. One without fields and items is a value as a whole.
type ownedFields struct {
	fields map[string]*ownedFields
	items  []*ownedListItem
}

// ownedListItem is an item of a list that merges item by item.
type ownedListItem struct {
	ownedFields
	element fieldpath.PathElement
}

// add adds a path to the set.
func (o *ownedFields) add(path fieldpath.Path) {
	for _, element := range path {
		if element.FieldName == nil {
			o = o.item(element)
			continue
		}
		if o.fields == nil {
			o.fields = map[string]*ownedFields{}
		}
		if o.fields[*element.FieldName] == nil {
			o.fields[*element.FieldName] = &ownedFields{}
		}
		o = o.fields[*element.FieldName]
	}
}

// item returns the fields of a list item, adding it if necessary.
func (o *ownedFields) item(element fieldpath.PathElement) *ownedFields {
	for _, item := range o.items {
		if item.element.Equals(element) {
			return &item.ownedFields
		}
	}
	o.items = append(o.items, &ownedListItem{element: element})
	return &o.items[len(o.items)-1].ownedFields
}

// extract returns a copy of the part of a value that is in the set.
func (o *ownedFields) extract(from any) any {
	if len(o.fields) == 0 && len(o.items) == 0 {
		return runtime.DeepCopyJSONValue(from)
	}
	switch from := from.(type) {
	case map[string]any:
		out := map[string]any{}
		for name, below := range o.fields {
			if inner, ok := from[name]; ok {
				out[name] = below.extract(inner)
			}
		}
		return out
	case []any:
		out := []any{}
		for i, inner := range from {
			for _, item := range o.items {
				if selects(item.element, inner, i) {
					out = append(out, item.extract(inner))
					break
				}
			}
		}
		return out
	default:
		return from
	}
}

// selects reports whether a path element names an item of a list.
func selects(element fieldpath.PathElement, item any, index int) bool {
	switch {
	case element.Key != nil:
		fields, ok := item.(map[string]any)
		if !ok {
			return false
		}
		for _, key := range *element.Key {
			have, has := fields[key.Name]
			if !has || !value.Equals(value.NewValueInterface(have), key.Value) {
				return false
			}
		}
		return true
	case element.Value != nil:
		return value.Equals(value.NewValueInterface(item), *element.Value)
	case element.Index != nil:
		return *element.Index == index
	default:
		return false
	}
}
