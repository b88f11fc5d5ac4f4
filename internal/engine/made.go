package engine

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/object"
)

// apart is how many surveys of a place are each for the objects of one set of labels. Whoever wants more there shares one, of
// what all sets of labels have in common.
const apart = 4

// crowds gathers whole objects that others made for those of a run, for a dialect that judges by them. It belongs to one
// goroutine, which receives news and hands them to take.
type crowds struct {
	cluster Cluster
	places  map[place]*crowd
	of      map[int][]wish // by step
	news    chan crowdNews
}

// wish is what a step wants to see of a place.
type wish struct {
	index  *crowdIndex
	value  string
	survey *crowdSurvey
}

// crowdSurvey is one survey of a place: of what has these labels.
type crowdSurvey struct {
	selector labels.Set
	listed   bool // it has reported all that it met at its beginning
}

// crowd is what surveys met in one place.
type crowd struct {
	surveys []*crowdSurvey
	common  labels.Set // what all that was ever wanted has in common
	objects map[object.Ref]*unstructured.Unstructured
	indexes map[string]*crowdIndex // by the keys of labels
}

// crowdIndex finds the objects of a crowd, and who wants them, by the values of some labels.
type crowdIndex struct {
	keys    []string
	objects map[string]map[object.Ref]*unstructured.Unstructured
	steps   map[string][]int
}

// crowdNews is one report of a survey: an object, one that is gone, or the end of what the survey met at its beginning.
type crowdNews struct {
	crowd  *crowd
	survey *crowdSurvey
	seen   cluster.Sighting
}

func newCrowds(c Cluster) *crowds {
	return &crowds{cluster: c, places: map[place]*crowd{}, of: map[int][]wish{}, news: make(chan crowdNews)}
}

// want has objects of kinds with labels in a namespace be surveyed for a step until the context ends.
func (c *crowds) want(ctx context.Context, step int, namespace string, kinds []schema.GroupKind, with map[string]string) {
	for _, kind := range kinds {
		p := place{kind, namespace}
		in := c.places[p]
		if in == nil {
			in = &crowd{common: maps.Clone(with), objects: map[object.Ref]*unstructured.Unstructured{}, indexes: map[string]*crowdIndex{}}
			c.places[p] = in
		}
		index := in.index(with)
		value, _ := index.value(with)
		index.steps[value] = append(index.steps[value], step)
		survey, isNew := in.survey(with)
		c.of[step] = append(c.of[step], wish{index, value, survey})
		if isNew {
			c.begin(ctx, p, in, survey)
		}
	}
}

func (c *crowds) begin(ctx context.Context, p place, in *crowd, survey *crowdSurvey) {
	s := cluster.Survey{Kind: p.GroupKind, Namespace: p.namespace, Labels: survey.selector.AsSelector().String()}
	c.cluster.Survey(ctx, s, func(seen cluster.Sighting) {
		if seen.Object != nil { // what owns its fields is half of many objects, and no part of a judgement
			seen.Object = reheaded(seen.Object, func(map[string]any) {})
		}
		select {
		case c.news <- crowdNews{in, survey, seen}:
		case <-ctx.Done():
		}
	})
}

// take takes in one report and gives the steps that may be judged otherwise now: none before all that there is was reported.
func (c *crowds) take(n crowdNews) []int {
	if n.seen.Listed {
		n.survey.listed = true
		return n.crowd.all()
	}
	steps := n.crowd.put(n.seen.Ref, n.seen.Object)
	if !n.survey.listed {
		return nil
	}
	return steps
}

// made gives the objects that a step wants to see, in the order of kinds and names. Of what is still being listed it gives none:
// a part of them would be taken for all.
func (c *crowds) made(step int) []*unstructured.Unstructured {
	var found []*unstructured.Unstructured
	for _, w := range c.of[step] {
		if !w.survey.listed {
			continue
		}
		start := len(found)
		found = slices.AppendSeq(found, maps.Values(w.index.objects[w.value]))
		slices.SortFunc(found[start:], func(a, b *unstructured.Unstructured) int {
			return cmp.Or(strings.Compare(a.GetName(), b.GetName()), strings.Compare(a.GetNamespace(), b.GetNamespace()))
		})
	}
	return found
}

// survey gives the survey that meets what has some labels: a new one, which is to be begun, if there is none yet.
func (in *crowd) survey(with labels.Set) (survey *crowdSurvey, isNew bool) {
	maps.DeleteFunc(in.common, func(key, value string) bool { return with[key] != value })
	for _, survey := range in.surveys {
		if within(survey.selector, with) {
			return survey, false
		}
	}
	survey = &crowdSurvey{selector: with}
	if len(in.surveys) >= apart {
		survey.selector = maps.Clone(in.common)
	}
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
func (in *crowd) index(with map[string]string) *crowdIndex {
	keys := slices.Sorted(maps.Keys(with))
	name := strings.Join(keys, ",")
	if in.indexes[name] == nil {
		index := &crowdIndex{keys: keys, objects: map[string]map[object.Ref]*unstructured.Unstructured{}, steps: map[string][]int{}}
		in.indexes[name] = index
		for ref, obj := range in.objects {
			index.add(ref, obj)
		}
	}
	return in.indexes[name]
}

// put takes in how an object is now, nil if it is gone, and gives the steps that want to see it, or did before.
func (in *crowd) put(ref object.Ref, obj *unstructured.Unstructured) []int {
	var steps []int
	if before := in.objects[ref]; before != nil {
		for _, index := range in.indexes {
			steps = append(steps, index.remove(ref, before)...)
		}
	}
	delete(in.objects, ref)
	if obj != nil {
		in.objects[ref] = obj
		for _, index := range in.indexes {
			steps = append(steps, index.add(ref, obj)...)
		}
	}
	slices.Sort(steps)
	return slices.Compact(steps)
}

// all are the steps that want to see anything of the crowd.
func (in *crowd) all() []int {
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
func (x *crowdIndex) value(has map[string]string) (string, bool) {
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

func (x *crowdIndex) add(ref object.Ref, obj *unstructured.Unstructured) []int {
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

func (x *crowdIndex) remove(ref object.Ref, obj *unstructured.Unstructured) []int {
	value, ok := x.value(obj.GetLabels())
	if !ok {
		return nil
	}
	delete(x.objects[value], ref)
	return x.steps[value]
}
