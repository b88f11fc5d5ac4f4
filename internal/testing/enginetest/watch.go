package enginetest

import (
	"context"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/object"
)

// watcher is one Watch call, with the events that it has not received, in order.
type watcher struct {
	sees  func(cluster.ObjectEvent) (_ cluster.ObjectEvent, ok bool) // changes or drops an event
	queue []cluster.ObjectEvent
	more  chan struct{} // holds one token while the queue is not empty
}

// Watch reports every change of the refs since the latest Read. Refs that were not read are listed
// first.
func (c *Cluster) Watch(ctx context.Context, refs []object.Ref, see func(cluster.ObjectEvent)) {
	c.mu.Lock()
	c.Watched = append(c.Watched, refs)
	c.mu.Unlock()
	if c.Silent {
		return
	}
	if c.Polls || c.Unseen != nil {
		go c.poll(ctx, refs, see) // it ends with the context
		return
	}
	set := object.NewSet(refs...)
	w := &watcher{
		sees: func(e cluster.ObjectEvent) (cluster.ObjectEvent, bool) { return e, set.Has(e.Ref) },
		more: make(chan struct{}, 1),
	}
	c.mu.Lock()
	for _, ref := range refs {
		if _, read := c.read[ref]; !read {
			w.add(c.present(ref))
		}
	}
	for _, s := range c.history {
		if version, read := c.read[s.Ref]; read && versionOf(s) > version {
			w.add(s)
		}
	}
	c.watchers = append(c.watchers, w)
	c.mu.Unlock()
	c.follow(ctx, w, see)
}

// present returns the event for the present state of an object.
func (c *Cluster) present(ref object.Ref) cluster.ObjectEvent {
	if obj := c.objects[ref]; obj != nil {
		return cluster.ObjectEvent{Ref: ref, Object: obj.DeepCopy()}
	}
	return cluster.ObjectEvent{Ref: ref, Version: strconv.Itoa(max(c.version, 1))}
}

// WatchQuery reports the objects of a kind and namespace that have the labels and fields, and then
// every change. It knows the fields type and reason of events.
func (c *Cluster) WatchQuery(ctx context.Context, s cluster.Query, see func(cluster.ObjectEvent)) {
	selector, err := labels.Parse(s.Labels)
	if err != nil {
		panic(err) // the engine made it
	}
	chosen, err := fields.ParseSelector(s.Fields)
	if err != nil {
		panic(err)
	}
	selects := func(obj *unstructured.Unstructured) bool {
		return obj != nil && selector.Matches(labels.Set(obj.GetLabels())) &&
			chosen.Matches(eventFields(obj))
	}
	w := &watcher{more: make(chan struct{}, 1)}
	if c.forbids(s.Kind, s.Namespace) {
		w.sees = func(e cluster.ObjectEvent) (cluster.ObjectEvent, bool) { return e, true }
		w.add(cluster.ObjectEvent{Listed: true, Over: true, Err: forbiddenList(s.Kind)})
		c.follow(ctx, w, see)
		return
	}
	// A reported object that loses its labels counts as deleted.
	selected := map[object.Ref]bool{}
	w.sees = func(e cluster.ObjectEvent) (cluster.ObjectEvent, bool) {
		in := s.Namespace == "" || e.Ref.Namespace == s.Namespace
		if e.Listed || e.Ref.GroupKind() != s.Kind || !in {
			return e, e.Listed
		}
		before := selected[e.Ref]
		if selected[e.Ref] = selects(e.Object); selected[e.Ref] {
			return e, true
		}
		return cluster.ObjectEvent{Ref: e.Ref, Version: strconv.Itoa(versionOf(e))}, before
	}
	c.mu.Lock()
	for _, obj := range c.objects {
		w.add(cluster.ObjectEvent{Ref: object.RefOf(obj), Object: obj.DeepCopy()})
	}
	w.add(cluster.ObjectEvent{Listed: true})
	c.Queries = append(c.Queries, s)
	c.watchers = append(c.watchers, w)
	c.mu.Unlock()
	c.follow(ctx, w, see)
}

// eventFields returns the fields of an event that selectors know.
func eventFields(event *unstructured.Unstructured) fields.Set {
	set := fields.Set{}
	for _, name := range []string{"type", "reason"} {
		set[name], _, _ = unstructured.NestedString(event.Object, name)
	}
	return set
}

// Log returns the log that was set for a pod, whatever the container, unless the context has ended.
func (c *Cluster) Log(ctx context.Context, pod object.Ref, _ string, _ bool, lines int) []string {
	if ctx.Err() != nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	log := c.Logs[pod]
	return log[max(0, len(log)-lines):]
}

// DropLogs removes all logs, as those of containers that start again are gone.
func (c *Cluster) DropLogs() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Logs = nil
}

// follow hands over what a watcher has to see until the context ends.
func (c *Cluster) follow(ctx context.Context, w *watcher, see func(cluster.ObjectEvent)) {
	// It ends with the context.
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-w.more:
			}
			for _, s := range c.take(w) {
				see(s)
			}
		}
	}()
}

// poll reports how the refs are, every two seconds. What does not exist has no version.
func (c *Cluster) poll(ctx context.Context, refs []object.Ref, see func(cluster.ObjectEvent)) {
	ticks := time.NewTicker(2 * time.Second)
	defer ticks.Stop()
	for {
		for _, ref := range refs {
			if c.Unseen != nil {
				see(cluster.ObjectEvent{Ref: ref, Err: c.Unseen()})
				continue
			}
			see(cluster.ObjectEvent{Ref: ref, Object: c.Object(ref)})
		}
		select {
		case <-ticks.C:
		case <-ctx.Done():
			return
		}
	}
}

func (c *Cluster) take(w *watcher) []cluster.ObjectEvent {
	c.mu.Lock()
	defer c.mu.Unlock()
	queue := w.queue
	w.queue = nil
	return queue
}

func (w *watcher) add(s cluster.ObjectEvent) {
	s, ok := w.sees(s)
	if !ok {
		return
	}
	w.queue = append(w.queue, s)
	select {
	case w.more <- struct{}{}:
	default:
	}
}

func versionOf(s cluster.ObjectEvent) int {
	text := s.Version
	if s.Object != nil {
		text = s.Object.GetResourceVersion()
	}
	version, _ := strconv.Atoi(text)
	return version
}

// tell sends a change to every watcher.
func (c *Cluster) tell(s cluster.ObjectEvent) {
	c.history = append(c.history, s)
	for _, w := range c.watchers {
		w.add(s)
	}
}

// script begins what controllers do after a write.
func (c *Cluster) script(ref object.Ref, uid types.UID) {
	for _, change := range c.Script[ref] {
		c.later(ref, uid, change)
	}
}

// later makes a change in time, if the object is still the same; what it has a controller make is
// made in any case.
func (c *Cluster) later(ref object.Ref, uid types.UID, change Change) {
	time.AfterFunc(change.After, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if change.Makes != nil {
			c.put(change.Makes.DeepCopy())
			return
		}
		obj := c.objects[ref]
		if obj == nil || obj.GetUID() != uid {
			return
		}
		if change.Gone || change.Again {
			c.remove(ref)
		}
		next := obj.DeepCopy()
		switch {
		case change.Gone:
			return
		case change.Again:
			next.SetUID("")
		default:
			next.Object["status"] = change.Status
		}
		c.store(next)
	})
}
