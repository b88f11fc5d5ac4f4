package engine

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/muster-deploy/muster/internal/object"
)

// childWatch is a watch of the objects of a kind and namespace that match a selector.
type childWatch struct {
	selector labels.Set
	listed   bool // its initial list is complete
}

// childSet is the cache of child objects of a kind and namespace.
type childSet struct {
	surveys []*childWatch
	objects map[object.Ref]*unstructured.Unstructured
	indexes map[string]*childIndex // by label keys
}

// childIndex is an index of child objects, and of the steps that need them, by label values.
type childIndex struct {
	keys    []string
	objects map[string]map[object.Ref]*unstructured.Unstructured
	steps   map[string][]int
	over    map[string]bool // values that no step needs any more
}

// survey returns a watch that covers objects with the labels, and whether the caller has to start
// it. It returns a new one if objects were dropped from the cache.
func (in *childSet) survey(some labels.Set, forgotten bool) (survey *childWatch, isNew bool) {
	for _, survey := range in.surveys {
		if !forgotten && within(survey.selector, some) {
			return survey, false
		}
	}
	survey = &childWatch{selector: some}
	in.surveys = append(in.surveys, survey)
	return survey, true
}

func within(part, all labels.Set) bool {
	for key, value := range part {
		if has, ok := all[key]; !ok || has != value {
			return false
		}
	}
	return true
}

// index returns the index by the keys of labels, built from the known objects if it is new.
func (in *childSet) index(with map[string]string) *childIndex {
	keys := slices.Sorted(maps.Keys(with))
	name := strings.Join(keys, ",")
	if in.indexes[name] == nil {
		index := &childIndex{
			keys,
			map[string]map[object.Ref]*unstructured.Unstructured{},
			map[string][]int{},
			map[string]bool{},
		}
		in.indexes[name] = index
		for ref, obj := range in.objects {
			index.add(ref, obj)
		}
	}
	return in.indexes[name]
}

// put stores the state of an object, nil if it is gone, and returns the steps that need it.
func (in *childSet) put(ref object.Ref, obj *unstructured.Unstructured) []int {
	var steps []int
	if before := in.objects[ref]; before != nil {
		for _, index := range in.indexes {
			steps = append(steps, index.remove(ref, before)...)
		}
	}
	delete(in.objects, ref)
	if obj != nil && !in.over(obj) {
		in.objects[ref] = obj
		for _, index := range in.indexes {
			steps = append(steps, index.add(ref, obj)...)
		}
	}
	slices.Sort(steps)
	return slices.Compact(steps)
}

// over reports whether only settled steps needed an object.
func (in *childSet) over(obj *unstructured.Unstructured) bool {
	met := false
	for _, index := range in.indexes {
		if value, ok := index.value(obj.GetLabels()); ok {
			if !index.over[value] {
				return false
			}
			met = true
		}
	}
	return met
}

// all returns the steps that need any object of the set.
func (in *childSet) all() []int {
	var steps []int
	for _, index := range in.indexes {
		for _, some := range index.steps {
			steps = append(steps, some...)
		}
	}
	slices.Sort(steps)
	return slices.Compact(steps)
}

// value returns the values of the index labels, if the object has all of them.
func (x *childIndex) value(has map[string]string) (string, bool) {
	var b strings.Builder
	for _, key := range x.keys {
		value, ok := has[key]
		if !ok {
			return "", false
		}
		b.WriteString(value + ",") // no comma is part of a value
	}
	return b.String(), true
}

func (x *childIndex) add(ref object.Ref, obj *unstructured.Unstructured) []int {
	value, ok := x.value(obj.GetLabels())
	if !ok {
		return nil
	}
	if x.objects[value] == nil {
		x.objects[value] = map[object.Ref]*unstructured.Unstructured{}
	}
	x.objects[value][ref] = obj
	return x.steps[value]
}

func (x *childIndex) remove(ref object.Ref, obj *unstructured.Unstructured) []int {
	value, ok := x.value(obj.GetLabels())
	if !ok {
		return nil
	}
	delete(x.objects[value], ref)
	if len(x.objects[value]) == 0 {
		delete(x.objects, value)
	}
	return x.steps[value]
}
