package cli

import (
	"os"
	"slices"
	"strings"

	"golang.org/x/term"

	"github.com/muster-deploy/muster/internal/fullscreen"
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

// plainTerminals are the values of TERM for terminals that only print lines.
var plainTerminals = []string{"", "dumb", "unknown", "emacs"}

// Fullscreen returns the options of a screen on the standard output. It reports false if that is no
// terminal on which screens are drawn, or if the variable CI says that nobody looks at it.
func (e *Env) Fullscreen() (fullscreen.Options, bool) {
	out, ok := e.Out.(*os.File)
	in, isFile := e.In.(*os.File)
	ci := strings.ToLower(e.Getenv("CI"))
	if !ok || !isFile || !e.IsTerminal() || slices.Contains(plainTerminals, e.Getenv("TERM")) ||
		ci != "" && ci != "false" && ci != "0" {
		return fullscreen.Options{}, false
	}
	return fullscreen.Options{
		In: in, Out: out, Colour: e.Getenv("NO_COLOR") == "", Restorer: e.Restorer,
	}, true
}

// IsASCII reports whether the locale of the terminal has no characters but those of ASCII.
func (e *Env) IsASCII() bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if value := strings.ToLower(e.Getenv(name)); value != "" {
			return !strings.Contains(value, "utf-8") && !strings.Contains(value, "utf8")
		}
	}
	return true
}
