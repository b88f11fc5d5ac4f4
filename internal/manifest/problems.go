package manifest

import (
	"errors"
	"fmt"
	"slices"

	"github.com/muster-deploy/muster/internal/base/plaintext"
)

// messages are the problems or warnings of one file, at most maxProblems of them.
type messages struct {
	texts   []error
	omitted int
}

// add adds the problems of a document, sorted by line. The text of a place is where, the line, and
// from.
func (m *messages) add(where, from string, problems []problem) {
	slices.SortStableFunc(problems, func(a, b problem) int { return a.line - b.line })
	for _, p := range problems {
		if len(m.texts) == maxProblems {
			m.omitted++
			continue
		}
		place := plaintext.Line(fmt.Sprintf("%s %d%s: %s", where, p.line, from, p.subject))
		message := plaintext.Line(p.message)
		if p.metadata {
			m.texts = append(m.texts, &MetadataError{place, message})
			continue
		}
		m.texts = append(m.texts, errors.New(place+message))
	}
}

// join returns all messages, a line each, and the number of those that were omitted.
func (m *messages) join(name, what string) error {
	if m.omitted > 0 {
		m.texts = append(m.texts, &omittedError{plaintext.Line(name) + ": ", m.omitted, what})
	}
	return errors.Join(m.texts...)
}

// omittedError is the number of the problems or warnings that are not printed.
type omittedError struct {
	place string // a prefix, such as the name of the file
	count int
	what  string // in the singular
}

func (e *omittedError) Error() string {
	what := e.what
	if e.count > 1 {
		what += "s"
	}
	return fmt.Sprintf("%sand %d more %s", e.place, e.count, what)
}

// Limit returns an error that joins the problems of many files with at most maxProblems of them and
// the number of the others. It does not change other errors.
func Limit(err error) error {
	var kept []error
	var rest omittedError
	count := 0
	for _, problem := range leaves(err) {
		more := (*omittedError)(nil)
		switch {
		case errors.As(problem, &more):
			rest.count += more.count
		case count < maxProblems:
			kept = append(kept, problem)
			count++
		default:
			rest.count++
			count++
		}
	}
	if count <= maxProblems {
		return err
	}
	rest.what = "problem"
	return errors.Join(append(kept, &rest)...)
}

// leaves returns the errors that an error joins, at any depth.
func leaves(err error) []error {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	var all []error
	for _, err := range joined.Unwrap() {
		all = append(all, leaves(err)...)
	}
	return all
}
