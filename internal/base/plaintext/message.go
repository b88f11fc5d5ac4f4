package plaintext

import (
	"fmt"
	"strings"
	"unicode"
)

// Limits of what is printed for people, in bytes. A line of an error names an object and a few
// fields; a list in an error may have many lines.
const (
	textLineHead = 3000
	textLineTail = 500
	maxText      = 64 << 10
	maxMessage   = 16 << 10
)

// continued is the indentation of the second line of a message, and of those after it.
const continued = "    "

// Text prepares a text of any lines for people: see Printable. It omits the middle of long lines,
// and the end of a long text.
func Text(text string) string { return printed(text, maxText, "") }

// Message prepares the text of one event, status or error of an object for people: see Text. All
// lines but the first are indented, so one message never seems to be several.
func Message(text string) string { return printed(text, maxMessage, continued) }

// printed returns the lines of a text, without control characters, as far as a limit allows. Each
// line but the first begins with an indentation, unless it begins with a space.
func printed(text string, limit int, indent string) string {
	text = strings.ToValidUTF8(text, string(unicode.ReplacementChar))
	text, ended := strings.CutSuffix(text, "\n")
	lines := strings.Split(text, "\n")
	var b strings.Builder
	for i, line := range lines {
		line = withoutMiddle(Printable(line), textLineHead, textLineTail)
		if i > 0 {
			b.WriteByte('\n')
			if line != "" && line[0] != ' ' {
				line = indent + line
			}
		}
		if i > 0 && b.Len()+len(line) > limit {
			fmt.Fprintf(&b, "%s… %d more lines", indent, len(lines)-i)
			break
		}
		b.WriteString(line)
	}
	if ended {
		b.WriteByte('\n')
	}
	return b.String()
}
