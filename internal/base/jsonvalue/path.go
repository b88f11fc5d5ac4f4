package jsonvalue

import (
	"strconv"
	"strings"
)

// StepKind is the kind of one step of a path.
type StepKind int

// The kinds of steps.
const (
	MapKey    StepKind = iota // into a map: Key
	ListIndex                 // into a list: Index
	NamedItem                 // into a list: the item whose Field has the value Key
	ItemOrder                 // the values of Field of the items that two lists share, in order
)

// Step is one step of a path.
type Step struct {
	Kind  StepKind
	Key   string
	Field string
	Index int
}

// Path leads from a value to one inside it.
type Path []Step

// String returns the path as people read it: .spec.replicas, ["app.kubernetes.io/name"] for a key
// that is not a plain word, [0] for a list item and [name=web] for a named one.
func (p Path) String() string {
	var b strings.Builder
	for _, step := range p {
		step.writeTo(&b)
	}
	return b.String()
}

func (s Step) writeTo(b *strings.Builder) {
	switch s.Kind {
	case ListIndex:
		b.WriteString("[" + strconv.Itoa(s.Index) + "]")
	case NamedItem:
		name := s.Key
		if !isWord(name, "./:") {
			name = strconv.Quote(name)
		}
		b.WriteString("[" + s.Field + "=" + name + "]")
	case ItemOrder:
		b.WriteString("[*]." + s.Field)
	default:
		if isWord(s.Key, "") {
			b.WriteString("." + s.Key)
		} else {
			b.WriteString("[" + strconv.Quote(s.Key) + "]")
		}
	}
}

// isWord reports whether a text consists of ASCII letters, digits, underscores, hyphens and the
// extra characters, and is not empty.
func isWord(s, extra string) bool {
	for i := range len(s) {
		b := s[i]
		switch {
		case 'a' <= b && b <= 'z', 'A' <= b && b <= 'Z', '0' <= b && b <= '9', b == '_', b == '-':
		case strings.IndexByte(extra, b) < 0:
			return false
		}
	}
	return s != ""
}
