package plane

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// Options says how a plane is started. Dir is needed; the zero value of the rest is the default.
type Options struct {
	Dir    string // state folder of this plane (mode 0700); the plane writes nowhere else
	Bin    string // folder with muster-components and muster-kwok; empty: that of the executable
	Nodes  *int   // simulated nodes; nil: as many as before, or 1, or none beside real ones
	Real   *int   // nodes that run containers, for root; nil: as many as before, or none
	Tied   bool   // the components end when this process ends, in whatever way: for tests
	Roomy  bool   // the components take more memory for less time: for tests
	NoWait bool   // return once every component is started, not when the plane is ready
}

// Plane is a control plane that was started at some time. It is not meant for concurrent use;
// several Planes, also of other processes, may name the same folder.
type Plane struct {
	paths   paths
	state   *state
	started []string
}

// Open reads the state folder of a plane, which may be up or down. The error is fs.ErrNotExist when
// there never was one.
func Open(dir string) (*Plane, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("state folder: %w", err)
	}
	s, err := readState(paths(abs))
	if err != nil {
		return nil, err
	}
	return &Plane{paths: paths(abs), state: s}, nil
}

// Kubeconfig returns the path of the administrator's kubeconfig.
func (p *Plane) Kubeconfig() string { return p.paths.kubeconfig() }

// Server returns the URL of the API server, or an empty one when the plane is down.
func (p *Plane) Server() string {
	if p.state.Ports == (ports{}) {
		return ""
	}
	return httpsURL(p.state.Ports.APIServer)
}

// Log returns the path of a component's log. The error lists the components if there is none of
// that name.
func (p *Plane) Log(component string) (string, error) {
	if !slices.Contains(p.Names(), component) {
		return "", fmt.Errorf("no component %q; there are %v", component, p.Names())
	}
	return p.paths.log(component), nil
}

// Started names the components that Up started, in the order of the list of components: none when
// the plane was up.
func (p *Plane) Started() []string { return slices.Clone(p.started) }

// Names lists the components of the plane.
func (p *Plane) Names() []string { return names(components(p.state)) }

// Down ends exactly the processes that Up started, those that need others first. A process that
// does not end by itself is killed. Down of a plane that is down does nothing. The data stays: Up
// continues with it.
func (p *Plane) Down(ctx context.Context) error {
	unlock, err := lock(ctx, p.paths)
	if err != nil {
		return err
	}
	defer unlock()
	s, err := readState(p.paths)
	if err != nil {
		return err
	}
	p.state = s
	return p.down(ctx)
}

// Delete stops the plane and removes its state folder.
func (p *Plane) Delete(ctx context.Context) error {
	if err := p.Down(ctx); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.RemoveAll(string(p.paths)); err != nil {
		return fmt.Errorf("remove state folder: %w", err)
	}
	return nil
}

// down stops what the state names and forgets it. The caller holds the lock.
func (p *Plane) down(ctx context.Context) error {
	order, err := waves(components(p.state))
	if err != nil {
		return err
	}
	var failed []error
	for _, wave := range slices.Backward(order) {
		failed = append(failed, p.stopAll(ctx, wave))
	}
	if err := errors.Join(failed...); err != nil {
		return errors.Join(err, p.state.save(p.paths))
	}
	p.state.Processes, p.state.Ports, p.state.Boot = nil, ports{}, 0
	return p.state.save(p.paths)
}

// stopAll ends the processes of some components at the same time, and forgets those that ended.
func (p *Plane) stopAll(ctx context.Context, list []component) error {
	done := make(chan error)
	for _, c := range list {
		known := p.state.Processes[c.name]
		// Waited for below.
		go func() {
			if err := known.stop(ctx); err != nil {
				done <- fmt.Errorf("stop %s: %w", c.name, err)
				return
			}
			done <- nil
		}()
	}
	var failed []error
	for range list {
		failed = append(failed, <-done)
	}
	if err := errors.Join(failed...); err != nil {
		return err
	}
	for _, c := range list {
		delete(p.state.Processes, c.name)
	}
	return nil
}
