package view

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
)

// heartbeatInterval is the silence after which a run says what it waits for. Systems that run jobs
// end those that are silent for long.
const heartbeatInterval = 15 * time.Second

// maxAwaited limits the objects that a heartbeat names.
const maxAwaited = 3

// Heartbeat is the output of a run, which is a writer. After a silence it prints to another writer
// what the run waits for. It may be used concurrently.
type Heartbeat struct {
	mu    sync.Mutex
	out   io.Writer // of the run
	beats io.Writer
	state *RunState
	began time.Time
	timer *time.Timer // nil unless the run is in progress
}

// NewHeartbeat returns the output of a run that writes to out, and its heartbeats to beats.
func NewHeartbeat(out, beats io.Writer) *Heartbeat { return &Heartbeat{out: out, beats: beats} }

// Start begins the run of a plan. The caller calls Stop at its end.
func (h *Heartbeat) Start(p *plan.Plan) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.state, h.began = NewRunState(p), time.Now()
	h.timer = time.AfterFunc(heartbeatInterval, h.beat)
}

// Stop ends the run. No heartbeat follows.
func (h *Heartbeat) Stop() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.timer.Stop()
	h.timer = nil
}

// Event adds one event of the run.
func (h *Heartbeat) Event(e event.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.state.Add(e)
}

// Write writes output of the run.
func (h *Heartbeat) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.timer != nil {
		h.timer.Reset(heartbeatInterval)
	}
	return h.out.Write(p)
}

// beat prints what the run waits for.
func (h *Heartbeat) beat() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.timer == nil {
		return
	}
	h.timer.Reset(heartbeatInterval)
	if line := h.line(); line != "" {
		printLine(h.beats, line)
	}
}

// line returns the text of a heartbeat, empty if nothing is waited for.
func (h *Heartbeat) line() string {
	open, names := 0, []string(nil)
	for i, row := range h.state.Rows {
		step := &h.state.Plan.Steps[i]
		if step.Ref == (object.Ref{}) || row.Settled != "" {
			continue
		}
		open++
		if row.Waited && len(names) < maxAwaited {
			names = append(names, step.Ref.Short())
		}
	}
	if open == 0 {
		return ""
	}
	way := notReady
	if h.state.Plan.Destroys {
		way = notGone
	}
	line := fmt.Sprintf("still waiting after %s: %d of %s %s",
		time.Since(h.began).Round(time.Second), open, count(len(h.state.Plan.Refs()), "object"),
		shortfallTexts[way][min(open, 2)-1])
	if len(names) > 0 {
		line += ": " + strings.Join(names, ", ")
		if more := open - len(names); more > 0 {
			line += fmt.Sprintf(" and %d more", more)
		}
	}
	return line
}
