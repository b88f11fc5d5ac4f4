package plane

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"syscall"
)

// run is one start of the components of a plane.
type run struct {
	plane   *Plane
	prober  *prober
	running map[string]process // were alive before
	tie     *os.File           // lifeline that is handed to the components, or nil
	noWait  bool
	roomy   bool

	mu       sync.Mutex // guards what follows, and the plane's state
	children map[string]*child
}

func newRun(p *Plane, o Options, running map[string]process) (*run, error) {
	h, err := newProber(p.paths)
	if err != nil {
		return nil, err
	}
	r := &run{
		plane: p, prober: h, running: running, noWait: o.NoWait, roomy: o.Roomy,
		children: map[string]*child{},
	}
	if o.Tied {
		reader, writer, err := os.Pipe()
		if err != nil {
			return nil, fmt.Errorf("make a lifeline: %w", err)
		}
		r.tie = reader
		if err := holdOpen(writer); err != nil {
			reader.Close()
			return nil, err
		}
	}
	return r, nil
}

// holdOpen keeps the writing end of a pipe open until the process ends. The os.File cannot serve:
// it is closed as soon as nobody refers to it.
func holdOpen(file *os.File) error {
	defer file.Close()
	syscall.ForkLock.RLock() // No component may inherit the descriptor before it is marked.
	defer syscall.ForkLock.RUnlock()
	fd, err := syscall.Dup(int(file.Fd()))
	if err != nil {
		return fmt.Errorf("make a lifeline: %w", err)
	}
	syscall.CloseOnExec(fd)
	return nil
}

func (r *run) close() {
	if r.tie != nil {
		r.tie.Close()
	}
}

// names lists what this run started.
func (r *run) names() []string {
	return slices.DeleteFunc(
		r.plane.Names(),
		func(name string) bool { return r.children[name] == nil },
	)
}

// all starts the components, each as soon as what it needs answers, and waits until the plane is
// ready. The first failure ends the waiting for the others.
func (r *run) all(ctx context.Context) error {
	order, err := waves(components(r.plane.state))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	list := slices.Concat(order...)
	answers := map[string]chan struct{}{}
	for _, c := range list {
		answers[c.name] = make(chan struct{})
	}
	done := make(chan error)
	for _, c := range list {
		// Waited for below.
		go func() { done <- r.one(ctx, c, answers) }()
	}
	var first error
	for range list {
		if err := <-done; err != nil && first == nil {
			first = err
			cancel()
		}
	}
	if first != nil || r.noWait {
		return first
	}
	return r.plane.settle(ctx, r)
}

// one starts a component once what it needs answers, and waits until it is healthy itself.
func (r *run) one(ctx context.Context, c component, answers map[string]chan struct{}) error {
	for _, need := range c.needs {
		select {
		case <-answers[need]:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	ended, err := r.launch(ctx, c)
	if err != nil {
		return err
	}
	path := c.starts
	if path == "" {
		path = c.ready
	}
	if r.noWait && !r.needed(c) {
		return nil
	}
	if err := r.await(ctx, ended, c, path); err != nil {
		return err
	}
	close(answers[c.name])
	if r.noWait {
		return nil
	}
	return r.await(ctx, ended, c, c.ready)
}

func (r *run) needed(c component) bool {
	return slices.ContainsFunc(
		components(r.plane.state),
		func(o component) bool { return slices.Contains(o.needs, c.name) },
	)
}

// await waits for the health of a component; an error quotes the end of its log,
// unless it is the interrupt.
func (r *run) await(ctx, ended context.Context, c component, path string) error {
	err := r.prober.await(ctx, ended, c.port(r.plane.state), path)
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	return componentError(r.plane.paths, c.name, err)
}

// launch starts a component, unless it runs, and records its process. The context is done when the
// component ends; that of one that ran before never is.
func (r *run) launch(ctx context.Context, c component) (context.Context, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.running[c.name]; ok {
		return context.Background(), nil
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	s := r.plane.state
	started, err := spawn(ctx, r.plane.paths, s, c, r.tie, r.roomy)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", c.name, err)
	}
	r.children[c.name] = started
	if s.Processes == nil {
		s.Processes = map[string]process{}
	}
	s.Processes[c.name] = started.process
	return started.ended, s.save(r.plane.paths)
}

// ended names a component of this run that has ended, as an error.
func (r *run) ended() error {
	for _, name := range r.names() {
		if r.children[name].ended.Err() != nil {
			return componentError(r.plane.paths, name, errEnded)
		}
	}
	return nil
}
