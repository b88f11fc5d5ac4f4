package ytt

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"

	"go.starlark.net/starlark"
)

// urlModule has the members of @ytt:url.
var urlModule = starlark.StringDict{
	"path_segment_encode":      encoder("url.path_segment_encode", url.PathEscape),
	"path_segment_decode":      decoder("url.path_segment_decode", url.PathUnescape),
	"query_param_value_encode": encoder("url.query_param_value_encode", url.QueryEscape),
	"query_param_value_decode": decoder("url.query_param_value_decode", url.QueryUnescape),
	"query_params_encode":      builtin("url.query_params_encode", encodeQuery),
	"query_params_decode":      stringFunction("url.query_params_decode", decodeQuery),
	"parse":                    stringFunction("url.parse", parseURL),
}

func encoder(name string, encode func(string) string) starlark.Value {
	return stringFunction(name, func(s string) (starlark.Value, error) {
		return starlark.String(encode(s)), nil
	})
}

func decoder(name string, decode func(string) (string, error)) starlark.Value {
	return stringFunction(name, func(s string) (starlark.Value, error) {
		decoded, err := decode(s)
		return starlark.String(decoded), err
	})
}

// encodeQuery returns the query for a map from names to lists of strings. Names are sorted.
func encodeQuery(_ *starlark.Thread, args starlark.Tuple) (starlark.Value, error) {
	given, err := plainArgument(args)
	if err != nil {
		return nil, err
	}
	parameters, ok := given.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("a map is expected, but here is %s", typeOf(given))
	}
	query := url.Values{}
	for _, name := range slices.Sorted(maps.Keys(parameters)) {
		list, ok := parameters[name].([]any)
		if !ok {
			return nil, fmt.Errorf("%s: an array of strings is expected, but here is %s", name,
				typeOf(parameters[name]))
		}
		for _, in := range list {
			value, ok := in.(string)
			if !ok {
				return nil, fmt.Errorf("%s: a string is expected, but here is %s", name, typeOf(in))
			}
			query.Add(name, value)
		}
	}
	return starlark.String(query.Encode()), nil
}

// decodeQuery returns a dict from the names in a query to lists of strings.
func decodeQuery(s string) (starlark.Value, error) {
	query, err := url.ParseQuery(s)
	if err != nil {
		return nil, err
	}
	out := map[string]any{}
	for name, values := range query {
		list := make([]any, 0, len(values))
		for _, value := range values {
			list = append(list, value)
		}
		out[name] = list
	}
	return toDict(out)
}

// parseURL returns a struct with the parts of a URL. Its error does not contain the URL, which may
// hold a password.
func parseURL(s string) (starlark.Value, error) {
	parsed, err := url.Parse(s)
	if err != nil {
		return nil, errors.New("the text is not a URL")
	}
	return urlStruct(parsed), nil
}

// urlStruct returns a struct with the functions string, hostname and without_user, and with user,
// which is None or has name, password (or None) and string.
func urlStruct(u *url.URL) starlark.Value {
	user := starlark.Value(starlark.None)
	if u.User != nil {
		password := starlark.Value(starlark.None)
		if given, ok := u.User.Password(); ok {
			password = starlark.String(given)
		}
		user = newStruct(map[string]any{"name": starlark.String(u.User.Username()),
			"password": password, "string": getter("string", starlark.String(u.User.String()))})
	}
	bare := *u
	bare.User = nil
	withoutUser := builtin("without_user",
		func(_ *starlark.Thread, args starlark.Tuple) (starlark.Value, error) {
			_, err := stringArguments(args, 0)
			return urlStruct(&bare), err
		})
	return newStruct(map[string]any{"user": user, "without_user": withoutUser,
		"hostname": getter("hostname", starlark.String(u.Hostname())),
		"string":   getter("string", starlark.String(u.String()))})
}

// getter returns a function without arguments that returns a value.
func getter(name string, value starlark.Value) starlark.Value {
	return builtin(name, func(_ *starlark.Thread, args starlark.Tuple) (starlark.Value, error) {
		_, err := stringArguments(args, 0)
		return value, err
	})
}
