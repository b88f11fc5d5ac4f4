package manifest

import (
	"fmt"
	"slices"
)

// maxProblems limits the reported problems of one document, and those of one file.
const maxProblems = 20

// document is one document of a stream, with the state of its parser.
type document struct {
	number    int // position in the stream, counted from 1
	start     int // lines of the stream before the text that the parser sees
	line      int // first line of the content in the stream
	options   Options
	subject   string // the object whose content is being checked, as problems begin with it
	objects   []map[string]any
	problems  []problem
	warnings  []problem
	expansion *expansion
}

// problem is an error or a warning in a document.
type problem struct {
	line    int // in the stream
	message string
}

// failAt records a problem on a line of the parsed text. It ignores repetitions through aliases.
func (d *document) failAt(line int, format string, args ...any) {
	if !d.hasMaxProblems() {
		d.problems = d.addProblem(d.problems, line, fmt.Sprintf(format, args...))
	}
}

// warnAt records a warning as failAt records a problem.
func (d *document) warnAt(line int, format string, args ...any) {
	if len(d.warnings) < maxProblems {
		d.warnings = d.addProblem(d.warnings, line, fmt.Sprintf(format, args...))
	}
}

func (d *document) addProblem(to []problem, line int, message string) []problem {
	p := problem{d.start + line, d.subject + message}
	if slices.Contains(to, p) {
		return to
	}
	return append(to, p)
}

// hasMaxProblems reports whether the document has reached maxProblems.
func (d *document) hasMaxProblems() bool {
	return len(d.problems) >= maxProblems
}
