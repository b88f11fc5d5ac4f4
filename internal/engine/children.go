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

// maxPerObjectWatches is the number of objects of a kind and namespace whose children are watched
// one by one. Above it, one watch selects by the labels that they have in common.
const maxPerObjectWatches = 4

// childTracker watches child objects for the rules that see them. It belongs to one goroutine,
// which receives events and passes them to take.
type childTracker struct {
	cluster Cluster
	places  map[place]*childSet
	of      map[int][]childInterest // by step
	news    chan childEvent
}

// childInterest is the interest of a step in child objects of a kind and namespace.
type childInterest struct {
	childSet *childSet
	index    *childIndex
	value    string
	survey   *childWatch
}

// childEvent reports a child object, its deletion, or the end of the list of a watch.
type childEvent struct {
	childSet *childSet
	survey   *childWatch
	seen     cluster.ObjectEvent
}

func newChildTracker(c Cluster) *childTracker {
	return &childTracker{
		cluster: c,
		places:  map[place]*childSet{},
		of:      map[int][]childInterest{},
		news:    make(chan childEvent),
	}
}

// want watches the child objects of a step until the context ends: objects of the kinds in the
// namespace that have the labels. The watch selects by the labels in some.
func (c *childTracker) want(
	ctx context.Context,
	step int,
	namespace string,
	kinds []schema.GroupKind,
	with, some labels.Set,
) {
	for _, kind := range kinds {
		p := place{kind, namespace}
		in := c.places[p]
		if in == nil {
			in = &childSet{
				objects: map[object.Ref]*unstructured.Unstructured{},
				indexes: map[string]*childIndex{},
			}
			c.places[p] = in
		}
		index := in.index(with)
		value, _ := index.value(with)
		index.steps[value] = append(index.steps[value], step)
		survey, isNew := in.survey(some, index.over[value])
		delete(index.over, value)
		c.of[step] = append(c.of[step], childInterest{in, index, value, survey})
		if isNew {
			c.begin(ctx, p, in, survey)
		}
	}
}

// watchChildren starts watches of the child objects that the rules need for a step.
func (r *run) watchChildren(ctx context.Context, i int) {
	ref, query := r.plan.Steps[i].Ref, r.tracks[i].seen.children
	selector := labels.Set(query.labels)
	if g := r.groupOf(ref); len(r.groups[g]) > maxPerObjectWatches {
		selector = common(selector, r.commonLabels(g))
	}
	r.childTracker.want(ctx, i, ref.Namespace, query.kinds, query.labels, selector)
}

// commonLabels returns the labels that the child objects of all steps of a group have.
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
		_, with := r.engine.rules().Children(obj)
		if shared == nil {
			shared = maps.Clone(with)
		}
		shared = common(shared, with)
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

func (c *childTracker) begin(ctx context.Context, p place, in *childSet, survey *childWatch) {
	s := cluster.Query{
		Kind:      p.GroupKind,
		Namespace: p.namespace,
		Labels:    survey.selector.AsSelector().String(),
	}
	c.cluster.WatchQuery(ctx, s, func(seen cluster.ObjectEvent) {
		if seen.Object != nil { // managed fields are large, and no rule reads them
			seen.Object = reheaded(seen.Object, func(map[string]any) {})
		}
		select {
		case c.news <- childEvent{in, survey, seen}:
		case <-ctx.Done():
		}
	})
}

// take records one event and returns the steps whose status may change: none before the initial
// list of the watch is complete.
func (c *childTracker) take(n childEvent) []int {
	if n.seen.Listed {
		n.survey.listed = true
		return n.childSet.all()
	}
	steps := n.childSet.put(n.seen.Ref, n.seen.Object)
	if !n.survey.listed {
		return nil
	}
	return steps
}

// leave drops the child objects that only a settled step needed.
func (c *childTracker) leave(step int) {
	for _, w := range c.of[step] {
		steps := slices.DeleteFunc(w.index.steps[w.value], func(other int) bool { return other == step })
		if w.index.steps[w.value] = steps; len(steps) > 0 {
			continue
		}
		w.index.over[w.value] = true
		for _, ref := range slices.Collect(maps.Keys(w.index.objects[w.value])) {
			w.childSet.put(ref, w.childSet.objects[ref])
		}
	}
	delete(c.of, step)
}

// made returns the child objects of a step, sorted by kind and name. It omits kinds whose initial
// list is not complete.
func (c *childTracker) made(step int) []*unstructured.Unstructured {
	var found []*unstructured.Unstructured
	for _, w := range c.of[step] {
		if !w.survey.listed {
			continue
		}
		start := len(found)
		found = slices.AppendSeq(found, maps.Values(w.index.objects[w.value]))
		slices.SortFunc(found[start:], func(a, b *unstructured.Unstructured) int {
			return cmp.Or(
				strings.Compare(a.GetName(), b.GetName()),
				strings.Compare(a.GetNamespace(), b.GetNamespace()),
			)
		})
	}
	return found
}
