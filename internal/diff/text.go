package diff

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// maxText is the length, in runes, from which a value is shortened.
const maxText = 120

// valueText returns a value as compact JSON, shortened in the middle.
func valueText(v any) string {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return shorten(fmt.Sprint(v))
	}
	return shorten(string(bytes.TrimSuffix(b.Bytes(), []byte("\n"))))
}

func shorten(s string) string {
	if utf8.RuneCountInString(s) <= maxText {
		return s
	}
	runes := []rune(s)
	tail := (maxText - 1) / 2
	head := maxText - 1 - tail
	return string(runes[:head]) + "…" + string(runes[len(runes)-tail:])
}
