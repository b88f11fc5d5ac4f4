package wire

import (
	"encoding/json"
	"fmt"
	"strconv"
	"unicode/utf8"
)

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
