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

// maxSelected is the number of objects up to which the related objects of these alone are watched,
// by a label; beyond it, all objects of a kind in the namespace are watched.
const maxSelected = 40

// relatedWatcher watches the objects that explain why others are not ready, and reads logs. It
// belongs to one goroutine, which receives events and passes them to take, and receives quotes.
type relatedWatcher struct {
	cluster Cluster
	once    bool // list, do not watch
	objects *ready.RelatedObjects
	watches map[place]*labelValues
	listing int // watches that have not listed their objects yet
	events  chan relatedEvent

	lines  int // lines quoted from a log; 0 quotes nothing
	quoted int // objects whose logs were read
	quotes chan logQuote
}

// logQuote is the causes of a step with the logs that belong to them.
type logQuote struct {
	step   int
	causes []ready.Cause
}

// place is a kind in a namespace.
type place struct {
	schema.GroupKind
	namespace string
}

// labelValues selects the objects whose label key has one of the values; all if the key is empty.
type labelValues struct {
	key    string
	values []string
}

// relatedEvent reports a related object, its deletion, or the end of the list of a watch.
type relatedEvent struct {
	evidence *ready.Evidence
	deleted  object.Ref
	listed   bool
}

func newRelatedWatcher(c Cluster, lines int) *relatedWatcher {
	return &relatedWatcher{
		cluster: c, lines: lines, objects: ready.NewRelatedObjects(), watches: map[place]*labelValues{},
		events: make(chan relatedEvent), quotes: make(chan logQuote),
	}
}

// watch starts the missing watches for the related objects of roots. They end with the context.
func (w *relatedWatcher) watch(ctx context.Context, roots []*ready.Evidence) {
	missing := map[place][]map[string]string{}
	var order []place
	need := func(p place, labels map[string]string) {
		if w.watches[p].includes(labels) {
			return
		}
		if missing[p] == nil {
			order = append(order, p)
		}
		missing[p] = append(missing[p], labels)
	}
	for _, root := range roots {
		for _, kind := range root.RelatedKinds() {
			need(place{kind.GroupKind, root.Ref.Namespace}, kind.Labels)
		}
		need(place{eventKind, eventNamespace(root.Ref)}, nil)
	}
	for _, p := range order {
		selected := selectLabel(missing[p])
		if w.watches[p] != nil {
			selected = &labelValues{} // the second watch of a place covers all of it
		}
		w.start(ctx, p, selected)
	}
}

var eventKind = schema.GroupKind{Kind: "Event"}

// eventNamespace returns the namespace of events about an object.
func eventNamespace(ref object.Ref) string {
	if ref.Namespace == "" {
		return "default"
	}
	return ref.Namespace
}

func (w *relatedWatcher) start(ctx context.Context, p place, selected *labelValues) {
	w.watches[p] = selected
	w.listing++
	query := cluster.Query{
		Kind:      p.GroupKind,
		Namespace: p.namespace,
		Labels:    selected.selector(),
		Once:      w.once,
	}
	if p.GroupKind == eventKind {
		query.Fields = "type=Warning"
	}
	w.cluster.WatchQuery(ctx, query, func(seen cluster.ObjectEvent) {
		e := relatedEvent{deleted: seen.Ref, listed: seen.Listed}
		if seen.Object != nil {
			e.evidence = ready.EvidenceOf(seen.Object, ready.Of(seen.Object))
		}
		select {
		case w.events <- e:
		case <-ctx.Done():
		}
	})
}

// take records one event.
func (w *relatedWatcher) take(e relatedEvent) {
	switch {
	case e.listed:
		w.listing--
	case e.evidence != nil:
		w.objects.See(e.evidence)
	default:
		w.objects.Forget(e.deleted)
	}
}

// settle settles a step, once, and ends the run if its failure does that.
func (w *relatedWatcher) settle(ctx context.Context, quiet time.Duration) {
	for w.listing > 0 || quiet > 0 {
		var silence <-chan time.Time
		if w.listing == 0 {
			silence = time.After(quiet)
		}
		select {
		case e := <-w.events:
			w.take(e)
		case <-silence:
			return
		case <-ctx.Done():
			return
		}
	}
}

// selectLabel returns the label that distinguishes most of the given label sets, or no label if
// there are too many sets, or none that all of them have.
func selectLabel(sets []map[string]string) *labelValues {
	best := &labelValues{}
	if len(sets) > maxSelected || len(sets) == 0 {
		return best
	}
	for _, key := range slices.Sorted(maps.Keys(sets[0])) {
		values := map[string]bool{}
		for _, set := range sets {
			value, ok := set[key]
			if !ok {
				values = nil
				break
			}
			values[value] = true
		}
		if len(values) > len(best.values) {
			best = &labelValues{key: key, values: slices.Sorted(maps.Keys(values))}
		}
	}
	return best
}

// includes reports whether objects with the labels are selected.
func (l *labelValues) includes(labels map[string]string) bool {
	return l != nil && (l.key == "" || slices.Contains(l.values, labels[l.key]))
}

func (l *labelValues) selector() string {
	switch len(l.values) {
	case 0:
		return ""
	case 1:
		return l.key + "=" + l.values[0]
	default:
		return l.key + " in (" + strings.Join(l.values, ",") + ")"
	}
}

// readLogsLater starts a worker that reads the logs for the causes of a step and sends them as a
// quote. It reports false if there are no logs to read, or too many were read.
func (w *relatedWatcher) readLogsLater(ctx context.Context, step int, causes []ready.Cause) bool {
	if !w.wantsLogs(causes) {
		return false
	}
	// It sends its one quote, or ends with the context.
	go func() {
		w.addLogs(ctx, causes)
		select {
		case w.quotes <- logQuote{step, causes}:
		case <-ctx.Done():
		}
	}()
	return true
}

// readLogs adds logs to the causes of many objects. It returns when all are read or the context
// ends.
func (w *relatedWatcher) readLogs(ctx context.Context, all [][]ready.Cause) {
	var logs errgroup.Group
	logs.SetLimit(concurrentLogs)
	for _, causes := range all {
		if w.wantsLogs(causes) {
			logs.Go(func() error { w.addLogs(ctx, causes); return nil })
		}
	}
	_ = logs.Wait() // the functions return no error
}

// wantsLogs reports whether logs are to be read for causes, and counts them.
func (w *relatedWatcher) wantsLogs(causes []ready.Cause) bool {
	crashed := func(c ready.Cause) bool { return c.Container != "" }
	if w.lines <= 0 || w.quoted >= maxLogs || !slices.ContainsFunc(causes, crashed) {
		return false
	}
	w.quoted++
	return true
}

// addLogs adds the ends of the logs of failed containers to causes.
func (w *relatedWatcher) addLogs(ctx context.Context, causes []ready.Cause) {
	for i, c := range causes {
		if c.Container != "" {
			causes[i].Log = w.cluster.Log(ctx, c.Object, c.Container, c.Previous, w.lines)
		}
	}
}
