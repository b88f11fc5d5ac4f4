package ytt

import (
	"errors"
	"fmt"
	"strings"

	"go.starlark.net/resolve"
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// explain names the text that an error comes from.
func (p *program) explain(err error) error {
	err = p.told(err)
	if text := err.Error(); strings.HasPrefix(text, "line ") {
		return fmt.Errorf("%s %w", p.file, err)
	}
	return fmt.Errorf("%s: %w", p.file, err)
}

// told says of an error of Starlark where in the written text it arose; other errors say so themselves.
func (p *program) told(err error) error {
	var failed *starlark.EvalError
	var unresolved resolve.ErrorList
	var unparsed syntax.Error
	switch {
	case errors.As(err, &failed):
		if strings.Contains(failed.Msg, "too many steps") {
			err = errEndless
		} else {
			err = errors.New(failed.Msg)
		}
		for i := range failed.CallStack {
			if pos := failed.CallStack.At(i).Pos; p.line(pos) > 0 {
				return p.at(pos, err)
			}
		}
		return err
	case errors.As(err, &unresolved) && len(unresolved) > 0:
		return p.at(unresolved[0].Pos, errors.New(unresolved[0].Msg))
	case errors.As(err, &unparsed):
		return p.at(unparsed.Pos, errors.New(unparsed.Msg))
	}
	return err
}

// at names the line of a position.
func (p *program) at(pos syntax.Position, err error) error {
	if line := p.line(pos); line > 0 && !strings.HasPrefix(err.Error(), "line ") {
		return fmt.Errorf("line %d: %w", line, err)
	}
	return err
}

// line is where in the written text a position of the script comes from; 0 if from nowhere.
func (p *program) line(pos syntax.Position) int {
	if n := int(pos.Line) - 1; pos.Filename() == p.file && n >= 0 && n < len(p.lines) {
		return p.lines[n]
	}
	return 0
}
