package config

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// form is the kind of a part of a path.
type form int

const (
	byKey     form = iota // a field of a map
	byAll                 // every item of a list
	byIndex               // one item of a list
	byPattern             // the fields of a map whose names match
)

// part is one step of a path.
type part struct {
	form    form
	key     string
	index   int
	pattern *regexp.Regexp
}

// maxParts is the largest number of parts of a path. A rule may create all maps of its path in
// every object, and paths of real rules have fewer than twenty parts.
const maxParts = 100

// path leads from an object to some of its fields.
type path struct {
	parts  []part
	lists  int  // number of parts up to the last list; maps are created only below it
	single bool // the path leads to at most one place
	named  bool // items of lists are paired by their names, if all have one, and not by index
}

// String returns the path as in errors: the parts with commas between them, "(all)" for every
// item.
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

// path reads a path that may contain patterns.
func (n node) path() path {
	p := path{single: true}
	items := n.items()
	if len(items) > maxParts {
		n.addInvalid(fmt.Sprintf("expected a path of at most %d parts, but found %d",
			maxParts, len(items)))
		return p
	}
	for i, item := range items {
		part := item.part()
		p.parts = append(p.parts, part)
		if part.form == byAll || part.form == byIndex {
			p.lists = i + 1
		}
		p.single = p.single && part.form != byAll && part.form != byPattern
	}
	return p
}

// wholePath reads a path of at least one part.
func (n node) wholePath() path {
	p := n.path()
	if len(p.parts) == 0 {
		n.addInvalid("expected a path of one part or more")
	}
	return p
}

// plainPath reads a path of at least one part without patterns.
func (n node) plainPath() path {
	n.wholePath()
	return n.pathFromTop()
}

// pathFromTop reads a path without patterns. One without parts is the object itself.
func (n node) pathFromTop() path {
	p := n.path()
	for i, part := range p.parts {
		if part.form == byPattern {
			n.items()[i].panicError("no pattern here",
				"Regex in path part is only supported for rebaseRules.")
		}
	}
	return p
}

// part reads a step of a path. The value of allIndexes does not matter.
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
