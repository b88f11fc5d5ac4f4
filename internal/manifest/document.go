package manifest

import (
	"fmt"
	"slices"
)

// maxProblems limits the reported problems of one document, and those of one file.
const maxProblems = 10

// document is one document of a stream, with the state of its parser.
type document struct {
	number    int // position in the stream, counted from 1
	start     int // lines of the stream before the text that the parser sees
	line      int // first line of the content in the stream
	options   Options
	subject   string // the object whose content is being checked, as problems begin with it
	objects   []map[string]any
	problems  []problem
	omitted   int // problems that were not added
	warnings  []problem
	expansion *expansion
}

// problem is an error or a warning in a document.
type problem struct {
	line     int    // in the stream
	subject  string // the prefix of the message
	message  string
	metadata bool // it becomes a *MetadataError
}

// MetadataError reports labels or annotations that are not strings.
type MetadataError struct {
	Place   string // the file, document, line and object, as a prefix of the problem
	Problem string // such as: label "on" must be a string, got boolean
}

func (e *MetadataError) Error() string { return e.Place + e.Problem }

// failAt records a problem on a line of the parsed text. It ignores repetitions through aliases.
func (d *document) failAt(line int, format string, args ...any) {
	d.addProblem(problem{line: line, message: fmt.Sprintf(format, args...)})
}

// failMetadataAt records a problem with labels or annotations as failAt records others.
func (d *document) failMetadataAt(line int, format string, args ...any) {
	d.addProblem(problem{line: line, message: fmt.Sprintf(format, args...), metadata: true})
}

// warnAt records a warning as failAt records a problem.
func (d *document) warnAt(line int, format string, args ...any) {
	if len(d.warnings) < maxProblems {
		d.warnings = d.add(d.warnings, problem{line: line, message: fmt.Sprintf(format, args...)})
	}
}

func (d *document) addProblem(p problem) {
	if !d.omit() {
		d.problems = d.add(d.problems, p)
	}
}

// add appends a problem, whose line is that of the parsed text, unless it is a repetition.
func (d *document) add(to []problem, p problem) []problem {
	p.line, p.subject = d.start+p.line, d.subject
	if slices.Contains(to, p) {
		return to
	}
	return append(to, p)
}

// omit reports whether the document has reached maxProblems, and then counts another one.
func (d *document) omit() bool {
	if len(d.problems) < maxProblems {
		return false
	}
	d.omitted++
	return true
}
