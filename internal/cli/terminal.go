package cli

import (
	"os"

	"golang.org/x/term"

	"github.com/muster-deploy/muster/internal/view"
)

// IsTerminal reports whether the standard output is a terminal.
func (e *Env) IsTerminal() bool {
	file, ok := e.Out.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// Terminal returns the properties of the standard output. It has colour only on a terminal that is
// not dumb, and not if NO_COLOR is set.
func (e *Env) Terminal() view.Terminal {
	file, ok := e.Out.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return view.Terminal{}
	}
	dumb := os.Getenv("TERM") == "dumb"
	t := view.Terminal{Live: !dumb, Colour: !dumb && os.Getenv("NO_COLOR") == ""}
	t.Stderr, _ = e.Err.(*view.TerminalWriter)
	size := func() (width, height int) {
		width, height, _ = term.GetSize(int(file.Fd())) // without a size there is no limit
		return width, height
	}
	t.Size = size
	t.Width, t.Height = size()
	return t
}
