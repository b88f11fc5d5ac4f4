package ytt

import (
	"errors"
	"fmt"

	"go.starlark.net/starlark"
)

// adds reports whether an item that finds nothing is added.
func adds(op note) bool {
	return op.name == noteMerge || op.name == noteReplace && truth(op.args["or_add"])
}

// added is the value of an item that was not there.
func (o *overlaying) added(op note, it *item) (any, error) {
	if op.name == noteReplace {
		return o.replaced(op, nil, it)
	}
	return plain(it.value), nil
}

// replaced is the new value, or what the function given as via makes of both.
func (o *overlaying) replaced(op note, left any, it *item) (any, error) {
	via := op.args["via"]
	if via == nil {
		return plain(it.value), nil
	}
	result, err := o.via(via, left, it)
	if err != nil {
		return nil, fmt.Errorf("line %d: #@%s: %w", op.line, op.name, o.program.told(err))
	}
	value, err := fromStarlark(result)
	if err != nil {
		return nil, fmt.Errorf("line %d: #@%s: what via returns: %w", op.line, op.name, err)
	}
	return plain(value), nil
}

func (o *overlaying) via(via starlark.Value, left any, it *item) (starlark.Value, error) {
	f, ok := via.(starlark.Callable)
	if !ok {
		return nil, fmt.Errorf("via has to be a function, but is %s", via.Type())
	}
	return starlark.Call(o.thread, f, starlark.Tuple{toStarlark(typeFragment, left), toStarlark(typeFragment, it.value)}, nil)
}

// assert compares what is there with the item, or asks the function given as via.
func (o *overlaying) assert(op note, left any, it *item) error {
	via := op.args["via"]
	if via == nil {
		if want := plain(it.value); !subset(left, want) {
			return errors.New("what is there is not what the overlay says")
		}
		return nil
	}
	result, err := o.via(via, left, it)
	if err != nil {
		return err
	}
	switch result := result.(type) {
	case starlark.NoneType:
		return nil
	case starlark.Bool:
		if !result {
			return errors.New("via returned False")
		}
		return nil
	case starlark.Tuple:
		if len(result) == 2 {
			ok, isBool := result[0].(starlark.Bool)
			text, isText := result[1].(starlark.String)
			if isBool && isText && !bool(ok) {
				return fmt.Errorf("via returned False: %s", string(text))
			}
			if isBool && isText {
				return nil
			}
		}
	}
	return fmt.Errorf("via has to return None, a bool, or a bool and a text, but returned %s", result)
}
