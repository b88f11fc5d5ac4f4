package cluster

import "bytes"

// Paths of managed fields in the JSON of an object and of a list of objects.
var (
	objectManagedFields = []string{"metadata", "managedFields"}
	listManagedFields   = []string{"items", inList, "metadata", "managedFields"}
)

// inList stands for the items of a list in a path.
const inList = "[]"

// nullAt returns a JSON text with null in place of every value at the path, so that a decoder does
// not allocate them. It decodes nothing: in a text that is not JSON it may replace anything.
func nullAt(path []string, text []byte) []byte {
	s := scanner{text: text, path: path}
	var out []byte
	kept := 0
	for s.next() {
		if out == nil {
			out = make([]byte, 0, len(text))
		}
		out = append(append(out, text[kept:s.from]...), "null"...)
		kept = s.at
	}
	if kept == 0 {
		return text
	}
	return append(out, text[kept:]...)
}

// scanner finds the values at a path in a JSON text.
type scanner struct {
	text     []byte
	path     []string
	from, at int // the value that next found lies between them
	depth    int // open objects and lists
	matched  int // elements of the path that lead to the innermost one
}

// next moves behind the next value at the path and reports whether there is one.
func (s *scanner) next() bool {
	for s.at < len(s.text) {
		switch s.text[s.at] {
		case '{', '[':
			if s.text[s.at] == '{' && s.onPath() && s.path[s.matched] == inList {
				s.matched++
			}
			s.depth++
			s.at++
		case '}', ']':
			s.depth--
			s.matched = min(s.matched, max(s.depth-1, 0))
			s.at++
		case '"':
			if s.key() {
				s.from = s.at
				s.skipValue()
				return true
			}
		default:
			s.at++
		}
	}
	return false
}

// onPath reports whether the path leads to the innermost open object or list.
func (s *scanner) onPath() bool { return s.depth > 0 && s.matched == s.depth-1 }

// key passes a string and reports whether it is the last key of the path. A key in the middle of
// the path is followed into the object or list that it leads to.
func (s *scanner) key() bool {
	start := s.at + 1
	s.skipString()
	if !s.onPath() || s.at >= len(s.text) || s.text[s.at] != ':' ||
		string(s.text[start:s.at-1]) != s.path[s.matched] {
		return false
	}
	s.at++
	if s.matched == len(s.path)-1 {
		return true
	}
	opening := byte('{')
	if s.path[s.matched+1] == inList {
		opening = '['
	}
	if s.at < len(s.text) && s.text[s.at] == opening {
		s.at++
		s.depth++
		s.matched++
	}
	return false
}

func (s *scanner) skipString() {
	for s.at++; s.at < len(s.text); s.at++ {
		switch s.text[s.at] {
		case '"':
			s.at++
			return
		case '\\':
			s.at++
		}
	}
}

func (s *scanner) skipValue() {
	for open := 0; s.at < len(s.text); {
		switch c := s.text[s.at]; {
		case c == '"':
			s.skipString()
			continue
		case c == '{' || c == '[':
			open++
		case open == 0 && bytes.IndexByte([]byte(",}]"), c) >= 0:
			return
		case c == '}' || c == ']':
			open--
		}
		s.at++
	}
}
