package edit

import (
	"strings"
	"testing"

	"github.com/muster-deploy/muster/internal/testing/golden"
)

// TestRewrite writes the content of the section want into the document of the section before: into
// the one on the line of the section line, if there is one.
func TestRewrite(t *testing.T) {
	golden.Run(t, "testdata/*.txtar", func(t *testing.T, files map[string]string) map[string]string {
		line := strings.Count(files["line"], "\n") // as many lines as the number
		file := []byte(files["before"])
		d, err := Open(file, Number(file, line))
		if err != nil {
			return map[string]string{"after": "error: " + err.Error() + "\n"}
		}
		want, err := decode([]byte(files["want"]))
		if err != nil {
			t.Fatal(err)
		}
		after, err := d.Rewrite(want)
		if err != nil {
			return map[string]string{"after": "error: " + err.Error() + "\n"}
		}
		return map[string]string{"after": string(after)}
	})
}
