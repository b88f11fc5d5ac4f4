package ytt

import (
	"fmt"
	"strconv"
	"strings"

	"go.starlark.net/starlark"
)

// expectation is the number of nodes that a match may find, by the arguments of overlay/match and
// overlay/match-child-defaults.
type expectation struct{ expects, missingOK, when starlark.Value }

func newExpectation(n annotation) (expectation, error) {
	e := expectation{n.args["expects"], n.args["missing_ok"], n.args["when"]}
	given := 0
	for _, value := range []starlark.Value{e.expects, e.missingOK, e.when} {
		if value != nil {
			given++
		}
	}
	if given > 1 {
		return e, fmt.Errorf("only one of expects, missing_ok and when can be given")
	}
	return e, nil
}

// childDefaults returns the expectation for the items below an item.
func childDefaults(it *item, outer expectation) (expectation, error) {
	n, ok := it.findAnnotation(annMatchDefaults)
	if !ok {
		return outer, nil
	}
	e, err := newExpectation(n)
	if err != nil {
		return e, fmt.Errorf("line %d: %s: %w", n.line, n.name, err)
	}
	return e, nil
}

// checkCount reports whether a match may find this number of nodes, and which numbers are
// expected.
func (o *applier) checkCount(m match, count int) (ok bool, want string, err error) {
	e := m.expect
	switch {
	case e == expectation{} && m.orNone:
		return count <= 1, "0 or 1 nodes expected", nil
	case e == expectation{}:
		return count == 1, "1 node expected (missing_ok=True allows none)", nil
	case e.missingOK != nil:
		missingOK, ok := e.missingOK.(starlark.Bool)
		if !ok {
			return false, "", fmt.Errorf("missing_ok has to be True or False, but is %s", e.missingOK.Type())
		}
		if missingOK {
			return count <= 1, "0 or 1 nodes expected", nil
		}
		return count == 1, "1 node expected", nil
	case e.expects != nil:
		return o.compareCount(e.expects, count)
	}
	return o.compareCount(e.when, count)
}

// compareCount compares a count with a number, "N+", a function or a list of these.
func (o *applier) compareCount(want starlark.Value, count int) (ok bool, text string, err error) {
	switch want := want.(type) {
	case starlark.Int:
		n, ok := want.Int64()
		return ok && n == int64(count), want.String() + " nodes expected", nil
	case starlark.String:
		least, plus := strings.CutSuffix(string(want), "+")
		n, err := strconv.Atoi(least)
		if !plus || err != nil {
			return false, "", fmt.Errorf("%s is no number with a plus, as in \"1+\"", want)
		}
		return count >= n, string(want) + " nodes expected", nil
	case *starlark.List:
		var texts []string
		for one := range want.Elements() {
			ok, text, err := o.compareCount(one, count)
			if ok || err != nil {
				return ok, text, err
			}
			texts = append(texts, text)
		}
		return false, strings.Join(texts, " or "), nil
	case starlark.Callable:
		result, err := starlark.Call(o.thread, want, starlark.Tuple{starlark.MakeInt(count)}, nil)
		if err != nil {
			return false, "", err
		}
		met, ok := result.(starlark.Bool)
		if !ok {
			return false, "", fmt.Errorf(
				"the function for the number of nodes has to return a bool, but returned %s", result.Type())
		}
		return bool(met), "another number of nodes expected by a function", nil
	}
	return false, "", fmt.Errorf(
		"expects and when have to be a number, a string, a function or a list of these, but here is %s",
		want.Type())
}
