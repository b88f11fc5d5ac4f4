package ui

import "strings"

// Debug tells what the program does, where --debug asks for it: "03:04:05PM: debug: WHERE: text". Where names the part of the
// program, the outer parts first.
func (u *UI) Debug(text string, where ...string) {
	if u.options.Debug {
		u.log("debug", text, where)
	}
}

// Info tells in a line as that of Debug what the user did not ask for but should know.
func (u *UI) Info(text string, where ...string) { u.log("info", text, where) }

func (u *UI) log(level, text string, where []string) {
	fields := append([]string{u.clock("03:04:05PM"), level}, where...)
	u.Part(strings.Join(append(fields, text), ": ") + "\n")
}

// Logs prints the logs of containers, each line with the prefix: "logs" in the midst of a run, or nothing.
type Logs struct {
	UI     *UI
	Prefix string // stands before every line, with " | "
	Tagged bool   // lines of a container begin with its tag
}

// Note tells how reading the logs goes: "logs | # starting tailing 'pod > container' logs". Text is what stands after "# ".
func (l Logs) Note(text string) { l.UI.Part(l.margin() + "# " + text + "\n") }

// Line gives a line of a container's log, which ends with a newline or is the last one of the log.
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
