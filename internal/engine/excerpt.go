package engine

import (
	"regexp"
	"slices"
)

// traceLines is how many lines of a log are read to find the message above a stack trace.
const traceLines = 300

// Lines of stack traces. A trace of Go lasts until an empty line, one of Python while lines are
// indented.
var (
	goTrace     = regexp.MustCompile(`^goroutine \d+ .*\[.+\]:$|^runtime stack:$`)
	pythonTrace = regexp.MustCompile(`^Traceback \(most recent call last\):$`)
	traceLine   = regexp.MustCompile(`^\s+(?:at |from |\.\.\. \d+ |\d+: )|` +
		`^#\d+ +(?:0x|/|\{)|^\[signal |` +
		`^(?i:stack (?:back)?trace:)$|^exit status \d+$|^Node\.js v|^note: run with .RUST_BACKTRACE`)
)

// noLog matches the lines that a kubelet sends instead of a log that is gone, with its container.
var noLog = regexp.MustCompile(`^failed to try resolving symlinks in path "/var/log/|` +
	`^unable to retrieve container logs for [a-z-]+://`)

// excerpt returns the last lines of a log that say why a program ended, at most n: without stack
// traces, which are longer than their messages.
func excerpt(log []string, n int) []string {
	log = slices.DeleteFunc(slices.Clone(log), noLog.MatchString)
	var messages []string
	inGo, inPython := false, false
	for _, line := range log {
		inGo = line != "" && (inGo || goTrace.MatchString(line))
		inPython = pythonTrace.MatchString(line) ||
			inPython && (line == "" || line[0] == ' ' || line[0] == '\t')
		if line != "" && !inGo && !inPython && !traceLine.MatchString(line) {
			messages = append(messages, line)
		}
	}
	if len(messages) == 0 {
		messages = log
	}
	return messages[max(0, len(messages)-n):]
}
