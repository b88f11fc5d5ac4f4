package ytt

import (
	"errors"
	"fmt"
	"strings"

	"go.starlark.net/resolve"
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// describeError adds the name of the text to an error, unless it is a block.
func (p *program) describeError(err error) error {
	err = p.locateError(err)
	switch text := err.Error(); {
	case strings.HasPrefix(text, blockBegins):
		return fmt.Errorf("Evaluating: %w", err)
	case strings.HasPrefix(text, "line "):
		return fmt.Errorf("%s %w", p.file, err)
	}
	return fmt.Errorf("%s: %w", p.file, err)
}

// blockBegins is the beginning of the text of an error that block returns.
const blockBegins = "\n- "

// block returns an error of the script of a template in the form of ytt: the message on a line of
// its own, which kapp does not break, and the lines that were called. Without such lines it returns
// the message.
func (p *program) block(message error, stack starlark.CallStack) error {
	text := ""
	for i := range stack {
		frame := stack.At(i)
		if line := p.sourceLine(frame.Pos); line > 0 {
			text += fmt.Sprintf("\n    in %s\n      %s:%d | %s", frame.Name, p.file, line,
				strings.TrimRight(p.text[line-1], "\r"))
		}
	}
	if text == "" {
		return message
	}
	return errors.New(blockBegins + message.Error() + text)
}

// locateError adds the line of the text to an error of Starlark, or makes a block of an error of a
// template. Other errors have their lines already.
func (p *program) locateError(err error) error {
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
		if p.parts != nil {
			return p.block(err, failed.CallStack)
		}
		for i := range failed.CallStack {
			if pos := failed.CallStack.At(i).Pos; p.sourceLine(pos) > 0 {
				return p.atLine(pos, err)
			}
		}
		return err
	case errors.As(err, &unresolved) && len(unresolved) > 0:
		return p.atLine(unresolved[0].Pos, errors.New(unresolved[0].Msg))
	case errors.As(err, &unparsed):
		return p.atLine(unparsed.Pos, errors.New(unparsed.Msg))
	}
	return err
}

// atLine adds the line of a position to an error.
func (p *program) atLine(pos syntax.Position, err error) error {
	if line := p.sourceLine(pos); line > 0 && !strings.HasPrefix(err.Error(), "line ") {
		return fmt.Errorf("line %d: %w", line, err)
	}
	return err
}

// sourceLine returns the line of the text that a position of the script comes from, or 0.
func (p *program) sourceLine(pos syntax.Position) int {
	if n := int(pos.Line) - 1; pos.Filename() == p.file && n >= 0 && n < len(p.lines) {
		return p.lines[n]
	}
	return 0
}
