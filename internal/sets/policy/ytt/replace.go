package ytt

import (
	"errors"
	"fmt"

	"go.starlark.net/starlark"
)

// addsMissing reports whether an item without a match is added.
func addsMissing(op annotation) bool {
	return op.name == annMerge || op.name == annReplace && isTrue(op.args["or_add"])
}

// addedValue returns the value of an added item.
func (o *applier) addedValue(op annotation, it *item) (any, error) {
	if op.name == annReplace {
		return o.replacedValue(op, nil, it)
	}
	return plainData(it.value), nil
}

// replacedValue returns the new value, or the result of the function via.
func (o *applier) replacedValue(op annotation, left any, it *item) (any, error) {
	via := op.args["via"]
	if via == nil {
		return plainData(it.value), nil
	}
	result, err := o.via(via, left, it)
	if err != nil {
		return nil, fmt.Errorf("line %d: #@%s: %w", op.line, op.name, o.program.locateError(err))
	}
	value, err := fromStarlark(result)
	if err != nil {
		return nil, fmt.Errorf("line %d: #@%s: what via returns: %w", op.line, op.name, err)
	}
	return plainData(value), nil
}

func (o *applier) via(via starlark.Value, left any, it *item) (starlark.Value, error) {
	f, ok := via.(starlark.Callable)
	if !ok {
		return nil, fmt.Errorf("via has to be a function, but is %s", via.Type())
	}
	return starlark.Call(o.thread, f,
		starlark.Tuple{toStarlark(typeFragment, left), toStarlark(typeFragment, it.value)}, nil)
}

// assert compares a node with the item, or calls the function via.
func (o *applier) assert(op annotation, left any, it *item) error {
	via := op.args["via"]
	if via == nil {
		if want := plainData(it.value); !subset(left, want) {
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
