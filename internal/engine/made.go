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

// apart is for how many objects of a kind and namespace there are surveys of what was made for each of them. More of them share
// one, of what the labels have in common.
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
	crowd  *crowd
	index  *crowdIndex
	value  string
	survey *crowdSurvey
}

// crowdNews is one report of a survey: an object, one that is gone, or the end of what the survey met at its beginning.
type crowdNews struct {
	crowd  *crowd
	survey *crowdSurvey
	seen   cluster.ObjectEvent
}

func newCrowds(c Cluster) *crowds {
	return &crowds{cluster: c, places: map[place]*crowd{}, of: map[int][]wish{}, news: make(chan crowdNews)}
}

// want has objects of kinds with labels in a namespace be surveyed for a step until the context ends, by a survey of what has
// some of these labels.
func (c *crowds) want(ctx context.Context, step int, namespace string, kinds []schema.GroupKind, with, some labels.Set) {
	for _, kind := range kinds {
		p := place{kind, namespace}
		in := c.places[p]
		if in == nil {
			in = &crowd{objects: map[object.Ref]*unstructured.Unstructured{}, indexes: map[string]*crowdIndex{}}
			c.places[p] = in
		}
		index := in.index(with)
		value, _ := index.value(with)
		index.steps[value] = append(index.steps[value], step)
		survey, isNew := in.survey(some, index.over[value])
		delete(index.over, value)
		c.of[step] = append(c.of[step], wish{in, index, value, survey})
		if isNew {
			c.begin(ctx, p, in, survey)
		}
	}
}

// lookForMade has what others make for the object of a step be surveyed.
func (r *run) lookForMade(ctx context.Context, i int) {
	obj := r.tracks[i].seen.object
	kinds, with := r.options.Dialect.Children(i, obj)
	some := labels.Set(with)
	if g := r.groupOf(r.plan.Steps[i].Ref); len(r.groups[g]) > apart {
		shared := r.sharedIn(g)
		some = maps.Clone(some)
		maps.DeleteFunc(some, func(key, value string) bool { return shared[key] != value })
	}
	r.crowds.want(ctx, i, obj.GetNamespace(), kinds, with, some)
}

// sharedIn gives the labels that what is made for all objects of a kind and namespace has.
func (r *run) sharedIn(g group) labels.Set {
	if shared, ok := r.shared[g]; ok {
		return shared
	}
	var shared labels.Set
	for _, i := range r.groups[g] {
		obj := cmp.Or(r.plan.Steps[i].Want, r.plan.Steps[i].Have)
		if obj == nil {
			continue
		}
		_, with := r.options.Dialect.Children(i, obj)
		if shared == nil {
			shared = maps.Clone(with)
		}
		maps.DeleteFunc(shared, func(key, value string) bool { return with[key] != value })
	}
	r.shared[g] = shared
	return shared
}

func (c *crowds) begin(ctx context.Context, p place, in *crowd, survey *crowdSurvey) {
	s := cluster.Query{Kind: p.GroupKind, Namespace: p.namespace, Labels: survey.selector.AsSelector().String()}
	c.cluster.WatchQuery(ctx, s, func(seen cluster.ObjectEvent) {
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

// leave forgets what only a step that is over wanted to see.
func (c *crowds) leave(step int) {
	for _, w := range c.of[step] {
		steps := slices.DeleteFunc(w.index.steps[w.value], func(other int) bool { return other == step })
		if w.index.steps[w.value] = steps; len(steps) > 0 {
			continue
		}
		w.index.over[w.value] = true
		for _, ref := range slices.Collect(maps.Keys(w.index.objects[w.value])) {
			w.crowd.put(ref, w.crowd.objects[ref])
		}
	}
	delete(c.of, step)
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
