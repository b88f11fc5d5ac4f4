package changes

import (
	"strings"
	"unicode"

	"github.com/muster-deploy/muster/internal/show/view"
)

// Escape sequences of terminals.
const (
	red       = "\x1b[31m"
	green     = "\x1b[32m"
	yellow    = "\x1b[33m"
	cyan      = "\x1b[36m"
	reset     = "\x1b[0m"
	inverse   = "\x1b[7m"
	noInverse = "\x1b[27m"
)

// maxWords limits the lines whose words are compared one by one.
const maxWords = 300

// A part of at least minElided characters that two lines share is shortened on terminals to its
// first and last keptOfElided characters, if the line has no place in the window.
const minElided, keptOfElided = 40, 12

// colourOf returns the escape sequence for the lines with a sign; empty for none.
func colourOf(sign byte) string {
	switch sign {
	case '+':
		return green
	case '-', '!':
		return red
	case '~':
		return yellow
	case '@':
		return cyan
	default:
		return ""
	}
}

// paint colours a line by its sign.
func paint(t view.Terminal, sign byte, line string) string {
	if colour := colourOf(sign); t.Colour && colour != "" {
		return colour + line + reset
	}
	return line
}

// emphasized returns a changed line in which the words are marked that the line on the other side
// does not have. Without colour nothing is marked.
func (p *printer) emphasized(line, other string) string {
	t := p.terminal
	content := strings.TrimLeft(line[1:], " -") // items of lists may begin at another key
	spans := spansOf(words(content), words(strings.TrimLeft(other[1:], " -")))
	if t.Width > 0 && len([]rune(line))+len(indent) > t.Width && !p.options.Full {
		elide(spans)
	}
	marked, same := 0, 0
	for _, s := range spans {
		if s.changed {
			marked += len(s.text)
		} else {
			same += len(strings.TrimSpace(s.text))
		}
	}
	var b strings.Builder
	b.WriteString(line[:len(line)-len(content)])
	for _, s := range spans {
		if s.changed && t.Colour && marked > 0 && same > 0 {
			b.WriteString(inverse + s.text + noInverse)
		} else {
			b.WriteString(s.text)
		}
	}
	return paint(t, line[0], b.String())
}

// span is a part of a line.
type span struct {
	text    string
	changed bool // the other line does not have it
}

// words divides a text into words, which may have dots and hyphens, and single other characters.
func words(text string) []string {
	inWord := func(r rune) bool {
		return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("._-", r)
	}
	var found []string
	begin := -1
	for i, r := range text {
		if inWord(r) {
			if begin < 0 {
				begin = i
			}
			continue
		}
		if begin >= 0 {
			found = append(found, text[begin:i])
			begin = -1
		}
		found = append(found, string(r))
	}
	if begin >= 0 {
		found = append(found, text[begin:])
	}
	return found
}

// spansOf returns the words of a line as spans: those that another line has in the same order, and
// the others.
func spansOf(line, other []string) []span {
	begin := 0
	for begin < min(len(line), len(other)) && line[begin] == other[begin] {
		begin++
	}
	end := 0
	for end < min(len(line), len(other))-begin &&
		line[len(line)-1-end] == other[len(other)-1-end] {
		end++
	}
	spans := appendSpan(nil, line[:begin], false)
	middle, otherMiddle := line[begin:len(line)-end], other[begin:len(other)-end]
	if len(middle) > maxWords || len(otherMiddle) > maxWords {
		spans = appendSpan(spans, middle, true)
	} else {
		shared := sharedWords(middle, otherMiddle)
		for i := range middle {
			spans = appendSpan(spans, middle[i:i+1], !shared[i])
		}
	}
	return appendSpan(spans, line[len(line)-end:], false)
}

// appendSpan appends words, to the last span if that is of the same sort.
func appendSpan(spans []span, words []string, changed bool) []span {
	text := strings.Join(words, "")
	switch last := len(spans) - 1; {
	case text == "":
	case last >= 0 && spans[last].changed == changed:
		spans[last].text += text
	default:
		spans = append(spans, span{text, changed})
	}
	return spans
}

// sharedWords reports for each word whether it belongs to the longest common subsequence with other
// words.
func sharedWords(words, other []string) []bool {
	lengths := make([][]int, len(words)+1)
	for i := range lengths {
		lengths[i] = make([]int, len(other)+1)
	}
	for i := len(words) - 1; i >= 0; i-- {
		for j := len(other) - 1; j >= 0; j-- {
			if lengths[i][j] = max(lengths[i+1][j], lengths[i][j+1]); words[i] == other[j] {
				lengths[i][j] = max(lengths[i][j], lengths[i+1][j+1]+1)
			}
		}
	}
	shared := make([]bool, len(words))
	for i, j := 0, 0; i < len(words) && j < len(other); {
		switch {
		case words[i] == other[j]:
			shared[i] = true
			i, j = i+1, j+1
		case lengths[i+1][j] >= lengths[i][j+1]:
			i++
		default:
			j++
		}
	}
	return shared
}

// elide shortens the long parts that are the same in both lines.
func elide(spans []span) {
	for i, s := range spans {
		runes := []rune(s.text)
		if s.changed || len(runes) < minElided {
			continue
		}
		begin, end := runes[:keptOfElided], runes[len(runes)-keptOfElided:]
		spans[i].text = string(begin) + "…" + string(end)
	}
}
