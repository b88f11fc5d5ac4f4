package ui

import (
	"errors"
	"fmt"
	"strings"
)

// ExitError is an error with an exit code of its own.
type ExitError struct {
	Code int
	Text string
}

func (e *ExitError) Error() string { return fmt.Sprintf("%s (exit status %d)", e.Text, e.Code) }

// ExitStatus returns the exit code.
func (e *ExitError) ExitStatus() int { return e.Code }

// Changes reports whether there were changes.
func (e *ExitError) Changes() bool { return e.Code == withChanges }

// The exit codes of --diff-exit-status and --apply-exit-status.
const (
	withoutChanges = 2
	withChanges    = 3
)

// DiffExit returns the error that ends a command with --diff-exit-status.
func DiffExit(changes bool) error {
	if changes {
		return &ExitError{withChanges, "Exiting after diffing with pending changes"}
	}
	return &ExitError{withoutChanges, "Exiting after diffing with no pending changes"}
}

// ApplyExit returns the error that ends a command with --apply-exit-status.
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

// BreakLines breaks the first line of an error after every ": " that a capital letter follows, and
// indents each part two spaces further. It does not break text in brackets, nor a line whose
// brackets do not match.
func BreakLines(text string) string {
	line, rest, more := strings.Cut(text, "\n")
	depths, ok := nestingDepths(line)
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

// List joins the texts of several errors as kapp does. It returns a single text unchanged.
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

// Bullets turns lists in square brackets into lists of lines, since API servers report invalid
// fields in brackets: an empty line, then each item after two spaces and "- ", with an empty line
// after it. An item begins after a comma if a name or the path of a field follows. Bullets keeps
// lists of one item, and all lists if brackets do not match.
func Bullets(text string) string {
	depths, ok := nestingDepths(text)
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

// items splits the text between two brackets.
func items(text string, depths []int) []string {
	var items []string
	start := 0
	for i := 0; i+1 < len(text); i++ {
		if depths[i] == 1 && text[i] == ',' && text[i+1] == ' ' && beginsItem(text[i+2:], depths[i+2:]) {
			items = append(items, text[start:i])
			start = i + 2
		}
	}
	return append(items, text[start:])
}

// beginsItem reports whether text begins with three characters that may begin a name or a path.
func beginsItem(text string, depths []int) bool {
	for i := range 3 {
		if i >= len(text) || depths[i] != 1 ||
			!strings.ContainsRune("abcdefghijklmnopqrstuvwxyz.: \t\n\f\r", rune(text[i])) {
			return false
		}
	}
	return true
}

// The marks by which decoders quote input. Brackets between them do not count.
const quoteBegins, quoteEnds = "...|", "|..."

// nestingDepths returns the depth of brackets at every byte of a text, and whether the brackets
// match. An opening bracket has the depth of its content, a closing one the depth of the text after
// it. All kinds of brackets count as one.
func nestingDepths(text string) ([]int, bool) {
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
