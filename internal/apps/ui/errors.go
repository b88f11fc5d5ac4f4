package ui

import (
	"errors"
	"fmt"
	"strings"
)

// ExitError is an error that ends the program with a code of its own.
type ExitError struct {
	Code int
	Text string
}

func (e *ExitError) Error() string { return fmt.Sprintf("%s (exit status %d)", e.Text, e.Code) }

// ExitStatus is the exit code.
func (e *ExitError) ExitStatus() int { return e.Code }

// Changes reports what the code of Diffed and Applied tells: whether there were changes.
func (e *ExitError) Changes() bool { return e.Code == withChanges }

// The exit codes of those who ask whether there were changes.
const (
	withoutChanges = 2
	withChanges    = 3
)

// DiffExit is the error that tells those who asked for --diff-exit-status whether something would change.
func DiffExit(changes bool) error {
	if changes {
		return &ExitError{withChanges, "Exiting after diffing with pending changes"}
	}
	return &ExitError{withoutChanges, "Exiting after diffing with no pending changes"}
}

// ApplyExit is the error that tells those who asked for --apply-exit-status whether there was something to do.
func ApplyExit(changes bool) error {
	if changes {
		return &ExitError{withChanges, "Exiting after applying with changes"}
	}
	return &ExitError{withoutChanges, "Exiting after applying with no changes"}
}

func exitCode(err error) int {
	var status interface{ ExitStatus() int }
	switch {
	case err == nil:
		return 0
	case errors.As(err, &status):
		return status.ExitStatus()
	default:
		return 1
	}
}

// BreakLines breaks the first line of an error's text after every ": " that a capital follows, each piece two spaces further in. What
// stands in brackets stays whole; a line whose brackets do not match stays as it is.
func BreakLines(text string) string {
	line, rest, more := strings.Cut(text, "\n")
	depths, ok := nesting(line)
	if !ok {
		return text
	}
	var b strings.Builder
	start, margin := 0, ""
	for i := 0; i+2 < len(line); i++ {
		if depths[i] == 0 && line[i] == ':' && line[i+1] == ' ' && 'A' <= line[i+2] && line[i+2] <= 'Z' {
			margin += "  "
			b.WriteString(line[start:i] + ":\n" + margin)
			start = i + 2
		}
	}
	b.WriteString(line[start:])
	if more {
		b.WriteString("\n" + rest)
	}
	return b.String()
}

// List joins the texts of several errors as kapp does; a single one stays as it is.
func List(texts []string) string {
	if len(texts) == 1 {
		return texts[0]
	}
	var b strings.Builder
	b.WriteString("\n\n")
	for _, text := range texts {
		b.WriteString("  - " + text + "\n\n")
	}
	return b.String()
}

// Bullets makes lists of what a text has in square brackets, as servers put the fields that are wrong: an empty line, then every
// item after "  - " with an empty line after it. The next item begins after a comma where something like a name or the path of a
// field follows. A list of one item stays in its brackets, and so does all if brackets do not match.
func Bullets(text string) string {
	depths, ok := nesting(text)
	if !ok {
		return text
	}
	var b strings.Builder
	for at := 0; at < len(text); {
		if text[at] != '[' || depths[at] != 1 {
			b.WriteByte(text[at])
			at++
			continue
		}
		end := at + 1
		for depths[end] > 0 {
			end++
		}
		if items := items(text[at+1:end], depths[at+1:end]); len(items) > 1 && text[end] == ']' {
			b.WriteString("\n\n")
			for _, item := range items {
				b.WriteString("  - " + item + "\n\n")
			}
		} else {
			b.WriteString(text[at : end+1])
		}
		at = end + 1
	}
	return b.String()
}

// items splits what stands between two brackets.
func items(text string, depths []int) []string {
	var items []string
	start := 0
	for i := 0; i+1 < len(text); i++ {
		if depths[i] == 1 && text[i] == ',' && text[i+1] == ' ' && begins(text[i+2:], depths[i+2:]) {
			items = append(items, text[start:i])
			start = i + 2
		}
	}
	return append(items, text[start:])
}

// begins reports whether an item may begin with a text: with three characters that names and paths begin with.
func begins(text string, depths []int) bool {
	for i := range 3 {
		if i >= len(text) || depths[i] != 1 || !strings.ContainsRune("abcdefghijklmnopqrstuvwxyz.: \t\n\f\r", rune(text[i])) {
			return false
		}
	}
	return true
}

// How decoders quote parts of what they read. Brackets do not count within.
const quoteBegins, quoteEnds = "...|", "|..."

// nesting tells of every byte of a text how deep in brackets it is, an opening one as deep as what it holds and a closing one as
// what follows it, and whether the brackets match. Of what kind they are does not count.
func nesting(text string) ([]int, bool) {
	depths := make([]int, len(text))
	depth, quotes := 0, 0 // quotes are the innermost levels
	for i := range len(text) {
		switch c := text[i]; {
		case quotes == 0 && strings.IndexByte("[({", c) >= 0:
			depth++
		case quotes == 0 && strings.IndexByte("])}", c) >= 0:
			if depth == 0 {
				return nil, false
			}
			depth--
		case i+len(quoteBegins) < len(text) && strings.HasPrefix(text[i:], quoteBegins):
			depth, quotes = depth+1, quotes+1
		case strings.HasSuffix(text[:i+1], quoteEnds):
			if depth == 0 {
				return nil, false
			}
			depth, quotes = depth-1, max(quotes-1, 0)
		}
		depths[i] = depth
	}
	return depths, depth == 0
}
