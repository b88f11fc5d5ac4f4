package wire

import (
	"encoding/json"
	"fmt"
	"strconv"
	"unicode/utf8"
)

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

// number reads a number as the library does: as int64 if it has no point and fits, else as float64.
func (p *parser) number() (any, error) {
	from := p.at
	whole := p.digits()
	if whole < 0 {
		return nil, p.wrong("a digit")
	}
	text := string(p.data[from:p.at])
	if whole > 0 {
		if i, err := strconv.ParseInt(text, 10, 64); err == nil {
			return i, nil
		}
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return nil, fmt.Errorf("JSON: the number %s is too large", text)
	}
	return f, nil
}

// digits passes over a number. It gives 1 for a whole one, 0 for another, and -1 for what is none.
func (p *parser) digits() int {
	if p.data[p.at] == '-' {
		p.at++
	}
	if p.at < len(p.data) && p.data[p.at] == '0' {
		p.at++
	} else if !p.run() {
		return -1
	}
	whole := 1
	if p.at < len(p.data) && p.data[p.at] == '.' {
		p.at++
		if whole = 0; !p.run() {
			return -1
		}
	}
	if p.at < len(p.data) && (p.data[p.at] == 'e' || p.data[p.at] == 'E') {
		p.at++
		if p.at < len(p.data) && (p.data[p.at] == '+' || p.data[p.at] == '-') {
			p.at++
		}
		if whole = 0; !p.run() {
			return -1
		}
	}
	return whole
}

// run passes over digits, and reports whether there were any.
func (p *parser) run() bool {
	from := p.at
	for p.at < len(p.data) && '0' <= p.data[p.at] && p.data[p.at] <= '9' {
		p.at++
	}
	return p.at > from
}

// text reads a string, and gives it as a value as well.
func (p *parser) text() (string, any, error) {
	from := p.at
	plain, err := p.passText()
	if err != nil {
		return "", nil, err
	}
	if plain {
		text, boxed := p.share(p.data[from+1 : p.at-1])
		return text, boxed, nil
	}
	var text string
	if err := json.Unmarshal(p.data[from:p.at], &text); err != nil {
		return "", nil, fmt.Errorf("JSON: the string at byte %d: %w", from, err)
	}
	return text, text, nil
}

// passText passes over a string. It is plain if it means what stands there.
func (p *parser) passText() (plain bool, err error) {
	from, ascii, escaped := p.at, true, false
	for p.at++; p.at < len(p.data); p.at++ {
		switch c := p.data[p.at]; {
		case c == '"':
			p.at++
			return !escaped && (ascii || utf8.Valid(p.data[from:p.at])), nil
		case c == '\\':
			escaped = true
			p.at++
		case c < ' ':
			return false, p.wrong("no control character")
		case c >= utf8.RuneSelf:
			ascii = false
		}
	}
	return false, p.wrong("the end of the string")
}

// skip passes over a value. Of what is within it only the strings and the brackets are looked at.
func (p *parser) skip() error {
	open := 0
	for {
		switch c := p.peek(); c {
		case 0:
			return p.wrong("a value")
		case '{', '[':
			open++
			p.at++
		case '}', ']':
			if open--; open < 0 {
				return p.wrong("a value")
			}
			p.at++
		case '"':
			if _, err := p.passText(); err != nil {
				return err
			}
		case ',', ':':
			if open == 0 {
				return p.wrong("a value")
			}
			p.at++
			continue // what it separates has not come yet
		default:
			for p.at < len(p.data) && !separates(p.data[p.at]) {
				p.at++
			}
		}
		if open == 0 {
			return nil
		}
	}
}

func separates(c byte) bool {
	switch c {
	case ',', ':', '{', '}', '[', ']', '"', ' ', '\t', '\n', '\r':
		return true
	}
	return false
}
