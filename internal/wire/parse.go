package wire

import "fmt"

// parser reads one text. What it has read is kept in values that do not share memory with the text.
type parser struct {
	data  []byte
	at    int
	depth int
	form  Form

	texts [1 << 10]shared
}

// role says what a value is in the whole.
type role int

const (
	aValue role = iota
	anObject
	itsMetadata
	aList
	itsItems
)

// deepest is how far values may be nested within each other.
const deepest = 10000

// only reads the one value that the text is to be.
func (p *parser) only(r role) (any, error) {
	v, err := p.value(r)
	if err == nil {
		err = p.nothingMore()
	}
	return v, err
}

func (p *parser) nothingMore() error {
	if p.peek() != 0 || p.at < len(p.data) {
		return p.wrong("the end")
	}
	return nil
}

// peek gives the next byte that is no space; 0 at the end.
func (p *parser) peek() byte {
	for ; p.at < len(p.data); p.at++ {
		switch c := p.data[p.at]; c {
		case ' ', '\t', '\n', '\r':
		default:
			return c
		}
	}
	return 0
}

func (p *parser) wrong(expected string) error {
	if p.at >= len(p.data) {
		return fmt.Errorf("JSON: the text ends at byte %d, where %s is expected", p.at, expected)
	}
	return fmt.Errorf("JSON: %q at byte %d, where %s is expected", p.data[p.at], p.at, expected)
}

func (p *parser) value(r role) (any, error) {
	switch c := p.peek(); {
	case c == '{':
		return p.object(r)
	case c == '[':
		return p.list(r)
	case c == '"':
		_, boxed, err := p.text()
		return boxed, err
	case c == 't':
		return true, p.word("true")
	case c == 'f':
		return false, p.word("false")
	case c == 'n':
		return nil, p.word("null")
	case c == '-' || '0' <= c && c <= '9':
		return p.number()
	}
	return nil, p.wrong("a value")
}

func (p *parser) word(word string) error {
	if len(p.data)-p.at < len(word) || string(p.data[p.at:p.at+len(word)]) != word {
		return p.wrong(word)
	}
	p.at += len(word)
	return nil
}

// inner are the roles of the fields of a value in a role.
var inner = map[role]map[string]role{anObject: {"metadata": itsMetadata}, aList: {"items": itsItems}}

func (p *parser) object(r role) (any, error) {
	fields := map[string]any{}
	err := p.members(func(key string) error {
		if r == itsMetadata && p.form == Lean && key == "managedFields" {
			return p.skip()
		}
		of := aValue
		if r != aValue {
			of = inner[r][key]
		}
		v, err := p.value(of)
		if err == nil {
			fields[key] = v
		}
		return err
	})
	return fields, err
}

// members hands the key of each member of an object over, to have its value read.
func (p *parser) members(read func(key string) error) error {
	if err := p.enter(); err != nil {
		return err
	}
	if p.peek() == '}' {
		return p.leave()
	}
	for {
		if p.peek() != '"' {
			return p.wrong("a key")
		}
		key, _, err := p.text()
		if err != nil {
			return err
		}
		if p.peek() != ':' {
			return p.wrong("a colon")
		}
		p.at++
		p.peek()
		if err := read(key); err != nil {
			return err
		}
		switch p.peek() {
		case ',':
			p.at++
		case '}':
			return p.leave()
		default:
			return p.wrong("a comma or a closing brace")
		}
	}
}

func (p *parser) list(r role) (any, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	of := aValue
	if r == itsItems {
		of = anObject
	}
	list := []any{}
	if p.peek() == ']' {
		return list, p.leave()
	}
	for {
		v, err := p.value(of)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
		switch p.peek() {
		case ',':
			p.at++
		case ']':
			return list, p.leave()
		default:
			return nil, p.wrong("a comma or a closing bracket")
		}
	}
}

func (p *parser) enter() error {
	p.at++
	if p.depth++; p.depth > deepest {
		return fmt.Errorf("JSON: more than %d values are nested within each other", deepest)
	}
	return nil
}

func (p *parser) leave() error {
	p.at++
	p.depth--
	return nil
}
