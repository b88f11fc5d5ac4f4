// Package yamltext writes values as YAML, with any characters: what others wrote into objects must
// not keep a command from showing them.
package yamltext

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"sigs.k8s.io/yaml"
)

// Marshal returns a value as sigs.k8s.io/yaml writes it. Characters that YAML does not allow in
// documents, for which that library returns an error, are escaped: "\x9B".
func Marshal(value any) ([]byte, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	return FromJSON(text)
}

// MarshalAsLibrary returns a value exactly as sigs.k8s.io/yaml writes it, even where that changes
// the value. Only values for which that library returns an error are written as Marshal does.
func MarshalAsLibrary(value any) ([]byte, error) {
	if text, err := yaml.Marshal(value); err == nil {
		return text, nil
	}
	return Marshal(value)
}

// FromJSON returns a JSON document as YAML, likewise.
func FromJSON(text []byte) ([]byte, error) { return yaml.JSONToYAML(escaped(text)) }

// escaped returns a JSON document with escapes for the characters that a reader of YAML refuses, or
// takes for the ends of lines. They are in strings alone.
func escaped(text []byte) []byte {
	var b strings.Builder
	kept := 0
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		if r >= 0x7f && r <= 0x9f || r == 0xfffe || r == 0xffff {
			b.Write(text[kept:i])
			fmt.Fprintf(&b, `\u%04x`, r)
			kept = i + size
		}
		i += size
	}
	if kept == 0 {
		return text
	}
	b.Write(text[kept:])
	return []byte(b.String())
}
