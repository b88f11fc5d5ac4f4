package config

import (
	"regexp"
	"strconv"
	"strings"
)

// form says how a part of a path finds its way.
type form int

const (
	byKey     form = iota // into a field of a map; dots and slashes in its name mean nothing
	byAll                 // into every item of a list
	byIndex               // into one item of a list
	byPattern             // into every field of a map whose name matches
)

// part is one step of a path.
type part struct {
	form    form
	key     string
	index   int
	pattern *regexp.Regexp
}

// path leads from an object to fields of it.
type path struct {
	parts []part
	lists int  // how many parts there are up to the last that leads into a list; only below them maps are created
	single   bool // the path leads to one place at most
}

// String gives the path as errors name it: the parts with commas between them, "(all)" for every item.
func (p path) String() string {
	words := make([]string, len(p.parts))
	for i, part := range p.parts {
		switch part.form {
		case byKey:
			words[i] = part.key
		case byAll:
			words[i] = "(all)"
		case byIndex:
			words[i] = strconv.Itoa(part.index)
		case byPattern:
			words[i] = part.pattern.String()
		}
	}
	return strings.Join(words, ",")
}

// path reads a path that may have patterns.
func (n node) path() path {
	p := path{single: true}
	for i, item := range n.items() {
		part := item.part()
		p.parts = append(p.parts, part)
		if part.form == byAll || part.form == byIndex {
			p.lists = i + 1
		}
		p.single = p.single && part.form != byAll && part.form != byPattern
	}
	return p
}

// wholePath reads a path that has at least one part.
func (n node) wholePath() path {
	p := n.path()
	if len(p.parts) == 0 {
		n.addInvalid("expected a path of one part or more")
	}
	return p
}

// plainPath reads a path of at least one part, and without patterns.
func (n node) plainPath() path {
	p := n.wholePath()
	for i, part := range p.parts {
		if part.form == byPattern {
			n.items()[i].panicError("no pattern here", "Regex in path part is only supported for rebaseRules.")
		}
	}
	return p
}

// part reads a step of a path. What follows allIndexes does not matter, as long as something does.
func (n node) part() part {
	const want = "a key, {allIndexes: true}, {index: N} or {regex: TEXT}"
	switch value := n.value.(type) {
	case string:
		return part{form: byKey, key: value}
	case map[string]any:
		every, at, match := n.get("allIndexes"), n.get("index"), n.get("regex")
		switch {
		case every.value != nil && at.value == nil && match.value == nil:
			every.flag()
			return part{form: byAll}
		case at.value != nil && every.value == nil && match.value == nil:
			return part{form: byIndex, index: at.position()}
		case match.value != nil && every.value == nil && at.value == nil:
			return match.pattern()
		}
	}
	n.panicError(want, "Unknown path part")
	return part{}
}

// pattern reads a regular expression, which matches anywhere in a name.
func (n node) pattern() part {
	text, ok := n.value.(string)
	if !ok {
		n.addMalformed("a regular expression")
		return part{}
	}
	compiled, err := regexp.Compile(text)
	if err != nil {
		n.addInvalid(err.Error())
	}
	return part{form: byPattern, pattern: compiled}
}
