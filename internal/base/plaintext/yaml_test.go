package plaintext

import (
	"errors"
	"testing"
)

// What an error of a YAML library quotes is hidden; the error that it is remains.
func TestHideYAML(t *testing.T) {
	for text, want := range map[string]string{
		"yaml: unknown anchor 'hunter2' referenced":            "yaml: unknown anchor '***' referenced",
		"cannot decode !!str `h...` as a !!int":                "cannot decode !!str '***' as a !!int",
		"cannot unmarshal !!str `a` into int":                  "cannot unmarshal !!str '***' into int",
		"invalid map key: map[string]any{\"a\":\n\"hunter2\"}": "invalid map key: '***'",
		"found unexpected end of stream":                       "found unexpected end of stream",
	} {
		err := errors.New(text)
		got := HideYAML(err)
		if got.Error() != want || !errors.Is(got, err) {
			t.Errorf("HideYAML(%q) = %q", text, got)
		}
	}
	if err := HideYAML(nil); err != nil {
		t.Error(err)
	}
}
