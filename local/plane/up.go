package plane

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"
)

const (
	// upTimeout bounds a start when the caller gave no deadline: a machine that needs longer does not
	// get there.
	upTimeout = 2 * time.Minute
	// portTries is how often ports are chosen, when other processes take them.
	portTries = 3
)

var errTimeout = errors.New("the plane did not get ready in time")

// Up starts a plane and returns when it is ready: the API server answers, the namespace and the
// service account default exist, the nodes are ready and there is a default storage class. A plane
// that is up does not change; of one that is partly up, what is missing is started. When Up
// fails or ctx is cancelled, what it started is ended again. A component that ends is reported as a
// *ComponentError.
func Up(ctx context.Context, o Options) (*Plane, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, upTimeout, errTimeout)
	defer cancel()
	dir, err := filepath.Abs(o.Dir)
	if err != nil || o.Dir == "" {
		return nil, errors.Join(errors.New("state folder: not given"), err)
	}
	p := &Plane{paths: paths(dir)}
	if err := p.paths.make(); err != nil {
		return nil, err
	}
	unlock, err := lock(ctx, p.paths)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if err := p.prepare(ctx, o); err != nil {
		return nil, err
	}
	if err := p.up(ctx, o, freePorts); err != nil {
		return nil, err
	}
	return p, nil
}

// prepare reads or makes what a start needs: the state, the programs, the certificates.
func (p *Plane) prepare(ctx context.Context, o Options) error {
	s, err := readState(p.paths)
	if errors.Is(err, fs.ErrNotExist) {
		s = newState(o)
	} else if err != nil {
		return err
	}
	p.state = s
	if err := s.setNodes(o, len(p.running(ctx)) > 0); err != nil {
		return err
	}
	if s.Bin, err = programs(o.Bin); err != nil {
		return err
	}
	if len(s.Real) > 0 {
		if err := RealNodesPossible(s.Bin); err != nil {
			return err
		}
	}
	return ensureCerts(p.paths, time.Now())
}

// newState returns the state of a plane that was never up: with one simulated node unless it gets
// real ones.
func newState(o Options) *state {
	if o.Real != nil && *o.Real > 0 {
		return &state{}
	}
	return &state{Nodes: 1}
}

// setNodes decides how many nodes the plane has. Those of a plane that runs stay.
func (s *state) setNodes(o Options, running bool) error {
	nodes, real := s.Nodes, len(s.Real)
	if o.Nodes != nil {
		nodes = *o.Nodes
	}
	if o.Real != nil {
		real = *o.Real
	}
	if running && (nodes != s.Nodes || real != len(s.Real)) {
		return fmt.Errorf("the plane is up with %s: take it down to start it with %s",
			countNodes(s.Nodes, len(s.Real)), countNodes(nodes, real))
	}
	s.Nodes = nodes
	if real != len(s.Real) {
		s.Real = make([]realNode, real)
	}
	return nil
}

// countNodes returns the numbers of simulated and real nodes.
func countNodes(simulated, real int) string {
	if real == 0 {
		return fmt.Sprintf("%d nodes", simulated)
	}
	return fmt.Sprintf("%d simulated and %d real nodes", simulated, real)
}

// programs finds the folder of the components' programs.
func programs(bin string) (string, error) {
	if bin == "" {
		self, err := os.Executable()
		if err != nil {
			return "", fmt.Errorf("find the components: %w", err)
		}
		bin = filepath.Dir(self)
	}
	bin, err := filepath.Abs(bin)
	if err != nil {
		return "", fmt.Errorf("find the components: %w", err)
	}
	for _, name := range []string{binComponents, binKwok} {
		if _, err := os.Stat(filepath.Join(bin, name)); err != nil {
			return "", fmt.Errorf("%s is not in %s: run \"make build\" first", name, bin)
		}
	}
	return bin, nil
}

// up starts what does not run. New ports are chosen when nothing runs, and kept when something
// does, since the others know them.
func (p *Plane) up(ctx context.Context, o Options, choose func() (ports, error)) error {
	running := p.running(ctx)
	if len(running) > 0 {
		return p.start(ctx, o, running)
	}
	for try := 1; ; try++ {
		chosen, err := choose()
		if err != nil {
			return err
		}
		p.state.Ports, p.state.Boot, p.state.Processes = chosen, bootTime(ctx), nil
		if p.state.Real, err = placeReal(len(p.state.Real)); err != nil {
			return err
		}
		if err := issueReal(p.paths, p.state.Real, time.Now()); err != nil {
			return err
		}
		err = writeKubeconfigs(p.paths, httpsURL(chosen.APIServer), len(p.state.Real))
		if err != nil {
			return err
		}
		err = p.start(ctx, o, nil)
		var dead *ComponentError
		if err == nil || try == portTries || !errors.As(err, &dead) || !dead.addressInUse() {
			return err
		}
	}
}

// running names the components whose process is alive, with their processes.
func (p *Plane) running(ctx context.Context) map[string]process {
	out := maps.Clone(p.state.Processes)
	maps.DeleteFunc(out, func(_ string, known process) bool { return !known.alive(ctx) })
	return out
}

// start starts every component that is not running, and ends those that it started when one of
// them, or the wait for readiness, fails.
func (p *Plane) start(ctx context.Context, o Options, running map[string]process) error {
	run, err := newRun(p, o, running)
	if err != nil {
		return err
	}
	defer run.close()
	err = run.all(ctx)
	p.started = run.names()
	if err == nil {
		return nil
	}
	missing := slices.DeleteFunc(
		components(p.state),
		func(c component) bool { return !slices.Contains(p.started, c.name) },
	)
	undo := context.WithoutCancel(ctx)
	if len(running) == 0 {
		return errors.Join(err, p.down(undo))
	}
	return errors.Join(err, p.stopAll(undo, missing), p.state.save(p.paths))
}
