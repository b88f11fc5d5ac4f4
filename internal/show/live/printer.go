package live

import (
	"bytes"
	"cmp"
	"io"
	"os"
	"time"

	"github.com/muster-deploy/muster/internal/base/plaintext"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/show/fullscreen"
	"github.com/muster-deploy/muster/internal/show/view"
)

// Printer returns a printer that draws a run on a screen and, when it has ended, prints what
// summary prints. Text for the terminal beside it is shown on the screen, and printed at the end.
func Printer(
	run *Run, o fullscreen.Options, beside *view.TerminalWriter,
	summary func(io.Writer) view.Printer,
) (view.Printer, error) {
	o.Clock = true
	o.Delay = delay
	p := &printer{run: run, out: o.Out}
	p.summary = summary(&p.text)
	var err error
	if p.screen, err = fullscreen.Open(o, run); err != nil {
		return nil, err
	}
	run.notify(p.screen.Changed)
	p.release = beside.Divert(func(text string) {
		run.Warn(text)
		p.screen.Changed()
	})
	return p, nil
}

// delay is how long a run takes at least before it is drawn.
const delay = 300 * time.Millisecond

type printer struct {
	run     *Run
	screen  *fullscreen.Screen
	out     *os.File
	summary view.Printer
	text    bytes.Buffer // of the summary
	release func()
}

// Event shows one event.
func (p *printer) Event(e event.Event) {
	p.summary.Event(e)
	p.run.Event(e)
	p.screen.Changed()
}

// Close restores the terminal and prints the summary. A terminal that disappeared during the run is
// no error: nobody misses the summary. A run that could not be drawn is one.
func (p *printer) Close(failed error) error {
	p.screen.Close()
	p.run.close()
	p.release()
	err := cmp.Or(p.summary.Close(failed), p.screen.Err())
	text := p.text.String()
	if p.run.options.ASCII {
		text = plaintext.ASCII(text)
	}
	if _, wrote := p.out.WriteString(text); wrote != nil && !p.screen.Broken() && err == nil {
		return wrote
	}
	return err
}
