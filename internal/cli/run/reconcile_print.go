package run

import (
	"fmt"
	"slices"

	"github.com/muster-deploy/muster/internal/base/plaintext"
	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/cli/look"
	"github.com/muster-deploy/muster/internal/feature/managed"
)

// reconcilePrinter prints what happens while a run of a Set is waited for.
type reconcilePrinter struct {
	env    *cli.Env
	json   bool
	value  string       // of the request
	last   *managed.Set // as it was printed
	failed error        // of the output
	stop   func()       // ends the wait; nil without one
}

// eventLine is a line of JSON about an Event of a Set.
type eventLine struct {
	Type string `json:"type"` // always "event"
	managed.Happening
}

// endLine is the last line of JSON.
type endLine struct {
	Type    string `json:"type"` // always "result"
	Outcome string `json:"outcome"`
	Message string `json:"message"`
}

// set prints how a Set has changed while its run has not ended.
func (p *reconcilePrinter) set(s *managed.Set) {
	before := p.last
	if p.json {
		p.changes(s)
		return
	}
	if before.Requested != s.Requested && s.Requested != p.value {
		p.line(s.Title() + ": a later request for a run takes the place of this one")
	}
	if before.Generation != s.Generation {
		p.line(s.Title() + " was changed: the run of the change is waited for")
	}
	if line := look.StateLine(s); line != look.StateLine(before) {
		p.line(line)
	}
	p.changes(s)
}

// changes prints how what a Set says about its objects has changed: how many are ready, and causes
// that come and go.
func (p *reconcilePrinter) changes(s *managed.Set) {
	before := p.last
	p.last = s
	if p.json {
		p.encode(setLine{"set", look.NewSetStatus(s)})
		return
	}
	if o := s.Status.Objects; o != before.Status.Objects && o.Total > 0 {
		line := fmt.Sprintf("%s: %d of %d objects are ready", s.Title(), o.Ready, o.Total)
		if o.Failed > 0 {
			line += fmt.Sprintf(", %d failed", o.Failed)
		}
		p.line(line)
	}
	for _, c := range s.Status.Causes {
		if !slices.Contains(before.Status.Causes, c) {
			p.line("cause: " + look.CauseLine(c))
		}
	}
	for _, c := range before.Status.Causes {
		is := func(now managed.Cause) bool { return now.Object == c.Object }
		if !slices.ContainsFunc(s.Status.Causes, is) {
			p.line("resolved: " + look.CauseLine(c))
		}
	}
}

// event prints an Event of the Set.
func (p *reconcilePrinter) event(h managed.Happening) {
	if p.json {
		p.encode(eventLine{"event", h})
		return
	}
	p.line(plaintext.Line(fmt.Sprintf("event %s: %s: %s", h.Type, h.Reason, h.Message)))
}

// end prints how a run that succeeded has ended.
func (p *reconcilePrinter) end(outcome, line string) error {
	if p.json {
		p.encode(endLine{"result", outcome, line})
	} else {
		p.line(line)
	}
	return p.failed
}

// fail prints how another run has ended, and returns the error for the exit code.
func (p *reconcilePrinter) fail(outcome, line string) error {
	if p.json {
		p.encode(endLine{"result", outcome, line})
	} else {
		p.env.Notice("error: " + line)
	}
	if p.failed != nil {
		return p.failed
	}
	return &cli.ResultError{}
}

func (p *reconcilePrinter) line(text string) {
	if p.failed == nil {
		p.failed = p.env.Print(text)
	}
	p.stopIfFailed()
}

func (p *reconcilePrinter) encode(line any) {
	if p.failed == nil {
		p.failed = printJSONLine(p.env, line)
	}
	p.stopIfFailed()
}

// stopIfFailed ends the wait if nobody reads the output any more.
func (p *reconcilePrinter) stopIfFailed() {
	if p.failed != nil && p.stop != nil {
		p.stop()
	}
}
