package cli

import (
	"os"
	"slices"
	"strings"

	"golang.org/x/term"

	"github.com/muster-deploy/muster/internal/base/plaintext"
	"github.com/muster-deploy/muster/internal/show/fullscreen"
	"github.com/muster-deploy/muster/internal/show/view"
)

// IsTerminal reports whether the standard output is a terminal.
func (e *Env) IsTerminal() bool {
	file, ok := e.outFile()
	return ok && term.IsTerminal(int(file.Fd()))
}

// outFile returns the file that is the standard output.
func (e *Env) outFile() (*os.File, bool) {
	if ascii, ok := e.Out.(asciiTerminal); ok {
		return ascii.file, true
	}
	file, ok := e.Out.(*os.File)
	return file, ok
}

// asciiTerminal writes to a terminal whose locale has no characters but those of ASCII.
type asciiTerminal struct{ file *os.File }

// Write writes a text. The whole of a character has to be in it.
func (t asciiTerminal) Write(data []byte) (int, error) {
	if _, err := t.file.WriteString(plaintext.ASCII(string(data))); err != nil {
		return 0, err
	}
	return len(data), nil
}

// inLocale returns the environment with a standard output that is written in the characters of the
// locale, if it is a terminal. Files and pipes have the same characters in all locales.
func (e *Env) inLocale() *Env {
	file, ok := e.Out.(*os.File)
	if !ok || !e.IsTerminal() || !e.IsASCII() {
		return e
	}
	as := *e
	as.Out = asciiTerminal{file}
	return &as
}

// Terminal returns the properties of the standard output. It has colour only on a terminal that is
// not dumb, and not if NO_COLOR is set.
func (e *Env) Terminal() view.Terminal {
	file, ok := e.outFile()
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return view.Terminal{}
	}
	dumb := os.Getenv("TERM") == "dumb"
	_, ascii := e.Out.(asciiTerminal)
	t := view.Terminal{Live: !dumb, Colour: !dumb && os.Getenv("NO_COLOR") == "", ASCII: ascii}
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
	out, ok := e.outFile()
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
