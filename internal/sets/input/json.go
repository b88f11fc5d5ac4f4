package input

import (
	"bytes"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/json"
)

// decodeJSON returns the value of a document that is a JSON object. YAML would change some
// characters and pairs of escapes.
func decodeJSON(document []byte, c *checker) (any, bool) {
	text := bytes.TrimLeft(bytes.TrimPrefix(document, []byte("---")), " \t\n\uFEFF")
	var value any
	if len(text) == 0 || text[0] != '{' || !utf8.Valid(text) ||
		json.Unmarshal(text, &value) != nil {
		return nil, false
	}
	if c != nil {
		c.start += bytes.Count(document[:len(document)-len(text)], []byte("\n"))
		c.checkJSON(text)
	}
	return wholeNumbers(value), true
}

// wholeNumbers converts integral numbers of a JSON value to int64, in place.
func wholeNumbers(value any) any {
	switch v := value.(type) {
	case float64:
		number, _ := toNumber(v) // JSON has no other numbers
		return number
	case []any:
		for i := range v {
			v[i] = wholeNumbers(v[i])
		}
	case map[string]any:
		for key := range v {
			v[key] = wholeNumbers(v[key])
		}
	}
	return value
}
