package yamlsize

import (
	"bytes"
	"unicode/utf8"
)

// count returns how many nodes the YAML libraries make of a text, or a few more, and the line of
// the node after most; 0 if there are not so many. It holds nothing but the open collections.
//
// It recognizes tokens by the rules of the libraries' own scanner, which are not quite those of the
// specification, since what it takes for a text would hide what they take for values. A text that
// is no valid YAML may have any number.
func count(text []byte, most int) (nodes, line int) {
	s := scanner{text: text, most: most, indent: -1, allowed: true}
	for !s.done() {
		s.token()
	}
	s.empty()
	if s.nodes > most {
		return s.nodes, s.line + 1
	}
	return s.nodes, 0
}

// scanner is the state of count.
type scanner struct {
	text      []byte
	pos       int
	line, col int // from 0; columns count characters
	nodes     int
	most      int

	indent  int    // column of the innermost block collection, -1 outside of all
	indents []int  // those of the outer ones
	flow    []flow // the open brackets

	allowed bool // whether a key may begin here
	key     mark // where the last one may have begun, outside of brackets
	pending bool // an indicator was read that a value follows, which may be empty
	node    bool // a value or key was read since the last separator of a flow collection
}

// flow is an open bracket.
type flow struct {
	isMap bool
	value bool // the current entry has a colon
}

// mark is a place in the text.
type mark struct{ line, col int }

func (s *scanner) done() bool { return s.pos >= len(s.text) || s.nodes > s.most }

// at returns the byte at an offset from the current position, 0 behind the end.
func (s *scanner) at(offset int) byte {
	if s.pos+offset < len(s.text) {
		return s.text[s.pos+offset]
	}
	return 0
}

// lineBreak returns the length of the line break at an offset, 0 if there is none.
func (s *scanner) lineBreak(offset int) int {
	switch s.at(offset) {
	case '\n':
		return 1
	case '\r':
		if s.at(offset+1) == '\n' {
			return 2
		}
		return 1
	case 0xC2:
		if s.at(offset+1) == 0x85 {
			return 2
		}
	case 0xE2:
		if s.at(offset+1) == 0x80 && s.at(offset+2)|1 == 0xA9 {
			return 3
		}
	}
	return 0
}

func isBlank(b byte) bool { return b == ' ' || b == '\t' }

// isEnd reports whether there is white space, or the end, at an offset.
func (s *scanner) isEnd(offset int) bool {
	b := s.at(offset)
	return isBlank(b) || b == 0 || s.lineBreak(offset) > 0
}

// skip moves behind the current character, or the line break that is there.
func (s *scanner) skip() {
	if b := s.text[s.pos]; b >= ' ' && b < utf8.RuneSelf {
		s.pos++
		s.col++
		return
	}
	if n := s.lineBreak(0); n > 0 {
		s.pos += n
		s.line++
		s.col = 0
		return
	}
	_, n := utf8.DecodeRune(s.text[s.pos:])
	s.pos += n
	s.col++
}

// skipLine moves to the line break at the end of the line.
func (s *scanner) skipLine() {
	for s.pos < len(s.text) && s.lineBreak(0) == 0 {
		s.skip()
	}
}

// space moves to the next token.
func (s *scanner) space() {
	for s.pos < len(s.text) {
		b := s.text[s.pos]
		switch {
		case s.col == 0 && bytes.HasPrefix(s.text[s.pos:], []byte("\uFEFF")), isBlank(b):
			s.skip()
		case b == '#':
			s.skipLine()
		case s.lineBreak(0) > 0:
			s.skip()
			if len(s.flow) == 0 {
				s.allowed = true
			}
		default:
			return
		}
	}
}

// isMarker reports whether a line with --- or ... begins here.
func (s *scanner) isMarker() bool {
	b := s.at(0)
	return s.col == 0 && (b == '-' || b == '.') && s.at(1) == b && s.at(2) == b && s.isEnd(3)
}

// token reads one token.
func (s *scanner) token() {
	s.space()
	if s.pos >= len(s.text) {
		return
	}
	inBlock := len(s.flow) == 0
	if inBlock {
		s.unroll(s.col)
	}
	b := s.text[s.pos]
	switch {
	case s.col == 0 && b == '%' || s.isMarker():
		s.document(b)
	case b == '[' || b == '{':
		s.open(b == '{')
	case b == ']' || b == '}':
		s.close()
	case b == ',':
		s.separate()
	case b == '-' && s.isEnd(1):
		s.empty()
		s.roll(s.col, inBlock)
		s.indicator(true)
	case b == '?' && (!inBlock || s.isEnd(1)):
		s.empty()
		s.roll(s.col, inBlock)
		s.nodes += 2 // the map of a pair in a list, and a value that may be missing
		s.indicator(true)
	case b == ':' && (!inBlock || s.isEnd(1)):
		s.colon(inBlock)
	case b == '*' || b == '&':
		s.begin()
		for s.skip(); isAlpha(s.at(0)); {
			s.skip()
		}
	case b == '!':
		s.begin()
		for !s.isEnd(0) {
			s.skip()
		}
	case inBlock && (b == '|' || b == '>'):
		s.begin()
		s.block()
	case b == '\'' || b == '"':
		s.begin()
		s.quoted(b)
	default:
		s.begin()
		s.plain(inBlock)
	}
}

func isAlpha(b byte) bool {
	return b >= '0' && b <= '9' || b >= 'A' && b <= 'Z' || b >= 'a' && b <= 'z' || b == '_' || b == '-'
}

// document ends a document: here is a marker or a directive.
func (s *scanner) document(b byte) {
	s.empty()
	s.unroll(-1)
	if b == '%' {
		s.skipLine()
		return
	}
	for range 3 {
		s.skip()
	}
	s.pending, s.allowed = b == '-', false
}

// empty counts the value that the last indicator announced, if none followed.
func (s *scanner) empty() {
	if s.pending {
		s.nodes++
	}
	s.pending = false
}

// indicator moves behind an indicator that a value follows.
func (s *scanner) indicator(allowed bool) {
	s.skip()
	s.pending, s.node = true, false
	s.allowed = allowed
}

// begin counts a value that begins here.
func (s *scanner) begin() {
	if s.pending && len(s.flow) == 0 && s.col <= s.indent {
		s.nodes++ // this is none of the last indicator
	}
	s.nodes++
	s.pending, s.node = false, true
	if s.allowed && len(s.flow) == 0 {
		s.key = mark{s.line, s.col}
	}
	s.allowed = false
}

// roll begins a block collection at a column, unless that is one already.
func (s *scanner) roll(col int, inBlock bool) {
	if inBlock && s.indent < col {
		s.nodes++
		s.indents = append(s.indents, s.indent)
		s.indent = col
	}
}

// unroll ends the block collections that are indented further than a column.
func (s *scanner) unroll(col int) {
	for s.indent > col {
		s.indent = s.indents[len(s.indents)-1]
		s.indents = s.indents[:len(s.indents)-1]
	}
}

func (s *scanner) open(isMap bool) {
	s.begin()
	s.flow = append(s.flow, flow{isMap: isMap})
	s.skip()
	s.node, s.allowed = false, true
}

func (s *scanner) close() {
	s.empty()
	if n := len(s.flow); n > 0 {
		s.endEntry()
		s.flow = s.flow[:n-1]
	}
	s.skip()
	s.node, s.allowed = true, false
}

// separate reads a comma.
func (s *scanner) separate() {
	s.empty()
	s.endEntry()
	s.skip()
	s.node, s.allowed = false, true
}

// endEntry counts the missing value of an entry of a map in braces.
func (s *scanner) endEntry() {
	if len(s.flow) == 0 {
		return
	}
	f := &s.flow[len(s.flow)-1]
	if f.isMap && !f.value {
		s.nodes++
	}
	f.value = false
}

// maxKey limits the characters of a key before its colon.
const maxKey = 1024

// colon reads the indicator of a value.
func (s *scanner) colon(inBlock bool) {
	s.empty()
	if !inBlock {
		f := &s.flow[len(s.flow)-1]
		if !f.isMap {
			s.nodes++ // the map of a pair in a list
		}
		if !s.node {
			s.nodes++ // an empty key
		}
		f.value = true
		s.indicator(false)
		return
	}
	isKey := s.key.line == s.line && s.key.col < s.col && s.col-s.key.col <= maxKey
	col := s.col
	if isKey {
		col = s.key.col
	} else {
		s.nodes++
	}
	s.roll(col, true)
	s.key = mark{-1, 0}
	s.indicator(!isKey)
}

// quoted reads a text in quotation marks.
func (s *scanner) quoted(mark byte) {
	s.skip()
	for s.pos < len(s.text) {
		switch b := s.text[s.pos]; {
		case mark == '"' && b == '\\' && s.pos+1 < len(s.text):
			s.skip()
			s.skip()
		case b != mark:
			s.skip()
		case mark == '\'' && s.at(1) == mark:
			s.skip()
			s.skip()
		default:
			s.skip()
			return
		}
	}
}

// plain reads a text without quotation marks.
func (s *scanner) plain(inBlock bool) {
	indent := s.indent + 1
	for first := true; s.pos < len(s.text); first = false {
		if !first && (s.isMarker() || s.text[s.pos] == '#') {
			return
		}
		for s.pos < len(s.text) && !s.isEnd(0) && !s.endsPlain(inBlock) || first {
			s.skip()
			first = false
		}
		if s.pos >= len(s.text) || !s.isEnd(0) || s.text[s.pos] == 0 {
			return
		}
		for s.pos < len(s.text) && s.text[s.pos] != 0 && s.isEnd(0) {
			if s.lineBreak(0) > 0 {
				s.allowed = inBlock
			}
			s.skip()
		}
		if inBlock && s.col < indent {
			return
		}
	}
}

// endsPlain reports whether a character ends a text without quotation marks.
func (s *scanner) endsPlain(inBlock bool) bool {
	b := s.text[s.pos]
	return b == ':' && s.isEnd(1) || !inBlock && bytes.IndexByte([]byte(",?[]{}"), b) >= 0
}

// block reads a literal or folded text.
func (s *scanner) block() {
	s.skip()
	increment := 0
	for b := s.at(0); b == '+' || b == '-' || b >= '1' && b <= '9'; b = s.at(0) {
		if b >= '1' {
			increment = int(b - '0')
		}
		s.skip()
	}
	s.skipLine()
	if s.pos < len(s.text) {
		s.skip()
	}
	indent := 0
	if increment > 0 {
		indent = max(s.indent, 0) + increment
	}
	for s.indentation(&indent); s.pos < len(s.text) && s.col == indent; s.indentation(&indent) {
		s.skipLine()
		if s.pos < len(s.text) {
			s.skip()
		}
	}
	s.allowed = true
}

// indentation moves behind empty lines and the indentation of the next one, and finds out how far a
// block is indented if that is 0.
func (s *scanner) indentation(indent *int) {
	most := 0
	for s.pos < len(s.text) {
		for (*indent == 0 || s.col < *indent) && s.at(0) == ' ' {
			s.skip()
		}
		most = max(most, s.col)
		if s.lineBreak(0) == 0 {
			break
		}
		s.skip()
	}
	if *indent == 0 {
		*indent = max(most, s.indent+1, 1)
	}
}
