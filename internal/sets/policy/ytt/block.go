package ytt

import (
	"fmt"
	"regexp"
	"strings"
)

// source is one line of script, or the call that a template makes for a YAML node.
type source struct {
	text string
	line int   // in the text
	part *part // the node that this call opens, or nil
}

// stmt is a statement: one logical line, with the block that it opens.
type stmt struct {
	source
	lines []int // line numbers of the physical lines
	opens bool
	body  []*stmt
}

// appendLine appends the physical lines of a source.
func (s *stmt) appendLine(in source) {
	if s.lines != nil {
		s.text += "\n"
	}
	s.text += in.text
	for range 1 + strings.Count(in.text, "\n") {
		s.lines = append(s.lines, in.line)
	}
}

// lineState is the lexical state at the end of a physical line. It decides whether the next line
// belongs to the same statement.
type lineState struct {
	brackets int
	quote    string // the three quotes that end the current long string
	joined   bool   // the line ended with a backslash
	last     byte   // the last byte of code
}

func (t *lineState) isOpen() bool { return t.brackets > 0 || t.quote != "" || t.joined }

// read updates the state with one physical line.
func (t *lineState) read(line string) {
	t.joined = false
	for i := 0; i < len(line); {
		c := line[i]
		switch {
		case t.quote != "":
			i = t.readLongString(line, i)
			continue
		case c == '#':
			return
		case c == '"' || c == '\'':
			i = t.readString(line, i)
			continue
		case c == '\\' && strings.TrimRight(line[i:], " \t\r") == `\`:
			t.joined = true
			return
		case strings.IndexByte("([{", c) >= 0:
			t.brackets++
		case strings.IndexByte(")]}", c) >= 0 && t.brackets > 0:
			t.brackets--
		}
		if c != ' ' && c != '\t' && c != '\r' {
			t.last = c
		}
		i++
	}
}

// readLongString reads on in a long string and returns the next position.
func (t *lineState) readLongString(line string, i int) int {
	switch {
	case line[i] == '\\':
		return i + 2
	case strings.HasPrefix(line[i:], t.quote):
		i += len(t.quote)
		t.quote, t.last = "", '"'
		return i
	}
	return i + 1
}

// readString reads the beginning of a string, the whole of a short one, and returns the next
// position.
func (t *lineState) readString(line string, i int) int {
	if long := strings.Repeat(line[i:i+1], 3); strings.HasPrefix(line[i:], long) {
		t.quote = long
		return i + 3
	}
	t.last = line[i]
	for j := i + 1; j < len(line); j++ {
		switch line[j] {
		case '\\':
			j++
		case line[i]:
			return j + 1
		}
	}
	return len(line)
}

// logicalLines joins physical lines to statements.
func logicalLines(sources []source) ([]*stmt, error) {
	var out []*stmt
	for i := 0; i < len(sources); i++ {
		s := &stmt{source: source{line: sources[i].line, part: sources[i].part}}
		s.appendLine(sources[i])
		s.text = strings.TrimLeft(s.text, " \t")
		if s.part != nil {
			out = append(out, s)
			continue
		}
		var t lineState
		t.read(s.text)
		for t.isOpen() && i+1 < len(sources) {
			i++
			if sources[i].part != nil {
				return nil, fmt.Errorf(
					"line %d: a bracket or string is still open where the YAML of line %d begins",
					s.line, sources[i].line)
			}
			s.appendLine(sources[i])
			t.read(sources[i].text)
		}
		s.opens = t.last == ':'
		out = append(out, s)
	}
	return out, nil
}

var endPattern = regexp.MustCompile(`^end\s*(#.*)?$`)

// word returns the keyword that the line begins with.
func (s *stmt) word() string {
	end := strings.IndexFunc(s.text, func(r rune) bool { return r < 'a' || r > 'z' })
	if end < 0 {
		return s.text
	}
	return s.text[:end]
}

// nestBlocks arranges statements in blocks. As in ytt, a block ends with "end" or with the next
// branch of an if, and indentation has no meaning.
func nestBlocks(stmts []*stmt) (*stmt, error) {
	root := &stmt{}
	stack := []*stmt{root}
	for _, s := range stmts {
		top := stack[len(stack)-1]
		switch word := s.word(); {
		case s.part == nil && endPattern.MatchString(s.text):
			if len(stack) == 1 {
				return nil, fmt.Errorf("line %d: end closes nothing", s.line)
			}
			stack = stack[:len(stack)-1]
			continue
		case s.opens && (word == "else" || word == "elif"):
			if before := top.word(); before != "if" && before != "elif" {
				return nil, fmt.Errorf("line %d: %s follows no if", s.line, word)
			}
			stack = stack[:len(stack)-1]
			top = stack[len(stack)-1]
		}
		top.body = append(top.body, s)
		if s.opens {
			stack = append(stack, s)
		}
	}
	if open := stack[len(stack)-1]; open != root {
		return nil, fmt.Errorf("line %d: the block of %q has no end", open.line, open.text)
	}
	return root, nil
}

// script is the Starlark of a text, with the line of the text for each of its lines.
type script struct {
	text  strings.Builder
	lines []int
}

func (w *script) put(depth int, text string, lines ...int) {
	w.text.WriteString(strings.Repeat(" ", depth))
	w.text.WriteString(text)
	w.text.WriteByte('\n')
	w.lines = append(w.lines, lines...)
}

var defPattern = regexp.MustCompile(`^def\s+(\w+)`)

// write writes the statements of a block with the indentation that Starlark needs.
func (w *script) write(block *stmt, depth int) {
	for _, s := range block.body {
		w.put(depth, s.text, s.lines...)
		if !s.opens {
			continue
		}
		w.write(s, depth+1)
		w.put(depth+1, "pass", s.line)
		name := defPattern.FindStringSubmatch(s.text)
		if first := s.firstNode(); name != nil && first != nil {
			w.put(depth, fmt.Sprintf("%s = %s(%s, %d)", name[1], callWrap, name[1], first.id), s.line)
		}
	}
}

// firstNode returns the first YAML node in a block, not counting functions in it, or nil.
func (s *stmt) firstNode() *part {
	for _, in := range s.body {
		if in.part != nil {
			return in.part
		}
		if in.word() == "def" {
			continue
		}
		if found := in.firstNode(); found != nil {
			return found
		}
	}
	return nil
}

// buildScript returns the Starlark for lines whose blocks close with "end".
func buildScript(sources []source) (*script, error) {
	stmts, err := logicalLines(sources)
	if err != nil {
		return nil, err
	}
	root, err := nestBlocks(stmts)
	if err != nil {
		return nil, err
	}
	w := &script{}
	w.write(root, 0)
	return w, nil
}
