package manifest

import (
	"fmt"
	"slices"
)

// maxProblems is how many problems of one document are reported. Whoever mends so many runs again.
const maxProblems = 20

// document is one document of a stream that is being read.
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

// problem is something that keeps a document from being used.
type problem struct {
	line    int // in the stream
	message string
}

// failAt notes a problem on a line of the text that the parser sees. The same problem met again through an alias counts
// once.
func (d *document) failAt(line int, format string, args ...any) {
	if d.full() {
		return
	}
	p := problem{d.start + line, d.subject + fmt.Sprintf(format, args...)}
	if !slices.Contains(d.problems, p) {
		d.problems = append(d.problems, p)
	}
}

// full says that more problems would not be reported.
func (d *document) full() bool {
	return len(d.problems) >= maxProblems
}
