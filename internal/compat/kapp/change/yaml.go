package change

import (
	"errors"
	"strings"

	yaml2 "go.yaml.in/yaml/v2"

	"github.com/muster-deploy/muster/internal/base/yamltext"
)

// marshal returns the fields of an object as YAML with sorted keys, byte for byte as
// sigs.k8s.io/yaml writes them. That library converts to JSON and back, which takes thirty times
// the memory of the text, so marshal calls the YAML library below it. Only objects that the
// conversion would change are converted (decision 17).
func marshal(fields map[string]any) (string, error) {
	if !survivesJSON(fields) {
		text, err := yamltext.MarshalAsLibrary(fields)
		return string(text), err
	}
	var out strings.Builder
	encoder := yaml2.NewEncoder(&out)
	err := errors.Join(encoder.Encode(fields), encoder.Close())
	return out.String(), err
}

// survivesJSON reports whether a value is the same after it was written as JSON and read as YAML.
// It may report false for a value that is.
func survivesJSON(value any) bool {
	switch value := value.(type) {
	case nil, bool, int64:
		return true
	case string:
		return printable(value)
	case map[string]any:
		for key, inner := range value {
			if !printable(key) || !survivesJSON(inner) {
				return false
			}
		}
		return value != nil // a nil map is null in JSON and {} in YAML
	case []any:
		for _, item := range value {
			if !survivesJSON(item) {
				return false
			}
		}
		return value != nil
	}
	return false // JSON writes floating-point numbers in another form
}

// printable reports whether a string holds only characters that both JSON and YAML leave as they
// are.
func printable(text string) bool {
	for _, c := range text {
		switch {
		case c >= ' ' && c <= '~', c == '\n', c == '\t', c == '\r', c >= 0xa0 && c < 0x2028,
			c > 0x2029 && c < 0xd800, c >= 0xe000 && c < 0xfeff, c > 0xfeff && c < 0xfffd, c > 0xffff:
		default:
			return false
		}
	}
	return true
}
