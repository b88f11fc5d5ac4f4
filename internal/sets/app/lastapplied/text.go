package lastapplied

import (
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v2"
)

// text returns operations in the form that is hashed: the output of version 2 of the YAML library.
// Most operations are so plain that its output is known and is written here, because every call of
// the library takes 128 KB of memory.
func text(ops []operation) ([]byte, error) {
	out := make([]byte, 0, 128*len(ops))
	for _, op := range ops {
		if !plain(op.Path) {
			return yaml.Marshal(ops)
		}
		out = append(out, "- type: "+op.Type+"\n  path: "...)
		out = append(out, op.Path...)
		if op.Value != nil {
			out = append(out, "\n  value:"...)
			var ok bool
			if out, ok = appendValue(out, *op.Value, "  "); !ok {
				return yaml.Marshal(ops)
			}
		}
		if op.Absent {
			out = append(out, "\n  absent: true"...)
		}
		out = append(out, '\n')
	}
	if len(ops) == 0 {
		return []byte("[]\n"), nil
	}
	return out, nil
}

// appendValue writes a value behind the colon of an indented key, without a newline at the end. It
// reports false for a value that is not plain.
func appendValue(out []byte, value any, indent string) ([]byte, bool) {
	switch value := value.(type) {
	case string:
		return append(append(out, ' '), value...), plain(value)
	case bool:
		return strconv.AppendBool(append(out, ' '), value), true
	case int64:
		return strconv.AppendInt(append(out, ' '), value, 10), true
	case map[string]any:
		return appendFields(out, value, indent+"  ")
	case []any:
		return appendItems(out, value, indent)
	}
	return nil, false
}

// appendFields writes a map, likewise.
func appendFields(out []byte, fields map[string]any, indent string) ([]byte, bool) {
	if len(fields) == 0 {
		return append(out, " {}"...), true
	}
	keys := make([]string, 0, len(fields))
	for key := range fields {
		if !letters(key) || !plain(key) {
			return nil, false // the library sorts other keys differently
		}
		keys = append(keys, key)
	}
	slices.Sort(keys)
	ok := true
	for _, key := range keys {
		out = append(append(append(append(out, '\n'), indent...), key...), ':')
		if out, ok = appendValue(out, fields[key], indent); !ok {
			return nil, false
		}
	}
	return out, true
}

// appendItems writes a list of plain scalars.
func appendItems(out []byte, items []any, indent string) ([]byte, bool) {
	if len(items) == 0 {
		return append(out, " []"...), true
	}
	for _, item := range items {
		switch item.(type) {
		case map[string]any, []any:
			return nil, false
		}
		var ok bool
		if out, ok = appendValue(append(append(append(out, '\n'), indent...), '-'), item, indent); !ok {
			return nil, false
		}
	}
	return out, true
}

// letters reports whether a text is a short word of letters.
func letters(text string) bool {
	for _, c := range []byte(text) {
		if (c|0x20) < 'a' || (c|0x20) > 'z' {
			return false
		}
	}
	return text != "" && len(text) <= 64 // a longer key is written with a question mark before it
}

// plain reports whether a text is certainly written without quotes: words, paths, addresses and
// percentages.
func plain(text string) bool {
	if text == "" {
		return false
	}
	dots := 0
	for i, c := range []byte(text) {
		switch {
		case (c|0x20) >= 'a' && (c|0x20) <= 'z', c == '/':
		case i == 0 && (c < '0' || c > '9'):
			return false
		case c >= '0' && c <= '9', c == '-', c == '_':
		case c == '.':
			dots++
		case c == '~' || c == '?':
			if text[0] != '/' {
				return false
			}
		case c == '%' && i == len(text)-1:
		default:
			return false
		}
	}
	if text[0] >= '0' && text[0] <= '9' {
		number := strings.TrimRight(text, "0123456789.%")
		return number == "" && (dots == 3 || dots == 0 && strings.HasSuffix(text, "%"))
	}
	return !reserved(text)
}

// reserved reports whether a word has another meaning in YAML 1.1.
func reserved(text string) bool {
	switch strings.ToLower(text) {
	case "y", "yes", "n", "no", "true", "false", "on", "off", "null", "nan", "inf":
		return true
	}
	return false
}
