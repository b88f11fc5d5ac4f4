package engine

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/muster-deploy/muster/internal/object"
)

// maxPerObjectWatches is the number of objects of a kind and namespace whose children are watched
// one by one. Above it, one watch selects by the labels that they have in common.
const maxPerObjectWatches = 4

// relatedPlace is the watches of a place, and the child objects there that rules may need, with an
// index by labels.
type relatedPlace struct {
	place
	watches  []*relatedWatch
	objects  map[object.Ref]*unstructured.Unstructured
	keys     [][]string // sorted label keys by which steps select child objects
	siblings map[string]*siblings
}

// siblings are the child objects of a place that have the same values of some labels.
type siblings struct {
	watch   *relatedWatch // reports all of them; nil if no step has needed them
	objects map[object.Ref]*unstructured.Unstructured
	steps   []int // steps that need them
	unused  bool  // all steps that needed them have settled
}

// at returns the watches of a place.
func (t *relatedTracker) at(at place) *relatedPlace {
	if t.places[at] == nil {
		t.places[at] = &relatedPlace{
			place: at, objects: map[object.Ref]*unstructured.Unstructured{},
			siblings: map[string]*siblings{},
		}
	}
	return t.places[at]
}

// watchOf returns a watch that reports all objects with the labels, and keeps them if keeps is set;
// nil if there is none.
func (p *relatedPlace) watchOf(with labels.Set, keeps bool) *relatedWatch {
	for _, w := range p.watches {
		if (w.keeps || !keeps) && w.selector.Matches(with) {
			return w
		}
	}
	return nil
}

// having returns the siblings that have exactly the values of these labels.
func (p *relatedPlace) having(with labels.Set) *siblings {
	id := with.String()
	if p.siblings[id] == nil {
		p.siblings[id] = &siblings{objects: map[object.Ref]*unstructured.Unstructured{}}
	}
	return p.siblings[id]
}

// siblingsOf returns all siblings to which an object belongs.
func (p *relatedPlace) siblingsOf(obj *unstructured.Unstructured) []*siblings {
	var found []*siblings
	all := obj.GetLabels()
	for _, keys := range p.keys {
		with := labels.Set{}
		for _, key := range keys {
			if value, ok := all[key]; ok {
				with[key] = value
			}
		}
		if len(with) == len(keys) {
			found = append(found, p.having(with))
		}
	}
	return found
}

// set stores the state of an object, nil if it is gone, and returns the steps that need it. It
// drops an object that only settled steps needed.
func (p *relatedPlace) set(ref object.Ref, obj *unstructured.Unstructured) []int {
	var steps []int
	if before := p.objects[ref]; before != nil {
		for _, s := range p.siblingsOf(before) {
			delete(s.objects, ref)
			steps = append(steps, s.steps...)
		}
		delete(p.objects, ref)
	}
	if obj != nil {
		all := p.siblingsOf(obj)
		used := func(s *siblings) bool { return !s.unused }
		if len(all) == 0 || slices.ContainsFunc(all, used) {
			p.objects[ref] = obj
			for _, s := range all {
				s.objects[ref] = obj
				steps = append(steps, s.steps...)
			}
		}
	}
	return steps
}

// watchChildren watches the child objects of a step in a namespace. New watches select by some of
// their labels. They end with the context.
func (t *relatedTracker) watchChildren(
	ctx context.Context, step int, namespace string, query *childQuery, some labels.Set,
) {
	keys := slices.Sorted(maps.Keys(query.labels))
	for _, kind := range query.kinds {
		p := t.at(place{GroupKind: kind, namespace: namespace})
		if !slices.ContainsFunc(p.keys, func(k []string) bool { return slices.Equal(k, keys) }) {
			p.keys = append(p.keys, keys)
			for ref, obj := range p.objects {
				for _, s := range p.siblingsOf(obj) {
					s.objects[ref] = obj
				}
			}
		}
		s := p.having(query.labels)
		if s.watch == nil {
			s.watch = p.watchOf(query.labels, true)
		}
		if s.watch == nil || s.unused { // dropped objects are listed again
			s.watch = &relatedWatch{place: p, selector: some.AsSelector(), keeps: true}
			t.start(ctx, s.watch)
		}
		s.steps, s.unused = append(s.steps, step), false
		t.children[step] = append(t.children[step], s)
	}
}

// dropChildren drops the child objects that only a settled step needed.
func (t *relatedTracker) dropChildren(step int) {
	for _, s := range t.children[step] {
		s.steps = slices.DeleteFunc(s.steps, func(other int) bool { return other == step })
		if len(s.steps) > 0 {
			continue
		}
		s.unused = true
		for ref, obj := range maps.Clone(s.objects) {
			s.watch.place.set(ref, obj)
		}
	}
	delete(t.children, step)
}

// childrenOf returns the child objects of a step, by kind and name: none before the initial lists
// of all their kinds have come, so that nothing is concluded from half of them.
func (t *relatedTracker) childrenOf(step int) []*unstructured.Unstructured {
	var found []*unstructured.Unstructured
	for _, s := range t.children[step] {
		if !s.watch.listed {
			return nil
		}
		found = append(found, slices.SortedFunc(maps.Values(s.objects), byName)...)
	}
	return found
}

func byName(a, b *unstructured.Unstructured) int {
	return cmp.Or(strings.Compare(a.GetName(), b.GetName()),
		strings.Compare(a.GetNamespace(), b.GetNamespace()))
}

// watchChildren starts watches of the child objects that the rules need for a step.
func (r *run) watchChildren(ctx context.Context, i int) {
	ref, query := r.plan.Steps[i].Ref, r.tracks[i].seen.children
	some := labels.Set(query.labels)
	if g := r.groupOf(ref); len(r.groups[g]) > maxPerObjectWatches {
		some = common(some, r.commonLabels(g))
	}
	r.related.watchChildren(ctx, i, ref.Namespace, query, some)
}

// commonLabels returns the labels that the child objects of all steps of a group have. Objects of
// which the rules need no child objects do not count.
func (r *run) commonLabels(g group) labels.Set {
	if shared, ok := r.shared[g]; ok {
		return shared
	}
	var shared labels.Set
	for _, i := range r.groups[g] {
		obj := cmp.Or(r.plan.Steps[i].Want, r.plan.Steps[i].Have)
		if obj == nil {
			continue
		}
		if kinds, with := r.engine.rules().Children(obj); len(kinds) > 0 && shared == nil {
			shared = common(with, with)
		} else if len(kinds) > 0 {
			shared = common(shared, with)
		}
	}
	r.shared[g] = shared
	return shared
}

// common returns the labels that two sets have in common.
func common(a, b labels.Set) labels.Set {
	both := labels.Set{}
	for key, value := range a {
		if other, ok := b[key]; ok && other == value {
			both[key] = value
		}
	}
	return both
}
