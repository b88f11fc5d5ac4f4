package ytt

import (
	"strings"

	"go.yaml.in/yaml/v3"
)

// literals are the parts of a text that strings occupy. A "#" there begins no comment.
type literals struct {
	lines []string
	whole map[int]bool // lines inside a string
	upTo  map[int]int  // end of the last quoted string of a line in bytes
}

// walk adds the strings of a node. indent is the indentation of its key or dash.
func (s *literals) walk(node *yaml.Node, indent int) {
	switch node.Kind {
	case yaml.DocumentNode:
		for _, child := range node.Content {
			s.walk(child, -1)
		}
	case yaml.MappingNode:
		for i := 0; i+1 < len(node.Content); i += 2 {
			s.walk(node.Content[i], indent)
			s.walk(node.Content[i+1], node.Content[i].Column-1)
		}
	case yaml.SequenceNode:
		for _, item := range node.Content {
			s.walk(item, s.dashIndent(item))
		}
	case yaml.ScalarNode:
		switch {
		case node.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
			s.block(node.Line, indent)
		case node.Style&yaml.DoubleQuotedStyle != 0:
			s.quoted(node, '"')
		case node.Style&yaml.SingleQuotedStyle != 0:
			s.quoted(node, '\'')
		}
	}
}

// dashIndent returns the indentation of the dash before an item.
func (s *literals) dashIndent(item *yaml.Node) int {
	if item.Line < 1 || item.Line > len(s.lines) {
		return 0
	}
	return max(0, strings.LastIndexByte(prefix(s.lines[item.Line-1], item.Column-1), '-'))
}

// block adds the lines of a block scalar: those after its head that are empty or indented more.
func (s *literals) block(head, indent int) {
	for line := head + 1; line <= len(s.lines); line++ {
		text := s.lines[line-1]
		if strings.TrimSpace(text) != "" && len(text)-len(strings.TrimLeft(text, " ")) <= indent {
			return
		}
		s.whole[line] = true
	}
}

// quoted adds the lines of a quoted string.
func (s *literals) quoted(node *yaml.Node, quote byte) {
	if node.Line < 1 || node.Line > len(s.lines) {
		return
	}
	line, at := node.Line, len(prefix(s.lines[node.Line-1], node.Column-1))
	if first := strings.IndexByte(s.lines[line-1][at:], quote); first >= 0 {
		at += first + 1
	}
	for ; line <= len(s.lines); line, at = line+1, 0 {
		text := s.lines[line-1]
		for at < len(text) {
			switch {
			case quote == '"' && text[at] == '\\':
				at++
			case quote == '\'' && strings.HasPrefix(text[at:], "''"):
				at++
			case text[at] == quote:
				s.upTo[line] = max(s.upTo[line], at+1)
				return
			}
			at++
		}
		s.whole[line] = line != node.Line
		s.upTo[line] = len(text)
	}
}

// prefix returns the first n characters of a line.
func prefix(line string, n int) string {
	for at := range line {
		if n <= 0 {
			return line[:at]
		}
		n--
	}
	return line
}
