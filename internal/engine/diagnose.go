package engine

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/ready"
)

// narrowest is up to how many objects the server is asked for their relatives alone; beyond that, for all of a kind in the
// namespace.
const maxPerObject = 40

// kinship gathers what surrounds objects that are not ready, by surveys of the kinds that explain them and from logs. It
// belongs to one goroutine, which receives news and hands them to take, and receives quotes.
type diagnoser struct {
	cluster  Cluster
	once     bool // look once instead of watching
	family   *ready.RelatedObjects
	surveyed map[place]*labelCover
	listing  int // surveys that have not yet reported all they met
	news     chan relatedEvent

	lines     int // how much is quoted of a log; 0 is nothing
	quoted    int // objects for which logs were read
	logQuotes chan logQuote
}

// quote is the causes of an object with the logs that belong to them.
type logQuote struct {
	of     int
	causes []ready.Cause
}

// place is what one survey looks at: a kind in a namespace.
type place struct {
	schema.GroupKind
	namespace string
}

// cover is the part of a place that is surveyed: the objects whose label key has one of the values, or all of them.
type labelCover struct {
	key    string // empty for all
	values []string
}

// kinNews is one report of a survey: an object, one that is gone, or the end of what the survey met at its beginning.
type relatedEvent struct {
	relative *ready.Evidence
	gone     object.Ref
	listed   bool
}

func newDiagnoser(c Cluster, once bool, lines int) *diagnoser {
	return &diagnoser{
		cluster: c, once: once, lines: lines, family: ready.NewRelatedObjects(), surveyed: map[place]*labelCover{},
		news: make(chan relatedEvent), logQuotes: make(chan logQuote),
	}
}

// around begins the surveys that explain the objects and do not run yet. They end with the context.
func (k *diagnoser) around(ctx context.Context, roots []*ready.Evidence) {
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
		for _, kin := range root.RelatedKinds() {
			need(place{kin.GroupKind, root.Ref.Namespace}, kin.Labels)
		}
		need(place{eventKind, eventNamespace(root.Ref)}, nil)
	}
	for _, p := range order {
		c := coverOf(missing[p])
		if k.surveyed[p] != nil {
			c = &labelCover{} // what it has is too narrow: no third survey will be needed
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

func (k *diagnoser) survey(ctx context.Context, p place, c *labelCover) {
	k.surveyed[p] = c
	k.listing++
	s := cluster.Query{Kind: p.GroupKind, Namespace: p.namespace, Labels: c.selector(), Once: k.once}
	if p.GroupKind == eventKind {
		s.Fields = "type=Warning"
	}
	k.cluster.WatchQuery(ctx, s, func(s cluster.ObjectEvent) {
		news := relatedEvent{gone: s.Ref, listed: s.Listed}
		if s.Object != nil {
			news.relative = ready.EvidenceOf(s.Object, ready.Of(s.Object))
		}
		select {
		case k.news <- news:
		case <-ctx.Done():
		}
	})
}

// take takes in one report.
func (k *diagnoser) take(n relatedEvent) {
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
func (k *diagnoser) settle(ctx context.Context, quiet time.Duration) {
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
func coverOf(labels []map[string]string) *labelCover {
	best := &labelCover{}
	if len(labels) > maxPerObject || len(labels) == 0 {
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
			best = &labelCover{key: key, values: slices.Sorted(maps.Keys(values))}
		}
	}
	return best
}

// holds reports whether objects with the labels are covered.
func (c *labelCover) holds(labels map[string]string) bool {
	return c != nil && (c.key == "" || slices.Contains(c.values, labels[c.key]))
}

func (c *labelCover) selector() string {
	switch len(c.values) {
	case 0:
		return ""
	case 1:
		return c.key + "=" + c.values[0]
	default:
		return c.key + " in (" + strings.Join(c.values, ",") + ")"
	}
}

// quote has a worker read the logs that belong to causes and send them with the causes. It reports false, and does nothing,
// if there are none to be read, or were too many.
func (k *diagnoser) readLogsOf(ctx context.Context, of int, causes []ready.Cause) bool {
	if !k.wantsLogs(causes) {
		return false
	}
	// It sends its one quote, or ends with the context.
	go func() {
		k.addLogs(ctx, causes)
		select {
		case k.logQuotes <- logQuote{of, causes}:
		case <-ctx.Done():
		}
	}()
	return true
}

// quoteAll adds logs to the causes of many objects and returns when all are read, or the context ends.
func (k *diagnoser) readLogs(ctx context.Context, all [][]ready.Cause) {
	var logs errgroup.Group
	logs.SetLimit(logsAtOnce)
	for _, causes := range all {
		if k.wantsLogs(causes) {
			logs.Go(func() error { k.addLogs(ctx, causes); return nil })
		}
	}
	_ = logs.Wait() // nothing of it fails
}

// quotable reports whether logs are to be read for causes, and counts them.
func (k *diagnoser) wantsLogs(causes []ready.Cause) bool {
	crashed := func(c ready.Cause) bool { return c.Container != "" }
	if k.lines <= 0 || k.quoted >= logsMost || !slices.ContainsFunc(causes, crashed) {
		return false
	}
	k.quoted++
	return true
}

// addLogs adds to causes the ends of the logs of the containers that ended badly.
func (k *diagnoser) addLogs(ctx context.Context, causes []ready.Cause) {
	for i, c := range causes {
		if c.Container != "" {
			causes[i].Log = k.cluster.Log(ctx, c.Object, c.Container, c.Previous, k.lines)
		}
	}
}
