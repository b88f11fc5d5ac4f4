package ytt

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"go.starlark.net/starlark"
)

// match is how an item selects the nodes that it applies to.
type match struct {
	by     starlark.Value // nil if not given
	expect expectation
	line   int
	orNone bool // a missing node is no error: overlay/replace with or_add
}

func newMatch(it *item, defaults expectation) (match, error) {
	m := match{expect: defaults, line: it.line}
	if n, ok := it.findAnnotation(annReplace); ok {
		m.orNone = isTrue(n.args["or_add"])
	}
	n, ok := it.findAnnotation(annMatch)
	if !ok {
		return m, nil
	}
	m.by, m.line = n.args["by"], n.line
	own, err := newExpectation(n)
	if err != nil {
		return m, fmt.Errorf("line %d: %s: %w", n.line, n.name, err)
	}
	if own != (expectation{}) {
		m.expect = own
	}
	return m, nil
}

// fail returns an error of the match.
func (m match) fail(format string, args ...any) error {
	return fmt.Errorf("line %d: overlay/match: %w", m.line, fmt.Errorf(format, args...))
}

// candidate is a node that may match, with the arguments for a matcher function.
type candidate struct {
	index starlark.Value // position or key
	value any
}

// find returns the indexes of the candidates that match. skip is true if their number is wrong and
// when=… says to ignore the item.
func (o *applier) find(m match, candidates []candidate, it *item) (
	found []int, skip bool, err error) {
	for i, c := range candidates {
		matches, err := o.matches(m, c, it)
		if err != nil {
			return nil, false, m.fail("%w", o.program.locateError(err))
		}
		if matches {
			found = append(found, i)
		}
	}
	met, want, err := o.checkCount(m, len(found))
	switch {
	case err != nil:
		return nil, false, m.fail("%w", o.program.locateError(err))
	case met:
		return found, false, nil
	case m.expect.when != nil:
		return nil, true, nil
	}
	return nil, false, m.fail("%s, but %d found", want, len(found))
}

func (o *applier) matches(m match, c candidate, it *item) (bool, error) {
	switch by := m.by.(type) {
	case starlark.String:
		return sameKey(string(by), c.value, plainData(it.value))
	case starlark.Callable:
		args := starlark.Tuple{c.index, toStarlark(typeFragment, c.value),
			toStarlark(typeFragment, it.value)}
		result, err := starlark.Call(o.thread, by, args, nil)
		if err != nil {
			return false, err
		}
		matches, ok := result.(starlark.Bool)
		if !ok {
			return false, fmt.Errorf("the function given as by has to return a bool, but returned %s",
				result.Type())
		}
		return bool(matches), nil
	case nil:
		return false, fmt.Errorf("the argument by is missing")
	}
	return false, fmt.Errorf("by has to be a string or a function, but is %s", m.by.Type())
}

// sameKey reports whether two maps have the same value for a key, which both must have.
func sameKey(key string, left, right any) (bool, error) {
	var values [2]any
	for i, side := range []any{left, right} {
		in, ok := side.(map[string]any)
		if !ok {
			return false, fmt.Errorf("by=%q compares maps, but here is %s", key, typeOf(side))
		}
		if values[i], ok = in[key]; !ok {
			return false, fmt.Errorf("by=%q finds no such key in the map with %s", key,
				strings.Join(slices.Sorted(maps.Keys(in)), ", "))
		}
	}
	return equal(values[0], values[1]), nil
}

// subset reports whether data contains all that is expected: maps may have more keys, and arrays
// more items at their end.
func subset(data, expected any) bool {
	switch want := expected.(type) {
	case map[string]any:
		have, ok := data.(map[string]any)
		if !ok {
			return false
		}
		for key, value := range want {
			if in, ok := have[key]; !ok || !subset(in, value) {
				return false
			}
		}
		return true
	case []any:
		have, ok := data.([]any)
		if !ok || len(have) < len(want) {
			return false
		}
		for i, value := range want {
			if !subset(have[i], value) {
				return false
			}
		}
		return true
	}
	return equal(data, expected)
}

func equal(a, b any) bool { return reflect.DeepEqual(plainData(a), plainData(b)) }

// typeOf returns the name of the type of a value for errors.
func typeOf(value any) string {
	switch v := value.(type) {
	case nil:
		return "nothing"
	case map[string]any:
		return "a map"
	case []any:
		return "an array"
	case *nodes:
		return typeOf(plainData(v))
	}
	return fmt.Sprintf("a %T", value)
}
