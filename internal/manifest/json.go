package manifest

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strconv"
	"unicode/utf16"
)

// isManifest reports whether the text of a JSON file is an object: it has an apiVersion and a kind.
// A broken text that contains apiVersion counts as one, so that its error is reported.
func isManifest(text []byte) bool {
	if !bytes.Contains(text, []byte(`"apiVersion"`)) {
		return false
	}
	var head map[string]json.RawMessage
	err := json.Unmarshal(bytes.TrimPrefix(text, []byte("\uFEFF")), &head)
	if _, broken := err.(*json.SyntaxError); broken {
		return true
	}
	return head["apiVersion"] != nil && head["kind"] != nil
}

// escape matches an escape of a JSON string. Its group is a surrogate pair.
var escape = regexp.MustCompile(
	`\\(?:(u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})|.)`)

// unescape replaces the escapes of JSON that YAML does not have: slashes and surrogate pairs. It
// returns other texts unchanged.
func unescape(text []byte) []byte {
	start := bytes.TrimLeft(text, " \t\r\n")
	if len(start) == 0 || start[0] != '{' || !needsUnescape(text) || !json.Valid(text) {
		return text
	}
	return escape.ReplaceAllFunc(text, func(match []byte) []byte {
		switch {
		case len(match) == len(`\ud83d\ude00`):
			return []byte(string(utf16.DecodeRune(parseCodeUnit(match[2:6]), parseCodeUnit(match[8:12]))))
		case match[1] == '/':
			return match[1:]
		}
		return match
	})
}

// needsUnescape reports whether a text may contain such escapes.
func needsUnescape(text []byte) bool {
	for _, start := range []string{`\/`, `\ud`, `\uD`} {
		if bytes.Contains(text, []byte(start)) {
			return true
		}
	}
	return false
}

// parseCodeUnit decodes the four digits of an escape.
func parseCodeUnit(digits []byte) rune {
	value, _ := strconv.ParseUint(string(digits), 16, 16) // the expression lets nothing else through
	return rune(value)
}
