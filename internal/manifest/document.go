package manifest

import (
	"fmt"
	"slices"
)

// maxProblems limits the reported problems of one document.
const maxProblems = 20

// document is one document of a stream, with the state of its parser.
type document struct {
	number    int // position in the stream, counted from 1
	start     int // lines of the stream before the text that the parser sees
	line      int // first line of the content in the stream
	omit      Omit
	subject   string // the object whose content is being checked, as problems begin with it
	objects   []map[string]any
	problems  []problem
	expansion *expansion
}

// problem is an error in a document.
type problem struct {
	line    int // in the stream
	message string
}

// failAt records a problem on a line of the parsed text. It ignores repetitions through aliases.
func (d *document) failAt(line int, format string, args ...any) {
	if d.hasMaxProblems() {
		return
	}
	p := problem{d.start + line, d.subject + fmt.Sprintf(format, args...)}
	if !slices.Contains(d.problems, p) {
		d.problems = append(d.problems, p)
	}
}

// hasMaxProblems reports whether the document has reached maxProblems.
func (d *document) hasMaxProblems() bool {
	return len(d.problems) >= maxProblems
}
