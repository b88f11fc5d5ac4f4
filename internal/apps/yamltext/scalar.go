package yamltext

import (
	"strings"
	"time"
	"unicode/utf8"
)

const (
	lineWidth = 80  // a line that is longer is broken at its next space
	longKey   = 100 // a key that is longer may be written in another way
)

// text writes a text that begins at a column, behind something that begins at indent. It reports false, and writes nothing, for
// one whose form is not known here.
func (w *writer) text(text string, indent, column int) bool {
	switch {
	case text == "":
		w.word(`""`)
	case strings.IndexByte(text, '\n') >= 0:
		return w.lines(text, indent+2)
	case !printable(text):
		return false
	case plain(text):
		w.folded(text, indent+2, column, "")
	case numeric(text):
		w.word(`"` + text + `"`)
	case quotable(text):
		w.folded(text, indent+2, column, "'")
	default:
		return false
	}
	return true
}

// folded writes a text between quotes, or none, and breaks it where it is long.
func (w *writer) folded(text string, indent, column int, quote string) {
	w.out.WriteString(" " + quote)
	column += len(quote)
	for i := range len(text) {
		c := text[i]
		switch {
		case c == ' ' && column > lineWidth && i > 0 && i < len(text)-1 && text[i-1] != ' ' && text[i+1] != ' ':
			w.out.WriteByte('\n')
			w.indent(indent)
			column = indent
			continue
		case c == '\'' && quote != "":
			w.out.WriteByte(c)
			column++
		}
		w.out.WriteByte(c)
		if utf8.RuneStart(c) {
			column++
		}
	}
	w.out.WriteString(quote + "\n")
}

// lines writes a text of several lines as a block.
func (w *writer) lines(text string, indent int) bool {
	body := strings.TrimRight(text, "\n")
	if body == "" || body[0] == ' ' || body[0] == '\n' || !printableLines(body) ||
		strings.Contains(body, " \n") || body[len(body)-1] == ' ' {
		return false
	}
	hint := ""
	switch len(text) - len(body) {
	case 0:
		hint = "-"
	case 1:
	default:
		hint = "+"
	}
	w.out.WriteString(" |" + hint + "\n")
	for line := range strings.SplitSeq(body, "\n") {
		if line != "" {
			w.indent(indent)
		}
		w.out.WriteString(line)
		w.out.WriteByte('\n')
	}
	for range len(text) - len(body) - 1 {
		w.out.WriteByte('\n')
	}
	return true
}

// printable reports whether a text has nothing but what is surely written as it is.
func printable(text string) bool {
	for _, c := range text {
		switch {
		case c >= ' ' && c <= '~', c >= 0xa0 && c < 0x2028, c > 0x2029 && c < 0xd800, c >= 0xe000 && c < 0xfeff, c > 0xfeff && c < utf8.RuneError:
		default:
			return false
		}
	}
	return true
}

// printableLines reports the same of a text of several lines.
func printableLines(text string) bool {
	for line := range strings.SplitSeq(text, "\n") {
		if !printable(line) {
			return false
		}
	}
	return true
}

// word reports whether a key is written as it is, and sorted as natural does.
func word(key string) bool {
	for i := range len(key) {
		if key[i] <= ' ' || key[i] > '~' {
			return false
		}
	}
	return plain(key)
}

// plain reports whether a text is surely written as it is.
func plain(text string) bool {
	if text == "" || !printable(text) || text[0] == ' ' || text[len(text)-1] == ' ' || text[len(text)-1] == ':' ||
		strings.Contains(text, ": ") || strings.Contains(text, " #") {
		return false
	}
	switch c := text[0]; {
	case letter(c), digit(c):
		return itself(text)
	case c >= utf8.RuneSelf, c == '/' || c == '(' || c == '$' || c == '_' || c == '\\' || c == '^' || c == ';':
		return true
	case c == '-' && len(text) > 2:
		return letter(text[1]) || text[1] == '-' && letter(text[2])
	}
	return false
}

// itself reports whether a text that begins with a letter or a digit surely means itself.
func itself(text string) bool {
	return letter(text[0]) && !reserved(text) || digit(text[0]) && !mayBeNumber(text)
}

// mayBeNumber reports whether a text that begins with a digit may mean something else than itself: a number, a time, or an angle.
func mayBeNumber(text string) bool {
	if len(text) > 4 && text[4] == '-' && strings.Trim(text[:4], "0123456789") == "" {
		return true
	}
	if strings.Trim(text, "0123456789.") == "" {
		return strings.Count(text, ".") < 2
	}
	return strings.Trim(text, "0123456789abcdefABCDEFxXoO_+-.:") == ""
}

// numeric reports whether a text looks like a number, a truth value, nothing or a time, and is written in double quotes for that.
func numeric(text string) bool {
	if len(text) <= 15 && strings.Trim(text, "0123456789") == "" || reserved(text) {
		return true
	}
	whole, fraction, ok := strings.Cut(text, ".")
	if ok && len(text) <= 15 && whole != "" && fraction != "" && strings.Trim(whole+fraction, "0123456789") == "" {
		return true
	}
	if len(text) != len("2006-01-02T15:04:05Z") || text[len(text)-1] != 'Z' {
		return false
	}
	_, err := time.Parse(time.RFC3339, text)
	return err == nil
}

// quotable reports whether a text is surely written in single quotes: it means itself, but begins with, or has in it, what would be
// read in another way.
func quotable(text string) bool {
	return strings.IndexByte(" #,[]{}&*!|>'\"%@`", text[0]) >= 0 || itself(text)
}

func letter(c byte) bool { return (c|0x20) >= 'a' && (c|0x20) <= 'z' }

func digit(c byte) bool { return c >= '0' && c <= '9' }

// reserved reports whether a word means a truth value or nothing: in small letters, in capitals, or with one.
func reserved(text string) bool {
	if len(text) > len("false") {
		return false
	}
	small := strings.ToLower(text)
	switch small {
	case "y", "yes", "n", "no", "true", "false", "on", "off", "null":
		return text[1:] == small[1:] || text == strings.ToUpper(text)
	}
	return false
}
