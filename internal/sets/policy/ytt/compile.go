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

// The calls in the script of a template. Names of users do not begin with an underscore and "ytt".
const (
	callAnnotate = "_ytt_note" // adds an annotation to the next node
	callOpen     = "_ytt_open" // opens a node and closes the nodes after its parent
	callPut      = "_ytt_put"  // sets the value of the last node
	callWrap     = "_ytt_wrap" // wraps a function that contains YAML

	callTextBegin = "_ytt_text_begin" // begins a templated text
	callText      = "_ytt_text"       // adds to it
	callTextEnd   = "_ytt_text_end"   // returns it
)

// annotationArguments has the supported annotations with their arguments.
var annotationArguments = map[string][]string{
	annMatch:         {"by", "expects", "missing_ok", "when"},
	annMatchDefaults: {"expects", "missing_ok", "when"},
	annMerge:         {},
	annRemove:        {},
	annReplace:       {"via", "or_add"},
	annInsert:        {"before", "after"},
	annAppend:        {},
	annAssert:        {"via"},
	annOverride:      {},
	annTextTemplates: {},
}

// program is a compiled text. It never changes, and several goroutines may run it.
type program struct {
	file     string
	text     []string // its lines
	starlark *starlark.Program
	lines    []int   // line of the text for each line of the Starlark
	parts    []*part // of a template
	err      error   // why the text cannot be run
}

// programs caches compiled texts: a rule runs for many objects, and a wait rule many times.
var programs sync.Map

type programKey struct{ file, text string }

// compileCached returns the program of a text and compiles it the first time. sources splits the
// text into lines of script.
func compileCached(file, text string, sources func(string) ([]source, []*part, error)) (
	*program, error) {
	key := programKey{file, text}
	known, ok := programs.Load(key)
	if !ok {
		known, _ = programs.LoadOrStore(key, compile(file, text, sources))
	}
	p := known.(*program)
	return p, p.err
}

func compile(file, text string, sources func(string) ([]source, []*part, error)) *program {
	p := &program{file: file, text: strings.Split(text, "\n")}
	lines, parts, err := sources(text)
	if err != nil {
		p.err = p.describeError(err)
		return p
	}
	p.parts = parts
	w, err := buildScript(lines)
	if err != nil {
		p.err = p.describeError(err)
		return p
	}
	p.lines = w.lines
	options := &syntax.FileOptions{Set: true, TopLevelControl: true, GlobalReassign: true}
	_, p.starlark, err = starlark.SourceProgramOptions(options, file, w.text.String(), predeclared.Has)
	if err != nil {
		p.err = p.describeError(err)
	}
	return p
}

// scriptSources returns the lines of a text of script.
func scriptSources(text string) ([]source, []*part, error) {
	var out []source
	for i, line := range strings.Split(text, "\n") {
		out = append(out, source{text: line, line: i + 1})
	}
	return out, nil, nil
}

// templateSources returns the lines of script for a text of YAML with script in its comments.
func templateSources(text string) ([]source, []*part, error) {
	t, err := parseTemplate(text)
	if err != nil {
		return nil, nil, err
	}
	e := &emitter{}
	for _, p := range t.parts {
		if p.parent == nil {
			if err := e.writePart(p, false); err != nil {
				return nil, nil, err
			}
		}
	}
	for _, c := range t.after {
		if c.kind == annotationComment {
			return nil, nil, fmt.Errorf("line %d: no YAML follows the directive #@%s", c.line, c.name)
		}
		e.add(c.text, c.line)
	}
	return e.out, t.parts, nil
}

// emitter writes the lines of script that build the nodes of a template.
type emitter struct{ out []source }

// add adds the lines of a text, all from one line of the template.
func (e *emitter) add(text string, line int) {
	for _, text := range strings.Split(text, "\n") {
		e.out = append(e.out, source{text: text, line: line})
	}
}

// shortBlock matches the beginning of a block that holds one node and needs no "end".
var shortBlock = regexp.MustCompile(`^[ \t]*(if|else|elif|for|def)/end\b`)

// writePart writes the lines for a part and those below it. templated is whether their strings are
// templates.
func (e *emitter) writePart(p *part, templated bool) error {
	ends, err := e.writeCode(p)
	if err != nil {
		return err
	}
	value, err := e.writeAnnotations(p)
	if err != nil {
		return err
	}
	templated = templated || p.hasTextTemplates()
	open := fmt.Sprintf("%s(%d)", callOpen, p.id)
	if templated && strings.Contains(p.key, "(@") {
		if err := e.writeText(p.key, p.line); err != nil {
			return err
		}
		open = fmt.Sprintf("%s(%d, %s())", callOpen, p.id, callTextEnd)
	}
	e.out = append(e.out, source{open, p.line, p})
	if text, ok := p.scalar.(string); ok && templated {
		if err := e.writeText(text, p.line); err != nil {
			return err
		}
		value = fmt.Sprintf("%s(%d, %s())", callPut, p.id, callTextEnd)
	}
	if value != "" {
		e.add(value, p.line)
	}
	for _, child := range p.children {
		if err := e.writePart(child, templated); err != nil {
			return err
		}
	}
	if ends {
		e.add("end", p.line)
	}
	return nil
}

// writeCode writes the script before a part. It reports whether an "end" has to follow the part.
func (e *emitter) writeCode(p *part) (ends bool, err error) {
	for _, c := range p.before {
		if c.kind == annotationComment {
			continue
		}
		if ends {
			return false, fmt.Errorf("line %d: YAML must follow a line with …/end, but here is code", c.line)
		}
		ends = shortBlock.MatchString(c.text)
		e.add(shortBlock.ReplaceAllString(c.text, "$1"), c.line)
	}
	return ends, nil
}

// writeAnnotations writes the annotations of a part, after its code, so that they run only if the
// part does. It returns the call that sets a computed value.
func (e *emitter) writeAnnotations(p *part) (value string, err error) {
	for _, c := range slices.Concat(p.before, p.beside) {
		switch {
		case c.kind == annotationComment:
			if err := e.writeAnnotation(p, c); err != nil {
				return "", err
			}
		case c.beside && (p.scalar != nil || p.holds != scalar):
			return "", fmt.Errorf("line %d: the node has a value in YAML and one in #@%s; it can have "+
				"one of them", c.line, c.text)
		case c.beside:
			value = fmt.Sprintf("%s(%d, (%s\n))", callPut, p.id, c.text)
		}
	}
	return value, nil
}

func (e *emitter) writeAnnotation(p *part, c comment) error {
	if _, ok := annotationArguments[c.name]; !ok {
		return fmt.Errorf("line %d: the directive #@%s is not supported in an overlay; these are: %s",
			c.line, c.name, strings.Join(slices.Sorted(maps.Keys(annotationArguments)), ", "))
	}
	args := c.text
	if args != "" {
		args = ", " + args
	}
	e.add(fmt.Sprintf("%s(%d, %d, %q%s\n)", callAnnotate, p.id, c.line, c.name, args), c.line)
	return nil
}
