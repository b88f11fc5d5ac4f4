package ytt

import (
	"errors"
	"fmt"

	"go.starlark.net/starlark"
)

// matcher returns a function for by=…. Its arguments are the index or key, the node, and the node
// of the overlay.
func matcher(name string,
	f func(thread *starlark.Thread, args starlark.Tuple) (bool, error)) starlark.Value {
	return builtin(name, func(thread *starlark.Thread, args starlark.Tuple) (starlark.Value, error) {
		if len(args) != 3 {
			return nil, fmt.Errorf("a matcher is called with 3 arguments, but here are %d", len(args))
		}
		found, err := f(thread, args)
		return starlark.Bool(found), err
	})
}

func matchAll(_ *starlark.Thread, args starlark.Tuple) (starlark.Value, error) {
	if len(args) != 3 {
		return nil, errors.New("it is a matcher itself: by=overlay.all, without brackets")
	}
	return starlark.True, nil
}

func matchIndex(_ *starlark.Thread, args starlark.Tuple) (starlark.Value, error) {
	wanted, err := oneArgument(args)
	if err != nil {
		return nil, err
	}
	if _, ok := wanted.(starlark.Int); !ok {
		return nil, fmt.Errorf("a number is expected, but here is %s", wanted.Type())
	}
	return matcher("overlay.index", func(_ *starlark.Thread, args starlark.Tuple) (bool, error) {
		return starlark.Equal(wanted, args[0])
	}), nil
}

func matchMapKey(_ *starlark.Thread, args starlark.Tuple) (starlark.Value, error) {
	key, err := stringArguments(args, 1)
	if err != nil {
		return nil, err
	}
	return matcher("overlay.map_key", func(_ *starlark.Thread, args starlark.Tuple) (bool, error) {
		left, err := fromStarlark(args[1])
		if err != nil {
			return false, err
		}
		right, err := fromStarlark(args[2])
		if err != nil {
			return false, err
		}
		return sameKey(key[0], plainData(left), plainData(right))
	}), nil
}

func matchSubset(_ *starlark.Thread, args starlark.Tuple) (starlark.Value, error) {
	given, err := oneArgument(args)
	if err != nil {
		return nil, err
	}
	value, err := fromStarlark(given)
	if err != nil {
		return nil, err
	}
	wanted := plainData(value)
	return matcher("overlay.subset", func(_ *starlark.Thread, args starlark.Tuple) (bool, error) {
		data, err := fromStarlark(args[1])
		return err == nil && subset(plainData(data), wanted), err
	}), nil
}

// combineMatchers returns a function that combines matchers: it calls them until one returns last.
func combineMatchers(name string, last bool) starlark.Value {
	return builtin(name, func(_ *starlark.Thread, matchers starlark.Tuple) (starlark.Value, error) {
		if len(matchers) == 0 {
			return nil, errors.New("at least one matcher is expected")
		}
		return matcher(name, func(thread *starlark.Thread, args starlark.Tuple) (bool, error) {
			for _, f := range matchers {
				result, err := starlark.Call(thread, f, args, nil)
				if err != nil {
					return false, err
				}
				found, ok := result.(starlark.Bool)
				if !ok {
					return false, fmt.Errorf("a matcher has to return a bool, but one returned %s",
						result.Type())
				}
				if bool(found) == last {
					return last, nil
				}
			}
			return !last, nil
		}), nil
	})
}

func matchNot(_ *starlark.Thread, args starlark.Tuple) (starlark.Value, error) {
	if _, err := oneArgument(args); err != nil {
		return nil, err
	}
	return matcher("overlay.not_op",
		func(thread *starlark.Thread, asked starlark.Tuple) (bool, error) {
			result, err := starlark.Call(thread, args[0], asked, nil)
			return err == nil && !bool(result.Truth()), err
		}), nil
}

// applyOverlay applies each argument to the result of those before it.
func applyOverlay(thread *starlark.Thread, args starlark.Tuple) (starlark.Value, error) {
	b, err := builderOf(thread)
	if err != nil {
		return nil, err
	}
	var left any
	line := b.program.sourceLine(thread.CallFrame(1).Pos)
	for i, arg := range args {
		value, err := fromStarlark(arg)
		if err != nil {
			return nil, err
		}
		if n, ok := value.(*nodes); ok && n.kind == stream {
			return nil, errors.New("it takes maps and arrays, but here are documents")
		}
		if i == 0 {
			left = plainData(value)
			continue
		}
		o := &applier{thread: thread, program: b.program}
		if left, err = o.apply(left, toNodes(value, line), line, expectation{}); err != nil {
			return nil, err
		}
	}
	return toStarlark(typeFragment, left), nil
}
