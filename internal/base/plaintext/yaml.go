package plaintext

import "regexp"

// quotedYAML matches what errors of YAML libraries quote of a document: names of anchors, values
// of the wrong type, keys that are maps, and texts behind separators. A password that begins with *
// reads as the name of an anchor.
var quotedYAML = regexp.MustCompile(
	"(unknown anchor )'[^']*'|(cannot (?:decode|unmarshal) !\\S+ )`[^`]*`|" +
		"(invalid map key: |invalid Yaml document separator: )(?s:.*)")

// HideYAML returns an error of a YAML library without the values that it quotes, which may be those
// of a Secret. It wraps err. An error that quotes nothing is returned unchanged.
func HideYAML(err error) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	hidden := quotedYAML.ReplaceAllString(text, "${1}${2}${3}'***'")
	if hidden == text {
		return err
	}
	return &hiddenError{hidden, err}
}

// hiddenError is an error with another text.
type hiddenError struct {
	text  string
	cause error
}

func (e *hiddenError) Error() string { return e.text }

func (e *hiddenError) Unwrap() error { return e.cause }
