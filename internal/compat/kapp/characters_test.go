package kapp

import (
	"bytes"
	"strings"
	"testing"

	"github.com/muster-deploy/muster/internal/compat/kapp/ui"
)

// Values with characters that YAML does not allow in documents are printed with escapes.
func TestControlCharacters(t *testing.T) {
	obj := liveOf(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {k: "a\x9Bb"},
		status: {text: "\x7F"}}`)
	if got, want := statusText(obj), `text: "\x7F"`; got != want {
		t.Errorf("status %q, want %q", got, want)
	}
	var out bytes.Buffer
	u := ui.New(ui.Options{Out: &out, Err: &out, Name: "kapp"})
	err := printRaw(u, []live{obj})
	if code := u.Close(nil); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if err != nil || !strings.Contains(out.String(), `k: "a\x9Bb"`) {
		t.Errorf("error %v, output %q", err, out.String())
	}
}
