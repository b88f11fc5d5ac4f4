package diff

import (
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
)

// Keep returns a desired object with the live values of the fields that the rules leave to others,
// and without those that the live one lacks. It is the desired object itself if there are none, or
// if live is nil. The stringData of a Secret becomes data then, as in the cluster.
func (r IgnoreRules) Keep(
	want, live *unstructured.Unstructured,
) (*unstructured.Unstructured, error) {
	return r.keep(want, live, func([]fieldStep) bool { return true })
}

// KeepDescribed returns what Keep does, without adding fields to the described object: the record
// of what was applied. Once a rule is gone, fields that others added are still theirs.
func (r IgnoreRules) KeepDescribed(
	described, live *unstructured.Unstructured,
) (*unstructured.Unstructured, error) {
	fields := WithEncodedData(described)
	return r.keep(described, live, func(path []fieldStep) bool {
		return valueOf(fields.Object, path) != nil
	})
}

func (r IgnoreRules) keep(
	want, live *unstructured.Unstructured, counts func(path []fieldStep) bool,
) (*unstructured.Unstructured, error) {
	left, err := r.left(live)
	left = slices.DeleteFunc(left, func(path []fieldStep) bool { return !counts(path) })
	if err != nil || len(left) == 0 {
		return want, err
	}
	kept := WithEncodedData(want).DeepCopy()
	for _, path := range left {
		edit{to: valueOf(live.Object, path)}.value(kept.Object, live.Object, path)
	}
	return kept, nil
}

// Applier says which fields of a live object belong to whom sends a server-side apply.
type Applier struct {
	Manager string
	Updates bool // the fields that the manager owns by updates, too
	// LastApplied is the annotation of client-side apply, whose managers the applier replaces; empty
	// is none.
	LastApplied string
}

// owns returns a function that reports whether an entry of the managed fields of a live object is
// the applier's.
func (a Applier) owns(live *unstructured.Unstructured) func(entry map[string]any) bool {
	replaced := sets.New[string]()
	if a.LastApplied != "" {
		replaced = ClientSideManagers(live, a.LastApplied)
	}
	return func(entry map[string]any) bool {
		manager, _ := entry["manager"].(string)
		if subresource, _ := entry["subresource"].(string); subresource != "" {
			return false
		}
		if entry["operation"] == string(metav1.ManagedFieldsOperationApply) {
			return manager == a.Manager
		}
		return a.Updates && manager == a.Manager || replaced.Has(manager)
	}
}

// LeaveOut returns the object that a server-side apply sends for a desired one: without the fields
// that the rules leave to others. Those that the applier alone owns are sent with their live
// values, since the server would remove them, and so are parts of values that the server replaces
// as a whole. It is the desired object itself if there are none, or if live is nil.
func (r IgnoreRules) LeaveOut(
	want, live *unstructured.Unstructured, by Applier,
) (*unstructured.Unstructured, error) {
	left, err := r.left(live)
	if err != nil || len(left) == 0 {
		return want, err
	}
	owners, _, err := readFieldSets(live, by.owns(live))
	if err != nil {
		return nil, err
	}
	sent := WithEncodedData(want).DeepCopy()
	for _, path := range left {
		edit{owners.sentAt(live.Object, path), true}.value(sent.Object, live.Object, path)
	}
	return sent, nil
}

// AppliedPart returns the fields of a live object that belong alone to the managers of a set, one
// of which has applied the object or set its mark. It is nil if there is none of them. List items
// that a desired object lacks and of which others own a part are left out: a merge would remove
// these as a whole. So are the annotations that say what was applied.
func AppliedPart(
	live, want *unstructured.Unstructured, by Setter,
) (*unstructured.Unstructured, error) {
	owners, applied, err := readFieldSets(live, by.owns)
	if err != nil || !applied {
		return nil, err
	}
	fields, _ := owners.withoutSharedItems(want.Object).alone(live.Object).(map[string]any)
	if annotations := fieldsOf(fieldsOf(fields, "metadata"), "annotations"); annotations != nil {
		annotations, metadata := maps.Clone(annotations), maps.Clone(fieldsOf(fields, "metadata"))
		maps.DeleteFunc(annotations, func(key string, _ any) bool {
			return slices.Contains(by.Annotations, key)
		})
		fields = maps.Clone(fields)
		fields["metadata"], metadata["annotations"] = metadata, annotations
	}
	return &unstructured.Unstructured{Object: fields}, nil
}

// withoutSharedItems returns the owners with all of the list items that a desired value lacks, and
// of which others own a part, belonging to these alone.
func (s appliedFields) withoutSharedItems(want any) appliedFields {
	if s.mine == nil || s.others == nil {
		return s
	}
	mine := *s.mine
	mine.fields, mine.items = maps.Clone(mine.fields), maps.Clone(mine.items)
	for name, field := range mine.fields {
		inner := appliedFields{field, s.others.field(name)}
		mine.fields[name] = inner.withoutSharedItems(fieldOf(want, name)).mine
	}
	wanted, _ := want.([]any)
	for selector, item := range mine.items {
		others := s.others.item(selector)
		if others == nil {
			continue
		}
		at := slices.IndexFunc(wanted, func(value any) bool {
			return item.by == 'k' && item.matches(value, true)
		})
		if at < 0 {
			delete(mine.items, selector)
			continue
		}
		kept := *item
		kept.fieldSet = *appliedFields{&item.fieldSet, others}.withoutSharedItems(wanted[at]).mine
		mine.items[selector] = &kept
	}
	return appliedFields{&mine, s.others}
}

// sentAt returns the value that an apply sends at a path of a live object; nil for none.
func (s appliedFields) sentAt(live any, path []fieldStep) any {
	for i, step := range path {
		isWhole := s.mine != nil && s.mine.isLeaf() || s.others != nil && s.others.isLeaf()
		if i > 0 && isWhole {
			return valueOf(live, path[i:])
		}
		s, live = s.below(step, live)
	}
	return s.alone(live)
}

// below returns the owners of the value that a step leads to, and the value.
func (s appliedFields) below(step fieldStep, live any) (appliedFields, any) {
	inner, at := step.in(live)
	if key, isKey := at.(string); isKey {
		return appliedFields{s.mine.field(key), s.others.field(key)}, inner
	}
	return appliedFields{s.mine.itemOf(inner), s.others.itemOf(inner)}, inner
}

// itemOf returns the set of the item of a list that is a live value, nil if there is none.
func (s *fieldSet) itemOf(live any) *fieldSet {
	switch {
	case s == nil, live == nil:
		return nil
	case s == anyone:
		return s
	}
	for _, item := range s.items {
		if item.selects(live, -1) {
			return &item.fieldSet
		}
	}
	return nil
}

// alone returns the part of a live value that only the applier owns; nil for none. Items of lists
// have their keys.
func (s appliedFields) alone(live any) any {
	switch {
	case s.mine == nil || s.mine.isLeaf() && s.others != nil:
		return nil
	case s.mine.isLeaf():
		return live
	}
	switch live := live.(type) {
	case map[string]any:
		part := map[string]any{}
		for name, mine := range s.mine.fields {
			inner := appliedFields{mine, s.others.field(name)}
			have, exists := live[name]
			value := inner.alone(have)
			if value != nil || exists && have == nil && mine.isLeaf() && inner.others == nil {
				part[name] = value
			}
		}
		if len(part) > 0 {
			return part
		}
	case []any:
		if part := s.aloneItems(live); len(part) > 0 {
			return part
		}
	}
	return nil
}

// aloneItems returns the items of a list of which only the applier owns a part.
func (s appliedFields) aloneItems(live []any) (part []any) {
	index := newSelectorIndex(s.mine.items)
	for _, item := range live {
		for _, selector := range index.candidates(item, false) {
			mine := s.mine.items[selector]
			if !mine.selects(item, -1) {
				continue
			}
			value := (appliedFields{&mine.fieldSet, s.others.item(selector)}).alone(item)
			if fields, isMap := value.(map[string]any); isMap {
				fields = maps.Clone(fields)
				maps.Copy(fields, mine.keys)
				value = fields
			}
			if value != nil {
				part = append(part, value)
			}
		}
	}
	return part
}

// edit changes the value at a path of an object.
type edit struct {
	to any // nil removes the value
	// sparse removes the maps that are left empty. Otherwise only those are that the live object
	// lacks: for a client-side apply to lack a map is to remove all that is in it.
	sparse bool
}

// value returns a desired value with the change. Items of lists that only one of the desired and
// the live value has are not changed within. The desired value is changed in place.
func (e edit) value(want, live any, path []fieldStep) any {
	switch {
	case len(path) == 0:
		return runtime.DeepCopyJSONValue(e.to)
	case path[0].item != nil:
		return e.item(want, live, path)
	}
	fields, isMap := want.(map[string]any)
	if !isMap && (want != nil || e.to == nil) {
		return want
	}
	key := path[0].key
	from, exists := live.(map[string]any)
	was, had := fields[key]
	switch value := e.value(was, from[key], path[1:]); {
	case value == nil && !had:
	case value == nil:
		delete(fields, key)
		if len(fields) == 0 && (e.sparse || !exists) {
			return nil
		}
	case fields == nil:
		return map[string]any{key: value}
	default:
		fields[key] = value
	}
	return want
}

// item does what value does for a path that begins with an item of a list.
func (e edit) item(want, live any, path []fieldStep) any {
	list, isList := want.([]any)
	if !isList && want != nil {
		return want
	}
	others, _ := live.([]any)
	at, exists := path[0].item(list), path[0].item(others)
	switch {
	case len(path) > 1 && (at < 0 || exists < 0), at < 0 && e.to == nil:
		return want
	case len(path) > 1:
		list[at] = e.value(list[at], others[exists], path[1:])
	case e.to == nil:
		return slices.Delete(list, at, at+1)
	case at < 0:
		return append(list, runtime.DeepCopyJSONValue(e.to))
	default:
		list[at] = runtime.DeepCopyJSONValue(e.to)
	}
	return list
}
