package manifest

import (
	"bytes"
	"io"
	"sort"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/muster-deploy/muster/internal/base/plaintext"
)

// maxSearched limits the length of a text in which searchLine looks for the line of an error.
const maxSearched = 1 << 20

// syntaxError returns the line, counted from 1 in the text, and the message of an error of the YAML
// library.
func syntaxError(err error, text []byte) (int, string) {
	line, message := cutLine(err)
	last := 1 + bytes.Count(bytes.TrimRight(text, "\r\n"), []byte("\n"))
	switch what := strings.TrimPrefix(message, "did not find expected "); what {
	case "<document start>":
		line++
		message += "; put --- between documents"
	case "node content", "',' or ']'", "',' or '}'":
		line++ // the library counts these lines from 0; it is where the brackets open
	case "key", "'-' indicator":
		// The library reports the line where the map or list starts.
		line = searchLine(text, last, message)
	default:
		if line == 0 {
			line = searchLine(text, last, message)
		}
	}
	line = min(max(line, 1), last)
	return line, message + hint(message, text, line)
}

// hint returns what may have caused an error of the YAML library, to be added to it.
func hint(message string, text []byte, line int) string {
	at := 0
	for range line - 1 {
		at = endOfLine(text, at)
	}
	content := text[at:endOfLine(text, at)]
	indent := content[:len(content)-len(bytes.TrimLeft(content, " \t"))]
	switch {
	case strings.Contains(message, "UTF-8") || strings.HasPrefix(message, "control characters"):
		return "; save the file as text in UTF-8"
	case strings.Contains(message, "cannot start any token") && bytes.Contains(indent, []byte("\t")):
		return "; indent with spaces, not with tabs"
	case strings.HasPrefix(message, "unknown anchor"):
		return "; quote a text that begins with *"
	case bytes.Contains(content, []byte("{{")):
		return "; is this a template that has not been rendered?"
	}
	return ""
}

// cutLine splits the line from an error of the YAML library, which has it in the text only.
func cutLine(err error) (int, string) {
	message := strings.TrimPrefix(plaintext.HideYAML(err).Error(), "yaml: ")
	rest, ok := strings.CutPrefix(message, "line ")
	if !ok {
		return 0, message
	}
	number, rest, _ := strings.Cut(rest, ": ")
	line, err := strconv.Atoi(number)
	if err != nil {
		return 0, message
	}
	return line, rest
}

// searchLine returns the line of a parse error: the fewest lines of the text that produce the
// message.
func searchLine(text []byte, last int, message string) int {
	if len(text) > maxSearched {
		return 0
	}
	ends := make([]int, 1, last+1)
	for len(ends) <= last {
		ends = append(ends, endOfLine(text, ends[len(ends)-1]))
	}
	return sort.Search(last, func(lines int) bool {
		err := parse(text[:ends[lines]])
		if err == nil {
			return false
		}
		_, other := cutLine(err)
		return other == message
	})
}

// parse parses all documents of a text and returns the first error.
func parse(text []byte) error {
	for parser := yaml.NewDecoder(bytes.NewReader(text)); ; {
		var node yaml.Node
		if err := parser.Decode(&node); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
	}
}
