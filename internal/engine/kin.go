package engine

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/ready"
)

// narrowest is up to how many objects the server is asked for their relatives alone; beyond that, for all of a kind in the
// namespace.
const narrowest = 40

// kinship gathers what surrounds objects that are not ready, by surveys of the kinds that explain them. It belongs to one
// goroutine, which receives news and hands them to take.
type kinship struct {
	cluster  Cluster
	once     bool // look once instead of watching
	family   *ready.Family
	surveyed map[place]*cover
	listing  int // surveys that have not yet reported all they met
	news     chan kinNews
}

// place is what one survey looks at: a kind in a namespace.
type place struct {
	schema.GroupKind
	namespace string
}

// cover is the part of a place that is surveyed: the objects whose label key has one of the values, or all of them.
type cover struct {
	key    string // empty for all
	values []string
}

// kinNews is one report of a survey: an object, one that is gone, or the end of what the survey met at its beginning.
type kinNews struct {
	relative *ready.Relative
	gone     object.Ref
	listed   bool
}

func newKinship(c Cluster, once bool) *kinship {
	return &kinship{cluster: c, once: once, family: ready.NewFamily(), surveyed: map[place]*cover{}, news: make(chan kinNews)}
}

// around begins the surveys that explain the objects and do not run yet. They end with the context.
func (k *kinship) around(ctx context.Context, roots []*ready.Relative) {
	missing := map[place][]map[string]string{}
	var order []place
	need := func(p place, labels map[string]string) {
		if k.surveyed[p].holds(labels) {
			return
		}
		if missing[p] == nil {
			order = append(order, p)
		}
		missing[p] = append(missing[p], labels)
	}
	for _, root := range roots {
		for _, kin := range root.Kin() {
			need(place{kin.GroupKind, root.Ref.Namespace}, kin.Labels)
		}
		need(place{eventKind, eventNamespace(root.Ref)}, nil)
	}
	for _, p := range order {
		c := narrow(missing[p])
		if k.surveyed[p] != nil {
			c = &cover{} // what it has is too narrow: no third survey will be needed
		}
		k.survey(ctx, p, c)
	}
}

var eventKind = schema.GroupKind{Kind: "Event"}

// eventNamespace is where events about an object are.
func eventNamespace(ref object.Ref) string {
	if ref.Namespace == "" {
		return "default"
	}
	return ref.Namespace
}

func (k *kinship) survey(ctx context.Context, p place, c *cover) {
	k.surveyed[p] = c
	k.listing++
	s := cluster.Survey{Kind: p.GroupKind, Namespace: p.namespace, Labels: c.selector(), Once: k.once}
	if p.GroupKind == eventKind {
		s.Fields = "type=Warning"
	}
	k.cluster.Survey(ctx, s, func(s cluster.Sighting) {
		news := kinNews{gone: s.Ref, listed: s.Listed}
		if s.Object != nil {
			news.relative = ready.Relate(s.Object)
		}
		select {
		case k.news <- news:
		case <-ctx.Done():
		}
	})
}

// take takes in one report.
func (k *kinship) take(n kinNews) {
	switch {
	case n.listed:
		k.listing--
	case n.relative != nil:
		k.family.See(n.relative)
	default:
		k.family.Forget(n.gone)
	}
}

// settle takes in reports until all surveys have reported what they met, and then until there is no news for the time quiet;
// or until the context ends.
func (k *kinship) settle(ctx context.Context, quiet time.Duration) {
	for k.listing > 0 || quiet > 0 {
		var silence <-chan time.Time
		if k.listing == 0 {
			silence = time.After(quiet)
		}
		select {
		case n := <-k.news:
			k.take(n)
		case <-silence:
			return
		case <-ctx.Done():
			return
		}
	}
}

// narrow finds a cover for objects by a label that all of them have: of several, the one that tells most of them apart.
func narrow(labels []map[string]string) *cover {
	best := &cover{}
	if len(labels) > narrowest || len(labels) == 0 {
		return best
	}
	for _, key := range slices.Sorted(maps.Keys(labels[0])) {
		values := map[string]bool{}
		for _, set := range labels {
			value, ok := set[key]
			if !ok {
				values = nil
				break
			}
			values[value] = true
		}
		if len(values) > len(best.values) {
			best = &cover{key: key, values: slices.Sorted(maps.Keys(values))}
		}
	}
	return best
}

// holds reports whether objects with the labels are covered.
func (c *cover) holds(labels map[string]string) bool {
	return c != nil && (c.key == "" || slices.Contains(c.values, labels[c.key]))
}

func (c *cover) selector() string {
	switch len(c.values) {
	case 0:
		return ""
	case 1:
		return c.key + "=" + c.values[0]
	default:
		return c.key + " in (" + strings.Join(c.values, ",") + ")"
	}
}
