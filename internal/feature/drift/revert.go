package drift

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/muster-deploy/muster/internal/base/jsonvalue"
)

// Revert returns a copy of a live object in which some differences have their desired values, and
// nothing else changes, but that a struct goes with the last of its fields if the set does not
// desire it: the server may refuse an empty one, or fill it again. Revert returns an error for an
// object that changed since it was compared.
func Revert(live *unstructured.Unstructured, fields []Field) (*unstructured.Unstructured, error) {
	fixed := live.DeepCopy()
	for _, f := range inOrder(fields) {
		route := liveRoute(fixed.Object, f.route)
		if f.inserts() {
			route[len(route)-1].place = absent // another item may have its keys
		}
		if f.revert == nil && f.unit == nil {
			route = f.withoutContent(fixed.Object, route)
		}
		value, err := set(fixed.Object, route, f.revert)
		if err != nil {
			return nil, fmt.Errorf("field %s: %w", f.Path, err)
		}
		fixed.Object = value.(map[string]any)
	}
	return fixed, nil
}

// inOrder returns differences in the order in which they can be undone, so that the numbers of live
// list items stay right: inner values before outer ones, and of a list first the changes of its
// items, then removals from its end, then insertions from its beginning.
func inOrder(fields []Field) []Field {
	sorted := slices.Clone(fields)
	slices.SortStableFunc(sorted, func(a, b Field) int {
		if d := cmp.Compare(len(b.route), len(a.route)); d != 0 {
			return d
		}
		return slices.Compare(a.rank(), b.rank())
	})
	return sorted
}

// rank orders the differences of a list: changes of items, removals and insertions.
func (f *Field) rank() []int {
	last := f.route[len(f.route)-1]
	switch {
	case f.inserts():
		return []int{2, last.index}
	case last.item && f.unit == nil && f.revert == nil:
		return []int{1, -last.live}
	}
	return []int{0}
}

// inserts reports whether the difference is an item that the live list lacks.
func (f *Field) inserts() bool {
	last := f.route[len(f.route)-1]
	return last.item && last.live == 0 && f.unit == nil && f.revert != nil
}

// withoutContent returns the route to the outermost value that the set does not desire and that has
// no content but that of a route.
func (f *Field) withoutContent(live any, route []step) []step {
	for f.top > 0 && f.top < len(route) {
		last := len(route) - 1
		outer, _ := lookup(live, route[:last])
		fields, isMap := outer.(map[string]any)
		if !isMap {
			break
		}
		fields = maps.Clone(fields)
		delete(fields, route[last].field)
		if !isEmpty(fields) {
			break
		}
		route = route[:last]
	}
	return route
}

// set returns a value with another one at the end of a route; nil removes that.
func set(value any, route []step, to any) (any, error) {
	if len(route) == 0 {
		return runtime.DeepCopyJSONValue(to), nil
	}
	if route[0].item {
		list, ok := value.([]any)
		if !ok && value != nil {
			return nil, fmt.Errorf("%T is no list any more", value)
		}
		return setItem(list, route, to)
	}
	fields, ok := value.(map[string]any)
	if !ok && value != nil {
		return nil, fmt.Errorf("%T is no map any more", value)
	}
	name := route[0].field
	if fields == nil {
		fields = map[string]any{}
	}
	inner, exists := fields[name]
	if !exists && to == nil {
		return fields, nil
	}
	inner, err := set(inner, route[1:], to)
	if err != nil {
		return nil, err
	}
	if fields[name] = inner; inner == nil {
		delete(fields, name)
	}
	return fields, nil
}

func setItem(list []any, route []step, to any) (any, error) {
	at := route[0].in(list)
	last := len(route) == 1
	switch {
	case at < 0 && to == nil:
		return list, nil
	case at < 0 && !last:
		return nil, errors.New("its list item does not exist any more")
	case at < 0:
		return slices.Insert(list, min(route[0].index, len(list)), runtime.DeepCopyJSONValue(to)), nil
	case last && to == nil:
		return append(list[:at:at], list[at+1:]...), nil
	}
	inner, err := set(list[at], route[1:], to)
	if err == nil {
		list[at] = inner
	}
	return list, err
}

// in returns the place of the item of a list that a step leads into, or -1.
func (s step) in(list []any) int {
	if s.place == absent {
		return -1
	}
	if s.place > 0 && s.place <= len(list) {
		return s.place - 1
	}
	return slices.IndexFunc(list, s.selects)
}

func (s step) selects(item any) bool {
	if s.keys == nil {
		return jsonvalue.Equal(s.value, item)
	}
	fields, _ := item.(map[string]any)
	for key, value := range s.keys {
		if !hasKey(fields, key, value) {
			return false
		}
	}
	return fields != nil
}
