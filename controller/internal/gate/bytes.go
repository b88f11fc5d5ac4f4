package gate

import (
	"context"
	"sync"
)

// Bytes limits the memory of what is in work at once. A load that alone is more than the limit
// counts as all of it. One namespace has at most half, or a single load.
type Bytes struct {
	total int64

	mutex sync.Mutex
	used  int64
	inUse map[string]int64 // by namespace
	queue []*claim         // the oldest first
}

// claim is who waits for bytes.
type claim struct {
	namespace string
	bytes     int64
	granted   chan struct{}
}

// NewBytes returns a limit of bytes.
func NewBytes(total int64) *Bytes {
	return &Bytes{total: max(total, 1), inUse: map[string]int64{}}
}

// Total returns the limit.
func (b *Bytes) Total() int64 { return b.total }

// Load is bytes in work.
type Load struct {
	limit     *Bytes
	namespace string
	bytes     int64 // guarded by the mutex of the limit
}

// Acquire waits until a number of bytes is free, and takes them. The oldest claim that fits is
// granted first: a small load does not wait for a large one. The caller releases the load.
func (b *Bytes) Acquire(ctx context.Context, namespace string, bytes int64) (*Load, error) {
	c := &claim{namespace, min(max(bytes, 0), b.total), make(chan struct{})}
	b.mutex.Lock()
	b.queue = append(b.queue, c)
	b.serve()
	b.mutex.Unlock()
	load := &Load{b, namespace, c.bytes}
	select {
	case <-c.granted: // also if the context has ended
		return load, nil
	default:
	}
	select {
	case <-c.granted:
		return load, nil
	case <-ctx.Done():
		b.giveUp(c, load)
		return nil, context.Cause(ctx)
	}
}

// Try takes a number of bytes if they are free, and nobody waits who could have them; nil
// otherwise.
func (b *Bytes) Try(namespace string, bytes int64) *Load {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	c := &claim{namespace: namespace, bytes: min(max(bytes, 0), b.total)}
	if !b.fits(c) {
		return nil
	}
	b.take(c)
	return &Load{b, namespace, c.bytes}
}

// fits reports whether a claim can be granted now.
func (b *Bytes) fits(c *claim) bool {
	free := b.used == 0 || b.used+c.bytes <= b.total
	own := b.inUse[c.namespace]
	return free && (own == 0 || own+c.bytes <= b.total/2)
}

// take counts the bytes of a claim as used.
func (b *Bytes) take(c *claim) {
	b.used += c.bytes
	b.inUse[c.namespace] += c.bytes
}

// serve grants the claims that fit.
func (b *Bytes) serve() {
	waiting := b.queue[:0]
	for _, c := range b.queue {
		if !b.fits(c) {
			waiting = append(waiting, c)
			continue
		}
		b.take(c)
		close(c.granted)
	}
	clear(b.queue[len(waiting):])
	b.queue = waiting
}

// giveUp removes a claim from the queue, or releases what it was granted meanwhile.
func (b *Bytes) giveUp(c *claim, load *Load) {
	b.mutex.Lock()
	for i, other := range b.queue {
		if other == c {
			b.queue = append(b.queue[:i], b.queue[i+1:]...)
			b.mutex.Unlock()
			return
		}
	}
	b.mutex.Unlock()
	load.Release()
}

// Shrink frees all but a number of bytes. A load never grows. Nil is a load without bytes.
func (l *Load) Shrink(bytes int64) {
	if l == nil {
		return
	}
	b := l.limit
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if bytes = max(bytes, 0); bytes >= l.bytes {
		return
	}
	b.used -= l.bytes - bytes
	if b.inUse[l.namespace] -= l.bytes - bytes; b.inUse[l.namespace] == 0 {
		delete(b.inUse, l.namespace)
	}
	l.bytes = bytes
	b.serve()
}

// Release frees all bytes. It may be called again.
func (l *Load) Release() { l.Shrink(0) }
