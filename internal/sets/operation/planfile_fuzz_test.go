package operation

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// FuzzReadPlan looks for saved plans that panic, or whose errors do not name the file.
func FuzzReadPlan(f *testing.F) {
	for _, text := range []string{"", "{}", `{"form": "muster.dev/plan/v1"}`, `[]`, `{"steps": [{}]}`,
		`{"form": "` + savedVersion + `", "options": {"fieldManager": "m"}, ` +
			`"steps": [{"op": "create", "ref": {"kind": "ConfigMap", "name": "a"}}]}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		path := filepath.Join(t.TempDir(), "plan.json")
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadPlan(t.Context(), path); err != nil && !strings.Contains(err.Error(), path) {
			t.Errorf("the error does not name the file: %v", err)
		}
	})
}
