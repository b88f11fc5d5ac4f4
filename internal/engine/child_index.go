package engine

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/muster-deploy/muster/internal/object"
)

// crowdSurvey is one survey of a place: of what has these labels.
type childWatch struct {
	selector labels.Set
	listed   bool // it has reported all that it met at its beginning
}

// crowd is what surveys met in one place.
type childSet struct {
	surveys []*childWatch
	objects map[object.Ref]*unstructured.Unstructured
	indexes map[string]*childIndex // by the keys of labels
}

// crowdIndex finds the objects of a crowd, and who wants them, by the values of some labels.
type childIndex struct {
	keys    []string
	objects map[string]map[object.Ref]*unstructured.Unstructured
	steps   map[string][]int
	over    map[string]bool // values that nobody wants any more
}

// survey gives the survey that meets what has some labels: a new one, which is to be begun, if there is none yet, or if what the
// others have met was forgotten.
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

// index gives the index by the keys of labels, made of what is there if it is new.
func (in *childSet) index(with map[string]string) *childIndex {
	keys := slices.Sorted(maps.Keys(with))
	name := strings.Join(keys, ",")
	if in.indexes[name] == nil {
		index := &childIndex{keys, map[string]map[object.Ref]*unstructured.Unstructured{}, map[string][]int{}, map[string]bool{}}
		in.indexes[name] = index
		for ref, obj := range in.objects {
			index.add(ref, obj)
		}
	}
	return in.indexes[name]
}

// put takes in how an object is now, nil if it is gone, and gives the steps that want to see it, or did before.
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

// over reports whether an object is one that somebody wanted to see, and nobody does any more.
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

// all are the steps that want to see anything of the crowd.
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

// value is the values of the index's labels, if all of them are there.
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
