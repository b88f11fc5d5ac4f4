package diff

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/object"
)

// minSecret is the length, in bytes, of the shortest value of a Secret that is hidden in texts of
// others. Shorter ones are parts of many words.
const minSecret = 4

// SecretTexts returns a masker that hides, in logs and messages, the values of the Secrets among
// objects: whole, line by line, encoded and decoded. Objects may be nil.
func SecretTexts(objects ...*unstructured.Unstructured) *Masker {
	var values []string
	for _, obj := range objects {
		if object.IsSecret(obj) {
			values = append(values, secretTexts(obj)...)
		}
	}
	return newMasker(values)
}

// secretTexts returns the values of a Secret and their lines, encoded and decoded, and as texts of
// JSON have them: what quotes an annotation with a copy of the Secret escapes them twice.
func secretTexts(secret *unstructured.Unstructured) (values []string) {
	add := func(text string) {
		for _, line := range append(strings.Split(text, "\n"), text) {
			if line = strings.TrimSpace(line); len(line) < minSecret {
				continue
			}
			values = append(values, line)
			if !utf8.ValidString(line) || !strings.ContainsAny(line, "\"\\<>&\n\t") {
				continue
			}
			for _, html := range []bool{false, true} {
				once := escaped(line, html)
				values = append(values, once, escaped(once, html))
			}
		}
	}
	for _, field := range []string{"data", "stringData"} {
		for _, value := range fieldsOf(secret.Object, field) {
			text := fmt.Sprint(value)
			decoded, err := base64.StdEncoding.DecodeString(text)
			if add(text); err == nil && field == "data" {
				add(string(decoded))
			} else if field == "stringData" {
				add(base64.StdEncoding.EncodeToString([]byte(text)))
			}
		}
	}
	return values
}

// escaped returns a text as a string of JSON has it, with or without escapes for HTML.
func escaped(text string, html bool) string {
	var quoted bytes.Buffer
	encoder := json.NewEncoder(&quoted)
	encoder.SetEscapeHTML(html)
	if encoder.Encode(text) != nil { // cannot happen
		return text
	}
	text = strings.TrimSuffix(quoted.String(), "\n")
	return text[1 : len(text)-1]
}
