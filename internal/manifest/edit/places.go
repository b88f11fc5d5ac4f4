package edit

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// offset returns where a node begins in the text.
func (e *editor) offset(n *yaml.Node) int {
	pos := e.lines[n.Line-1]
	for range n.Column - 1 { // columns count characters
		_, size := utf8.DecodeRune(e.text[pos:])
		pos += size
	}
	return pos
}

// inlineEnd returns where a scalar on one line, or a map or list in brackets, ends.
func (e *editor) inlineEnd(n *yaml.Node, from int) (end int, ok bool) {
	text := e.text[from:]
	if len(text) == 0 {
		return 0, false
	}
	switch {
	case n.Kind != yaml.ScalarNode && n.Style&yaml.FlowStyle != 0:
		if text[0] == '{' || text[0] == '[' { // no tag
			end = closing(text)
		}
	case n.Kind != yaml.ScalarNode:
		return 0, false
	case n.Style&yaml.DoubleQuotedStyle != 0, n.Style&yaml.SingleQuotedStyle != 0:
		if text[0] == '"' || text[0] == '\'' {
			end = quoted(text)
		}
	case n.Style == 0 && n.Value != "" && bytes.HasPrefix(text, []byte(n.Value)):
		end = len(n.Value)
	}
	return from + end, end > 0
}

// quoted returns the length of the quoted scalar at the beginning of a text.
func quoted(text []byte) int {
	quote := text[0]
	for i := 1; i < len(text); i++ {
		switch {
		case text[i] == '\\' && quote == '"':
			i++
		case text[i] == quote && quote == '\'' && i+1 < len(text) && text[i+1] == quote:
			i++
		case text[i] == quote:
			return i + 1
		}
	}
	return 0
}

// closing returns the length of the map or list in brackets at the beginning of a text; 0 if it has
// comments.
func closing(text []byte) int {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			if depth--; depth == 0 {
				return i + 1
			}
		case (c == '"' || c == '\'') && bytes.IndexByte([]byte(" \n{[,:"), text[i-1]) >= 0:
			n := quoted(text[i:])
			if n == 0 {
				return 0
			}
			i += n - 1
		case c == '#' && bytes.IndexByte([]byte(" \n\t"), text[i-1]) >= 0:
			return 0
		}
	}
	return 0
}

// blockEnd returns where the lines end that belong to an entry or an item at a line and a column:
// those that begin further right and, below the key of a list, its dashes.
func (e *editor) blockEnd(line, column int, dashes bool) int {
	end := line
	for next := line; next < len(e.lines); next++ {
		text := e.text[e.lines[next]:]
		if i := bytes.IndexByte(text, '\n'); i >= 0 {
			text = text[:i]
		}
		content := bytes.TrimLeft(text, " ")
		at := len(text) - len(content)
		content = bytes.TrimSpace(content)
		isDash := dashes && at == column && (bytes.HasPrefix(content, []byte("- ")) ||
			len(content) == 1 && content[0] == '-')
		switch {
		case len(content) == 0 || content[0] == '#' && at <= column: // it belongs to what follows
		case at > column || isDash:
			end = next + 1
		default:
			next = len(e.lines)
		}
	}
	if end >= len(e.lines) {
		return len(e.text)
	}
	return e.lines[end]
}

// commentStart returns where the line of a node begins, or the comment above it that belongs to it.
func (e *editor) commentStart(n *yaml.Node) int {
	line := n.Line - 1
	for comments := strings.Count(n.HeadComment, "\n") + 1; n.HeadComment != "" && comments > 0 &&
		line > 0; comments-- {
		above := bytes.TrimSpace(e.text[e.lines[line-1]:e.lines[line]])
		if len(above) == 0 || above[0] != '#' {
			break
		}
		line--
	}
	return e.lines[line]
}
