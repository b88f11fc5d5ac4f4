package input

import (
	"bufio"
	"bytes"
	"io"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/yaml"
)

// TestDocuments compares documents with those of the reader of Kubernetes.
func TestDocuments(t *testing.T) {
	for _, text := range []string{
		"", "\n", "a", "a\n", "a: 1\n---\nb: 2\n", "---\na\n---\nb", "---\n---\n---\n", "---", "---\n",
		"a\n---", "a\n---\n", "a\n---\n\n---\n",
		"--- # note\na\n--- # note\nb\n", "a\n--- b\n", "a\n---b\n", "a\n ---\nb\n", "a\n----\n",
		"a\r\n---\r\nb\r\n", "a\rb\n", "a\r\n---", "\n\n---\n\n", "...\n---\na\n",
		"a: |\n  text\n  ---\n  more\n---   \nb", strings.Repeat("long ", 2000) + "\n---\n" +
			strings.Repeat("x", 10000),
	} {
		theirs, ours := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader([]byte(text)))),
			newDocuments([]byte(text))
		for {
			want, wantErr := theirs.Read()
			got, err := ours.next()
			if !bytes.Equal(got, want) || (err == nil) != (wantErr == nil) || err != nil &&
				!strings.HasSuffix(wantErr.Error(), err.Error()) {
				t.Errorf("%q: document %q, error %v; want %q, error %v", text, got, err, want, wantErr)
			}
			if err != nil || wantErr != nil {
				if (err == io.EOF) != (wantErr == io.EOF) {
					t.Errorf("%q: ends with %v, want %v", text, err, wantErr)
				}
				break
			}
		}
	}
}
