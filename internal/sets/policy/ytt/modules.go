package ytt

import (
	"crypto/md5"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"go.starlark.net/lib/math"
	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
	"k8s.io/apimachinery/pkg/util/version"
)

// modules are the modules that scripts can load besides data, by the name after "@ytt:", which is
// also the name of their only member.
var modules = map[string]starlark.StringDict{
	"overlay": {
		"apply":   builtin("overlay.apply", applyOverlay),
		"all":     builtin("overlay.all", matchAll),
		"index":   builtin("overlay.index", matchIndex),
		"map_key": builtin("overlay.map_key", matchMapKey),
		"subset":  builtin("overlay.subset", matchSubset),
		"and_op":  combineMatchers("overlay.and_op", false),
		"or_op":   combineMatchers("overlay.or_op", true),
		"not_op":  builtin("overlay.not_op", matchNot),
	},
	"json": {
		"encode": starlark.NewBuiltin("json.encode", encodeJSON),
		"decode": stringFunction("json.decode", decodeJSON),
	},
	"yaml": {
		"encode": builtin("yaml.encode", encodeYAML),
		"decode": stringFunction("yaml.decode", decodeYAML),
	},
	"struct": {
		"make":          starlark.NewBuiltin("struct.make", makeStruct),
		"make_and_bind": starlark.NewBuiltin("struct.make_and_bind", makeBound),
		"bind":          builtin("struct.bind", bindFunction),
		"encode":        builtin("struct.encode", encodeStruct),
		"decode":        builtin("struct.decode", decodeStruct),
	},
	"template": {"replace": builtin("template.replace", replaceTemplate)},
	"assert": {
		"equals": builtin("assert.equals", assertEquals),
		"fail":   stringFunction("assert.fail", assertFail),
		"try_to": builtin("assert.try_to", tryTo),
	},
	"base64": {
		"encode": stringFunction("base64.encode", encodeBase64),
		"decode": stringFunction("base64.decode", decodeBase64),
	},
	"md5":    {"sum": stringFunction("md5.sum", sumMD5)},
	"sha256": {"sum": stringFunction("sha256.sum", sumSHA256)},
	"regexp": {
		"match":   builtin("regexp.match", matchRegexp),
		"replace": builtin("regexp.replace", replaceRegexp),
	},
	"math":    math.Module.Members,
	"module":  {"make": starlark.NewBuiltin("module.make", starlarkstruct.MakeModule)},
	"url":     urlModule,
	"version": {"require_at_least": stringFunction("version.require_at_least", requireVersion)},
}

// load returns the module with a name.
func load(name string, values map[string]any) (starlark.StringDict, error) {
	short, ours := strings.CutPrefix(name, "@ytt:")
	if ours && short == "data" {
		members := starlark.StringDict{"values": newMap(typeStruct, values)}
		return starlark.StringDict{short: &starlarkstruct.Module{Name: short, Members: members}}, nil
	}
	if members, ok := modules[short]; ours && ok {
		return starlark.StringDict{short: &starlarkstruct.Module{Name: short, Members: members}}, nil
	}
	return nil, fmt.Errorf("what can be loaded is @ytt: with data, %s",
		strings.Join(slices.Sorted(maps.Keys(modules)), ", "))
}

type call func(thread *starlark.Thread, args starlark.Tuple) (starlark.Value, error)

// builtin returns a function without keyword arguments.
func builtin(name string, f call) *starlark.Builtin {
	return starlark.NewBuiltin(name,
		func(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple,
			kwargs []starlark.Tuple) (starlark.Value, error) {
			if len(kwargs) > 0 {
				return nil, fmt.Errorf("%s: arguments by name are not supported, but here is %s", name,
					kwargs[0][0])
			}
			value, err := f(thread, args)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			return value, nil
		})
}

// stringFunction returns a function of one string.
func stringFunction(name string, f func(string) (starlark.Value, error)) *starlark.Builtin {
	return builtin(name, func(_ *starlark.Thread, args starlark.Tuple) (starlark.Value, error) {
		given, err := stringArguments(args, 1)
		if err != nil {
			return nil, err
		}
		return f(given[0])
	})
}

// stringArguments returns the arguments as strings. It is an error if there are more or fewer than
// count.
func stringArguments(args starlark.Tuple, count int) ([]string, error) {
	if len(args) != count {
		return nil, fmt.Errorf("%d arguments expected, but here are %d", count, len(args))
	}
	var out []string
	for _, arg := range args {
		s, ok := starlark.AsString(arg)
		if !ok {
			return nil, fmt.Errorf("a string is expected, but here is %s", arg.Type())
		}
		out = append(out, s)
	}
	return out, nil
}

func oneArgument(args starlark.Tuple) (starlark.Value, error) {
	if len(args) != 1 {
		return nil, fmt.Errorf("1 argument expected, but here are %d", len(args))
	}
	return args[0], nil
}

// yttVersion is the version of ytt in kapp 0.60, whose functions and annotations there are.
var yttVersion = version.MustParseSemantic("0.36.0")

// requireVersion fails if a version of ytt is required that is later than yttVersion.
func requireVersion(s string) (starlark.Value, error) {
	required, err := version.ParseSemantic(s)
	if err != nil {
		return nil, fmt.Errorf("%q is not a version as in \"0.36.0\"", s)
	}
	if yttVersion.LessThan(required) {
		return nil, fmt.Errorf("version %s is required, but rules are evaluated as by ytt %s", s,
			yttVersion)
	}
	return starlark.None, nil
}

func encodeBase64(s string) (starlark.Value, error) {
	return starlark.String(base64.StdEncoding.EncodeToString([]byte(s))), nil
}

func decodeBase64(s string) (starlark.Value, error) {
	decoded, err := base64.StdEncoding.DecodeString(s)
	return starlark.String(decoded), err
}

func sumMD5(s string) (starlark.Value, error) {
	sum := md5.Sum([]byte(s)) // chosen by the script
	return starlark.String(hex.EncodeToString(sum[:])), nil
}

func sumSHA256(s string) (starlark.Value, error) {
	sum := sha256.Sum256([]byte(s))
	return starlark.String(hex.EncodeToString(sum[:])), nil
}

func matchRegexp(_ *starlark.Thread, args starlark.Tuple) (starlark.Value, error) {
	given, err := stringArguments(args, 2)
	if err != nil {
		return nil, err
	}
	found, err := regexp.MatchString(given[0], given[1])
	return starlark.Bool(found), err
}

// replaceRegexp replaces the matches of a pattern in a text by a text with $1, or by the results
// of a function.
func replaceRegexp(thread *starlark.Thread, args starlark.Tuple) (starlark.Value, error) {
	if len(args) != 3 {
		return nil, fmt.Errorf("3 arguments expected, but here are %d", len(args))
	}
	given, err := stringArguments(args[:2], 2)
	if err != nil {
		return nil, err
	}
	pattern, err := regexp.Compile(given[0])
	if err != nil {
		return nil, err
	}
	f, ok := args[2].(starlark.Callable)
	if !ok {
		with, err := stringArguments(args[2:], 1)
		if err != nil {
			return nil, err
		}
		return starlark.String(pattern.ReplaceAllString(given[1], with[0])), nil
	}
	var failed error
	out := pattern.ReplaceAllStringFunc(given[1], func(found string) string {
		result, err := starlark.Call(thread, f, starlark.Tuple{starlark.String(found)}, nil)
		if err != nil {
			failed = errors.Join(failed, err)
			return found
		}
		put, ok := starlark.AsString(result)
		if !ok {
			failed = errors.Join(failed, fmt.Errorf("the function has to return a string, but returned %s",
				result.Type()))
		}
		return put
	})
	return starlark.String(out), failed
}

func assertEquals(_ *starlark.Thread, args starlark.Tuple) (starlark.Value, error) {
	if len(args) != 2 {
		return nil, fmt.Errorf("2 arguments expected, but here are %d", len(args))
	}
	var sides [2]any
	for i, arg := range args {
		var err error
		if sides[i], err = fromStarlark(arg); err != nil {
			return nil, err
		}
	}
	if !equal(sides[0], sides[1]) {
		return nil, errors.New("the two values are not equal")
	}
	return starlark.None, nil
}

func assertFail(s string) (starlark.Value, error) { return nil, errors.New(s) }

// tryTo calls a function and returns its result and the text of its error; one of them is None.
func tryTo(thread *starlark.Thread, args starlark.Tuple) (starlark.Value, error) {
	f, err := oneArgument(args)
	if err != nil {
		return nil, err
	}
	result, err := starlark.Call(thread, f, nil, nil)
	if err != nil {
		return starlark.Tuple{starlark.None, starlark.String(err.Error())}, nil
	}
	return starlark.Tuple{result, starlark.None}, nil
}
