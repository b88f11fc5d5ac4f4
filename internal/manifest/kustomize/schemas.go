package kustomize

import (
	"context"
	"sync"
)

// schemas keeps builds with a schema of their own (the field openapi) apart from all others: the
// library keeps it in variables, so that another build would merge its lists by it.
var schemas = gate{changed: make(chan struct{})}

// gate admits any number of users, or one that is alone. The latter waits for its turn, and those
// that come meanwhile do not wait for it.
type gate struct {
	mutex   sync.Mutex
	users   int
	alone   bool
	changed chan struct{} // closed when a user leaves
}

// acquire waits until a user is admitted, or the context ends. The function that it returns ends
// the use.
func (g *gate) acquire(ctx context.Context, alone bool) (func(), error) {
	for {
		g.mutex.Lock()
		if !g.alone && (!alone || g.users == 0) {
			g.users++
			g.alone = alone
			g.mutex.Unlock()
			return g.release, nil
		}
		changed := g.changed
		g.mutex.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

func (g *gate) release() {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	g.users--
	g.alone = false
	close(g.changed)
	g.changed = make(chan struct{})
}
