// Package mutation copies values of some objects into fields of another.
//
// Apply takes an object, substitutions and the source objects, and returns the completed object.
// JSONPaths name fields; each path must match exactly one value. The package does no I/O and does
// not know the annotations that hold substitutions.
package mutation

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/muster-deploy/muster/internal/object"
)

// Substitution copies a value of a source object into a field of the target.
type Substitution struct {
	Source object.Ref `json:"source"`          // object that holds the value
	From   string     `json:"from"`            // JSONPath of the value in the source
	To     string     `json:"to"`              // JSONPath of the field; it must exist
	Token  string     `json:"token,omitempty"` // part of the field to replace; empty: all
}

// String returns the form that plans print.
func (s Substitution) String() string {
	text := fmt.Sprintf("%s takes %s of %s", s.To, s.From, s.Source)
	if s.Token != "" {
		text += fmt.Sprintf(" for %q", s.Token)
	}
	return text
}

// Error reports that an object could not be completed. It never quotes values, which may come from
// a Secret.
type Error struct{ Err error }

func (e *Error) Error() string { return "failed to mutate: " + e.Err.Error() }

// Unwrap returns the reason.
func (e *Error) Unwrap() error { return e.Err }

// MissingError reports that a source does not have the value, perhaps not yet.
type MissingError struct {
	Source object.Ref
	Path   string
}

func (e *MissingError) Error() string {
	return fmt.Sprintf("%s has no value at %s", e.Source, e.Path)
}

// Apply returns a copy of the object with every substitution applied, in order. A value that
// replaces a field keeps its type. A value that replaces a token in a string becomes text: strings
// unchanged, maps and lists as JSON. A token that does not occur changes nothing. All errors are of
// type *Error.
func Apply(
	obj *unstructured.Unstructured, list []Substitution,
	sources map[object.Ref]*unstructured.Unstructured,
) (*unstructured.Unstructured, error) {
	completed := obj.DeepCopy()
	for _, s := range list {
		if err := substitute(completed, s, sources[s.Source]); err != nil {
			return nil, &Error{err}
		}
	}
	if err := checkIdentity(completed, obj); err != nil {
		return nil, &Error{err}
	}
	return completed, nil
}

func substitute(
	obj *unstructured.Unstructured, s Substitution, source *unstructured.Unstructured,
) error {
	switch {
	case s.Source == object.RefOf(obj):
		return errors.New("an object cannot take a value from itself")
	case source == nil:
		return fmt.Errorf("%s, which has the value, does not exist", s.Source)
	}
	from, err := locate(source.Object, s.From)
	if errors.Is(err, errNoMatch) {
		return &MissingError{Source: s.Source, Path: s.From}
	}
	if err != nil {
		return fmt.Errorf("read %s of %s: %w", s.From, s.Source, err)
	}
	to, err := locate(obj.Object, s.To)
	if err == nil {
		err = checkReplaceable(to)
	}
	if err != nil {
		return fmt.Errorf("replace %s: %w", s.To, err)
	}
	value := runtime.DeepCopyJSONValue(from.get(source.Object))
	if s.Token != "" {
		if value, err = replaceToken(to.get(obj.Object), s.Token, value); err != nil {
			return fmt.Errorf("replace %q in %s: %w", s.Token, s.To, err)
		}
	}
	to.set(obj.Object, value)
	return nil
}

// replaceToken returns a text with a value in place of every token.
func replaceToken(field any, token string, value any) (any, error) {
	text, ok := field.(string)
	if !ok {
		return nil, fmt.Errorf("it is not a string but a %s", typeName(field))
	}
	if !strings.Contains(text, token) {
		return text, nil
	}
	part, err := textOf(value)
	return strings.ReplaceAll(text, token, part), err
}

func textOf(value any) (string, error) {
	switch v := value.(type) {
	case string:
		return v, nil
	case nil, map[string]any, []any:
		data, err := json.Marshal(v)
		return string(data), err
	default:
		return fmt.Sprint(v), nil
	}
}

func typeName(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case map[string]any:
		return "map"
	case []any:
		return "list"
	case bool:
		return "boolean"
	default:
		return "number"
	}
}

// checkReplaceable rejects locations whose replacement could remove labels or annotations of
// others.
func checkReplaceable(to location) error {
	if len(to) == 0 ||
		to[0] == "metadata" && (len(to) == 1 || len(to) == 2 && to[1] == "annotations") {
		return errors.New("it cannot be replaced as a whole; name a field inside it")
	}
	return nil
}

// checkIdentity checks that the object is still the same one, and that its labels and annotations
// are still strings.
func checkIdentity(completed, obj *unstructured.Unstructured) error {
	if completed.GetAPIVersion() != obj.GetAPIVersion() ||
		object.RefOf(completed) != object.RefOf(obj) {
		return errors.New("apiVersion, kind, name and namespace cannot be substituted")
	}
	for _, field := range []string{"labels", "annotations"} {
		if _, _, err := unstructured.NestedStringMap(completed.Object, "metadata", field); err != nil {
			return fmt.Errorf("metadata.%s must be strings: put the value into a string by a token", field)
		}
	}
	return nil
}
