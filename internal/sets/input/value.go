package input

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"unicode/utf8"

	"go.yaml.in/yaml/v2"
)

// errTrailingText is the error for text after the end of a document.
var errTrailingText = errors.New("yaml: more text follows the document; put --- between documents")

// errAliases is the error for aliases that stand for too much, with the text of the library.
var errAliases = errors.New("yaml: document contains excessive aliasing")

// maxExpandedBytes limits the text that the aliases of one document expand to.
const maxExpandedBytes = 16 << 20

// decode parses one document: a JSON object as JSON, others by the rules of YAML 1.1, in which yes
// and on are booleans. The last of equal keys counts. It returns values of unstructured objects,
// and nil for a document without content. c, unless nil, checks it.
func decode(document []byte, c *checker) (any, error) {
	if value, ok := decodeJSON(document, c); ok {
		return value, nil
	}
	value, repeats, err := decodeYAML(document, c != nil)
	if repeats {
		value, _, err = decodeYAML(document, false)
	}
	if err != nil {
		return nil, err
	}
	if c != nil && (repeats || tagPattern.Match(document)) {
		c.checkYAML(document)
	}
	if value, err = toJSONValue(value); err != nil {
		return nil, err
	}
	if bytes.IndexByte(document, '*') >= 0 && textBytes(value) > len(document)+maxExpandedBytes {
		return nil, errAliases
	}
	return value, nil
}

// decodeYAML returns the value of a document in the types of the library. If it is strict, it may
// stop at a key that repeats an earlier one.
func decodeYAML(document []byte, strict bool) (value any, repeats bool, err error) {
	parser := yaml.NewDecoder(bytes.NewReader(document))
	parser.SetStrict(strict)
	if err := parser.Decode(&value); err == io.EOF {
		return nil, false, nil
	} else if err != nil {
		return nil, strict && errors.As(err, new(*yaml.TypeError)), err
	}
	var more any
	if err := parser.Decode(&more); err != io.EOF {
		return nil, false, errTrailingText
	}
	return value, false, nil
}

// textBytes returns the length of all keys and texts of a value.
func textBytes(value any) int {
	size := 0
	switch v := value.(type) {
	case string:
		size = len(v)
	case []any:
		for _, element := range v {
			size += textBytes(element)
		}
	case map[string]any:
		for key, element := range v {
			size += len(key) + textBytes(element)
		}
	}
	return size
}

// toJSONValue converts a value of the YAML library to one of an unstructured object.
func toJSONValue(value any) (any, error) {
	switch v := value.(type) {
	case nil, bool, int64:
		return value, nil
	case string:
		if !utf8.ValidString(v) {
			return nil, errors.New("yaml: bytes that are no text cannot be part of an object")
		}
		return value, nil
	case int:
		return int64(v), nil
	case uint64: // larger than int64
		return float64(v), nil
	case float64:
		return toNumber(v)
	case []any:
		for i, element := range v {
			var err error
			if v[i], err = toJSONValue(element); err != nil {
				return nil, err
			}
		}
		return v, nil
	case map[any]any:
		return toStringMap(v)
	}
	return nil, fmt.Errorf("yaml: values of type %T cannot be part of an object", value)
}

// toNumber returns an integral number as int64.
func toNumber(v float64) (any, error) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil, &json.UnsupportedValueError{Str: strconv.FormatFloat(v, 'g', -1, 64)}
	}
	if v == math.Trunc(v) && math.Abs(v) < 1<<63 {
		return int64(v), nil
	}
	return v, nil
}

// toStringMap converts a map to one with strings as keys.
func toStringMap(from map[any]any) (any, error) {
	to := make(map[string]any, len(from))
	for key, value := range from {
		name, err := keyText(key)
		if err != nil {
			return nil, err
		}
		if _, ok := to[name]; ok {
			return nil, fmt.Errorf("yaml: a map has two keys that both stand for %q", name)
		}
		if to[name], err = toJSONValue(value); err != nil {
			return nil, err
		}
	}
	return to, nil
}

// keyText returns a key as a string. Numbers and booleans are allowed.
func keyText(key any) (string, error) {
	switch k := key.(type) {
	case string:
		if utf8.ValidString(k) {
			return k, nil
		}
	case int:
		return strconv.Itoa(k), nil
	case bool:
		return strconv.FormatBool(k), nil
	case float64:
		switch {
		case math.IsNaN(k):
			return ".nan", nil
		case math.IsInf(k, 1):
			return ".inf", nil
		case math.IsInf(k, -1):
			return "-.inf", nil
		}
		return strconv.FormatFloat(k, 'g', -1, 32), nil
	case nil:
		return "", errors.New(
			"yaml: a map has an empty key; is this a template that has not been rendered?")
	}
	return "", fmt.Errorf("yaml: keys of type %T cannot be part of an object; is this a template "+
		"that has not been rendered?", key)
}
