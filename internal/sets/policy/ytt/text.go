package ytt

import (
	"errors"
	"fmt"
	"strings"

	"go.starlark.net/starlark"
)

// annTextTemplates makes templates of the strings and keys of a node and of those below it: code
// stands between "(@" and "@)", and "(@=" inserts the value of an expression. "(@-" and "-@)" trim
// the blanks and line ends before and after them.
const annTextTemplates = "yaml/text-templated-strings"

// hasTextTemplates reports whether a part has annTextTemplates itself.
func (p *part) hasTextTemplates() bool {
	for _, all := range [][]comment{p.before, p.beside} {
		for _, c := range all {
			if c.kind == annotationComment && c.name == annTextTemplates {
				return true
			}
		}
	}
	return false
}

// writeText writes the script that makes the text of a template. callTextEnd returns it.
func (e *emitter) writeText(text string, line int) error {
	e.add(callTextBegin+"()", line)
	trim := false
	for {
		literal, rest, more := strings.Cut(text, "(@")
		if strings.Contains(literal, "@)") {
			return fmt.Errorf("line %d: @) closes nothing in a template of text", line)
		}
		code, after, closed := strings.Cut(rest, "@)")
		if more && !closed || strings.Contains(code, "(@") {
			return fmt.Errorf("line %d: (@ has no @) in a template of text", line)
		}
		if trim {
			literal = strings.TrimLeft(literal, " \t\r\n")
		}
		code, before := strings.CutPrefix(code, "-")
		code, trim = strings.CutSuffix(code, "-")
		if before {
			literal = strings.TrimRight(literal, " \t\r\n")
		}
		e.add(callText+"("+starlark.String(literal).String()+")", line)
		if !more {
			return nil
		}
		if expression, ok := strings.CutPrefix(code, "="); ok {
			e.add(callText+"(("+expression+"\n))", line)
		} else {
			e.add(strings.TrimSpace(code), line)
		}
		text = after
	}
}

func beginTextCall(thread *starlark.Thread, _ *starlark.Builtin, _ starlark.Tuple,
	_ []starlark.Tuple) (starlark.Value, error) {
	b, err := builderOf(thread)
	if err != nil {
		return nil, err
	}
	b.texts = append(b.texts, &strings.Builder{})
	return starlark.None, nil
}

// addTextCall appends to the text that was begun last.
func addTextCall(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple,
	_ []starlark.Tuple) (starlark.Value, error) {
	b, err := builderOf(thread)
	if err != nil {
		return nil, err
	}
	text, ok := starlark.AsString(args[0])
	if !ok {
		return nil, fmt.Errorf("(@= takes a string, but here is %s", args[0].Type())
	}
	if len(b.texts) == 0 {
		return nil, errors.New("(@= stands outside of its text")
	}
	b.texts[len(b.texts)-1].WriteString(text)
	return starlark.None, nil
}

// endTextCall returns the text that was begun last.
func endTextCall(thread *starlark.Thread, _ *starlark.Builtin, _ starlark.Tuple,
	_ []starlark.Tuple) (starlark.Value, error) {
	b, err := builderOf(thread)
	if err != nil {
		return nil, err
	}
	last := len(b.texts) - 1
	if last < 0 {
		return nil, errors.New("a text ends that was not begun")
	}
	text := b.texts[last].String()
	b.texts = b.texts[:last]
	return starlark.String(text), nil
}
