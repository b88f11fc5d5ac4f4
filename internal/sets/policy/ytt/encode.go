package ytt

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"go.starlark.net/starlark"
	"go.yaml.in/yaml/v3"

	"github.com/muster-deploy/muster/internal/base/yamlsize"
)

// encodeJSON returns compact JSON with sorted keys, or indented JSON with indent=N.
func encodeJSON(_ *starlark.Thread, f *starlark.Builtin, args starlark.Tuple,
	kwargs []starlark.Tuple) (starlark.Value, error) {
	var given starlark.Value
	indent := 0
	if err := starlark.UnpackArgs(f.Name(), args, kwargs, "value", &given, "indent?",
		&indent); err != nil {
		return nil, err
	}
	value, err := fromStarlark(given)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name(), err)
	}
	encoded, err := json.Marshal(plainData(value))
	if err == nil && indent > 0 {
		var out bytes.Buffer
		err = json.Indent(&out, encoded, "", fmt.Sprintf("%*s", indent, ""))
		encoded = out.Bytes()
	}
	return starlark.String(encoded), err
}

func decodeJSON(s string) (starlark.Value, error) {
	decoder := json.NewDecoder(bytes.NewReader([]byte(s)))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	return toDict(value)
}

func decodeYAML(s string) (starlark.Value, error) {
	var value any
	if err := yamlsize.Check([]byte(s)); err != nil {
		return nil, err
	}
	if err := yaml.Unmarshal([]byte(s), &value); err != nil {
		return nil, err
	}
	return toDict(value)
}

// encodeYAML returns a YAML document. Keys keep the order of the value.
func encodeYAML(_ *starlark.Thread, args starlark.Tuple) (starlark.Value, error) {
	given, err := oneArgument(args)
	if err != nil {
		return nil, err
	}
	value, err := fromStarlark(given)
	if err != nil {
		return nil, err
	}
	node, err := yamlOf(toNodes(value, 0))
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	encoder.CompactSeqIndent()
	err = errors.Join(encoder.Encode(node), encoder.Close())
	return starlark.String(out.String()), err
}

func yamlOf(value any) (*yaml.Node, error) {
	out := &yaml.Node{}
	n, ok := value.(*nodes)
	if !ok {
		return out, out.Encode(value)
	}
	out.Kind = yaml.SequenceNode
	if n.kind == mapping {
		out.Kind = yaml.MappingNode
	}
	for _, it := range n.items {
		if n.kind == mapping {
			key := &yaml.Node{}
			if err := key.Encode(it.key); err != nil {
				return nil, err
			}
			out.Content = append(out.Content, key)
		}
		in, err := yamlOf(it.value)
		if err != nil {
			return nil, err
		}
		out.Content = append(out.Content, in)
	}
	return out, nil
}

// toDict converts data to dicts and lists that scripts can change.
func toDict(value any) (starlark.Value, error) {
	switch v := value.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return starlark.MakeInt64(n), nil
		}
		n, err := v.Float64()
		return starlark.Float(n), err
	case int:
		return starlark.MakeInt(v), nil
	case map[string]any:
		out := starlark.NewDict(len(v))
		for _, key := range slices.Sorted(maps.Keys(v)) {
			in, err := toDict(v[key])
			if err != nil {
				return nil, err
			}
			if err := out.SetKey(starlark.String(key), in); err != nil {
				return nil, err
			}
		}
		return out, nil
	case []any:
		out := starlark.NewList(nil)
		for _, item := range v {
			in, err := toDict(item)
			if err != nil {
				return nil, err
			}
			if err := out.Append(in); err != nil {
				return nil, err
			}
		}
		return out, nil
	case nil, bool, string, int64, float64:
		return toStarlark(typeStruct, v), nil
	}
	return nil, fmt.Errorf("a value of the type %T is not supported", value)
}

// makeStruct returns a struct with the keyword arguments as its attributes, which keep their types.
func makeStruct(_ *starlark.Thread, f *starlark.Builtin, args starlark.Tuple,
	kwargs []starlark.Tuple) (starlark.Value, error) {
	if len(args) > 0 {
		return nil, fmt.Errorf("%s takes arguments by name", f.Name())
	}
	data := make(map[string]any, len(kwargs))
	for _, pair := range kwargs {
		data[string(pair[0].(starlark.String))] = pair[1]
	}
	return newStruct(data), nil
}

// newStruct returns a struct whose attributes are values of Starlark.
func newStruct(attributes map[string]any) starlark.Value {
	out := newMap(typeStruct, attributes)
	out.starlark = true
	return out
}

// makeBound returns a struct as makeStruct does. Each attribute that is a function is bound to the
// only positional argument.
func makeBound(thread *starlark.Thread, f *starlark.Builtin, args starlark.Tuple,
	kwargs []starlark.Tuple) (starlark.Value, error) {
	object, err := oneArgument(args)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name(), err)
	}
	bound := make([]starlark.Tuple, 0, len(kwargs))
	for _, pair := range kwargs {
		value := pair[1]
		if method, ok := value.(starlark.Callable); ok {
			value = bind(method, starlark.Tuple{object})
		}
		bound = append(bound, starlark.Tuple{pair[0], value})
	}
	return makeStruct(thread, f, nil, bound)
}

// bindFunction returns a function that calls another one with the given arguments before its own.
func bindFunction(_ *starlark.Thread, args starlark.Tuple) (starlark.Value, error) {
	if len(args) < 2 {
		return nil, fmt.Errorf("at least 2 arguments expected, but here are %d", len(args))
	}
	f, ok := args[0].(starlark.Callable)
	if !ok {
		return nil, fmt.Errorf("a function is expected, but here is %s", args[0].Type())
	}
	return bind(f, args[1:]), nil
}

func bind(f starlark.Callable, first starlark.Tuple) starlark.Value {
	return starlark.NewBuiltin(f.Name(), func(thread *starlark.Thread, _ *starlark.Builtin,
		args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		return starlark.Call(thread, f, slices.Concat(first, args), kwargs)
	})
}

func encodeStruct(_ *starlark.Thread, args starlark.Tuple) (starlark.Value, error) {
	value, err := plainArgument(args)
	if err != nil {
		return nil, err
	}
	return toStarlark(typeStruct, value), nil
}

func decodeStruct(_ *starlark.Thread, args starlark.Tuple) (starlark.Value, error) {
	value, err := plainArgument(args)
	if err != nil {
		return nil, err
	}
	return toDict(value)
}

func plainArgument(args starlark.Tuple) (any, error) {
	given, err := oneArgument(args)
	if err != nil {
		return nil, err
	}
	value, err := fromStarlark(given)
	return plainData(value), err
}

// replaceTemplate marks a map or an array whose items replace the node that has it as its value.
func replaceTemplate(_ *starlark.Thread, args starlark.Tuple) (starlark.Value, error) {
	given, err := oneArgument(args)
	if err != nil {
		return nil, err
	}
	value, err := fromStarlark(given)
	if err != nil {
		return nil, err
	}
	n, ok := toNodes(value, 0).(*nodes)
	if !ok {
		return nil, fmt.Errorf("a map or an array is expected, but here is %s", typeOf(value))
	}
	return replacement{given, n}, nil
}
