package ytt

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// The calls that a template's script makes; no script of a user can have such names by accident.
const (
	callNote = "_ytt_note" // a directive of the node that is opened next
	callOpen = "_ytt_open" // a node begins, and all that is open below its parent ends
	callPut  = "_ytt_put"  // the value of the node just opened
	callWrap = "_ytt_wrap" // a function with YAML inside gives that YAML
)

// directives are those that are known, with their arguments.
var directives = map[string][]string{
	noteMatch:         {"by", "expects", "missing_ok", "when"},
	noteMatchDefaults: {"expects", "missing_ok", "when"},
	noteMerge:         {},
	noteRemove:        {},
	noteReplace:       {"via", "or_add"},
	noteInsert:        {"before", "after"},
	noteAppend:        {},
	noteAssert:        {"via"},
	noteOverride:      {},
}

// program is a text that was compiled. It is never changed, and may be run by several at once.
type program struct {
	file     string
	starlark *starlark.Program
	lines    []int   // of the text, for each line of the Starlark
	parts    []*part // of a template
	err      error   // why the text cannot be run
}

// programs are the texts that were compiled: the same few are run for every object, a wait rule as often as it is asked.
var programs sync.Map

type programKey struct{ file, text string }

// compiled gives the program of a text, and compiles it the first time. sources makes lines of script of it.
func compiled(file, text string, sources func(string) ([]source, []*part, error)) (*program, error) {
	key := programKey{file, text}
	known, ok := programs.Load(key)
	if !ok {
		known, _ = programs.LoadOrStore(key, compile(file, text, sources))
	}
	p := known.(*program)
	return p, p.err
}

func compile(file, text string, sources func(string) ([]source, []*part, error)) *program {
	p := &program{file: file}
	lines, parts, err := sources(text)
	if err != nil {
		p.err = p.explain(err)
		return p
	}
	p.parts = parts
	w, err := scriptOf(lines)
	if err != nil {
		p.err = p.explain(err)
		return p
	}
	p.lines = w.lines
	options := &syntax.FileOptions{Set: true, TopLevelControl: true, GlobalReassign: true}
	_, p.starlark, err = starlark.SourceProgramOptions(options, file, w.text.String(), predeclared.Has)
	if err != nil {
		p.err = p.explain(err)
	}
	return p
}

// scriptSources takes a text that is script alone.
func scriptSources(text string) ([]source, []*part, error) {
	var out []source
	for i, line := range strings.Split(text, "\n") {
		out = append(out, source{text: line, line: i + 1})
	}
	return out, nil, nil
}

// templateSources takes a text of YAML with script in its comments.
func templateSources(text string) ([]source, []*part, error) {
	t, err := parseTemplate(text)
	if err != nil {
		return nil, nil, err
	}
	e := &emitter{}
	for _, p := range t.parts {
		if p.parent == nil {
			if err := e.part(p); err != nil {
				return nil, nil, err
			}
		}
	}
	for _, c := range t.after {
		if c.kind == directive {
			return nil, nil, fmt.Errorf("line %d: no YAML follows the directive #@%s", c.line, c.name)
		}
		e.add(c.text, c.line)
	}
	return e.out, t.parts, nil
}

// emitter writes the lines of script that build the nodes of a template.
type emitter struct{ out []source }

func (e *emitter) add(text string, line int) {
	e.out = append(e.out, source{text: text, line: line})
}

// short is a block that holds one node, and so needs no end.
var short = regexp.MustCompile(`^[ \t]*(if|else|elif|for|def)/end\b`)

func (e *emitter) part(p *part) error {
	ends, err := e.code(p)
	if err != nil {
		return err
	}
	value, err := e.notes(p)
	if err != nil {
		return err
	}
	e.out = append(e.out, source{fmt.Sprintf("%s(%d)", callOpen, p.id), p.line, p})
	if value != "" {
		e.add(value, p.line)
	}
	for _, child := range p.children {
		if err := e.part(child); err != nil {
			return err
		}
	}
	if ends {
		e.add("end", p.line)
	}
	return nil
}

// code writes the script before a part, and reports whether an end has to follow the part.
func (e *emitter) code(p *part) (ends bool, err error) {
	for _, c := range p.before {
		if c.kind == directive {
			continue
		}
		if ends {
			return false, fmt.Errorf("line %d: YAML must follow a line with …/end, but here is code", c.line)
		}
		ends = short.MatchString(c.text)
		e.add(short.ReplaceAllString(c.text, "$1"), c.line)
	}
	return ends, nil
}

// notes writes the directives of a part, which are reached only where its code reaches the part, wherever they stand. It gives
// the call that sets the value, if that is computed.
func (e *emitter) notes(p *part) (value string, err error) {
	for _, c := range slices.Concat(p.before, p.beside) {
		switch {
		case c.kind == directive:
			if err := e.note(p, c); err != nil {
				return "", err
			}
		case c.beside && (p.scalar != nil || p.holds != scalar):
			return "", fmt.Errorf("line %d: the node has a value in YAML and one in #@%s; it can have one of them", c.line, c.text)
		case c.beside:
			value = fmt.Sprintf("%s(%d, (%s\n))", callPut, p.id, c.text)
		}
	}
	return value, nil
}

func (e *emitter) note(p *part, c comment) error {
	if _, ok := directives[c.name]; !ok {
		return fmt.Errorf("line %d: the directive #@%s is not supported in an overlay; these are: %s",
			c.line, c.name, strings.Join(slices.Sorted(maps.Keys(directives)), ", "))
	}
	args := c.text
	if args != "" {
		args = ", " + args
	}
	e.add(fmt.Sprintf("%s(%d, %d, %q%s\n)", callNote, p.id, c.line, c.name, args), c.line)
	return nil
}
