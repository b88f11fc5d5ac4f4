package ui

import (
	"strings"

	"github.com/muster-deploy/muster/internal/base/plaintext"
)

// Debug prints a line about the work of the program if --debug is set: "03:04:05PM: debug: WHERE:
// text". Where names the part of the program, outer parts first.
func (u *UI) Debug(text string, where ...string) {
	if u.options.Debug {
		u.log("debug", text, where)
	}
}

// Info prints a line like that of Debug, with or without --debug.
func (u *UI) Info(text string, where ...string) { u.log("info", text, where) }

func (u *UI) log(level, text string, where []string) {
	fields := append([]string{u.clock("03:04:05PM"), level}, where...)
	u.Part(plaintext.Printable(strings.Join(append(fields, text), ": ")) + "\n")
}

// Logs prints the logs of containers. Prefix is "logs" within a run, and empty otherwise.
type Logs struct {
	UI     *UI
	Prefix string // stands before every line, with " | "
	Tagged bool   // lines of a container begin with its tag
}

// Note prints a line about the reading of logs: "logs | # starting tailing 'pod > container' logs".
// Text follows "# ".
func (l Logs) Note(text string) { l.UI.Part(l.margin() + "# " + text + "\n") }

// Line prints a line of a container's log. Only the last line may lack a newline.
func (l Logs) Line(tag, text string) {
	margin := l.margin()
	if l.Tagged {
		margin += tag + " | "
	}
	l.UI.Block(margin + strings.TrimSuffix(text, "\n") + "\n")
}

func (l Logs) margin() string {
	if l.Prefix == "" {
		return ""
	}
	return l.Prefix + " | "
}
