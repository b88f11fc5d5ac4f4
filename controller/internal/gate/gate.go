// Package gate limits how many runs work at once, and serves namespaces in turn, so that one
// namespace with many Sets does not keep those of others waiting.
package gate

import (
	"context"
	"sync"
	"time"
)

// Gate has a number of slots. The zero value has none; New returns one.
type Gate struct {
	total        int
	perNamespace int
	waited       func(namespace string, d time.Duration)

	mutex    sync.Mutex
	used     int
	inUse    map[string]int       // by namespace
	queues   map[string][]*ticket // by namespace, the oldest first
	rotation []string             // namespaces with a queue, the next one first
}

// ticket is who waits for a slot.
type ticket struct{ granted chan struct{} }

// New returns a gate with slots, of which one namespace has at most a number. Waited receives how
// long each was waited for; nil ignores that.
func New(total, perNamespace int, waited func(string, time.Duration)) *Gate {
	if waited == nil {
		waited = func(string, time.Duration) {}
	}
	return &Gate{
		total: total, perNamespace: perNamespace, waited: waited,
		inUse: map[string]int{}, queues: map[string][]*ticket{},
	}
}

// Enter waits for a slot. The caller calls leave once it is done; a second call does nothing.
func (g *Gate) Enter(ctx context.Context, namespace string) (leave func(), err error) {
	begun, t := time.Now(), &ticket{granted: make(chan struct{})}
	g.mutex.Lock()
	if len(g.queues[namespace]) == 0 {
		g.rotation = append(g.rotation, namespace)
	}
	g.queues[namespace] = append(g.queues[namespace], t)
	g.serve()
	g.mutex.Unlock()
	var once sync.Once
	leave = func() { once.Do(func() { g.leave(namespace) }) }
	select {
	case <-t.granted:
		g.waited(namespace, time.Since(begun))
		return leave, nil
	case <-ctx.Done():
		g.giveUp(namespace, t)
		return nil, context.Cause(ctx)
	}
}

// leave frees a slot.
func (g *Gate) leave(namespace string) {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	g.free(namespace)
	g.serve()
}

// free counts a slot of a namespace as free.
func (g *Gate) free(namespace string) {
	g.used--
	if g.inUse[namespace]--; g.inUse[namespace] == 0 {
		delete(g.inUse, namespace)
	}
}

// giveUp removes a ticket from its queue, or frees the slot that it was granted meanwhile.
func (g *Gate) giveUp(namespace string, t *ticket) {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	for i, other := range g.queues[namespace] {
		if other == t {
			g.queues[namespace] = append(g.queues[namespace][:i:i], g.queues[namespace][i+1:]...)
			g.forget(namespace)
			return
		}
	}
	g.free(namespace)
	g.serve()
}

// forget removes a namespace from the rotation if nobody of it waits.
func (g *Gate) forget(namespace string) {
	if len(g.queues[namespace]) > 0 {
		return
	}
	delete(g.queues, namespace)
	for i, name := range g.rotation {
		if name == namespace {
			g.rotation = append(g.rotation[:i:i], g.rotation[i+1:]...)
			return
		}
	}
}

// serve grants free slots: one to each namespace in turn.
func (g *Gate) serve() {
	for skipped := 0; g.used < g.total && skipped < len(g.rotation); {
		namespace := g.rotation[0]
		g.rotation = append(g.rotation[1:len(g.rotation):len(g.rotation)], namespace)
		if g.inUse[namespace] >= g.perNamespace {
			skipped++
			continue
		}
		skipped = 0
		t := g.queues[namespace][0]
		g.queues[namespace] = g.queues[namespace][1:]
		g.used++
		g.inUse[namespace]++
		g.forget(namespace)
		close(t.granted)
	}
}
