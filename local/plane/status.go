package plane

import "context"

// ComponentStatus is how one component of a plane is doing.
type ComponentStatus struct {
	Name    string
	PID     int    // 0 when it was not started
	Alive   bool   // its process runs
	Healthy bool   // its health check passes
	Detail  string // why it is not healthy; may have several lines
}

// Status returns the status of each component, in the order of the list of components. It asks all
// of them at the same time.
func (p *Plane) Status(ctx context.Context) []ComponentStatus {
	list := components(p.state)
	out := make([]ComponentStatus, len(list))
	h, err := newProber(p.paths)
	done := make(chan struct{})
	for i, c := range list {
		// Waited for below.
		go func() {
			out[i] = p.componentStatus(ctx, c, h, err)
			done <- struct{}{}
		}()
	}
	for range list {
		<-done
	}
	return out
}

// componentStatus asks one component; broken is why no prober could be made, if so.
func (p *Plane) componentStatus(
	ctx context.Context,
	c component,
	h *prober,
	broken error,
) ComponentStatus {
	known, ok := p.state.Processes[c.name]
	out := ComponentStatus{Name: c.name, PID: known.PID}
	if !ok {
		out.Detail = "not started"
		return out
	}
	problem := broken
	if broken == nil {
		problem = h.check(ctx, c.port(p.state), c.ready)
	}
	out.Alive = known.alive(
		ctx,
	) // Asked last: a process that just ended must not pass for one that is merely unwell.
	switch {
	case out.Alive && problem == nil:
		out.Healthy = true
	case out.Alive:
		out.Detail = problem.Error()
	case p.state.rebooted(bootTime(ctx)):
		out.Detail = "not running since the machine restarted"
	default:
		out.Detail = componentError(p.paths, c.name, errEnded).detail()
	}
	return out
}

// detail returns the error without the component's name.
func (e *ComponentError) detail() string {
	without := *e
	without.Name = ""
	return without.Error()[len(": "):]
}

// Restarted reports whether the machine was restarted after the plane was started, so that none of
// its processes run.
func (p *Plane) Restarted(ctx context.Context) bool {
	return len(p.running(ctx)) == 0 && p.state.rebooted(bootTime(ctx))
}
