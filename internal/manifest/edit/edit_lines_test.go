package edit

import (
	"strings"
	"testing"
)

// A file with the line ends of Windows keeps them, and one without a last newline gets none.
func TestRewriteLineEnds(t *testing.T) {
	before := "kind: A\r\ndata:\r\n  a: \"1\" # one\r\n  b: \"2\""
	after := "kind: A\r\ndata:\r\n  a: \"9\" # one\r\n  b: \"2\"\r\n  c: \"3\""
	d, err := Open([]byte(before), 1)
	if err != nil {
		t.Fatal(err)
	}
	content := map[string]any{
		"kind": "A", "data": map[string]any{"a": "9", "b": "2", "c": "3"},
	}
	got, err := d.Rewrite(content)
	if err != nil || string(got) != after {
		t.Errorf("%q (%v), want %q", got, err, after)
	}
}

// Hide keeps the number of lines of what it hides, and reports documents that cannot be read.
func TestHide(t *testing.T) {
	file := "kind: A\n---\nkind: B\ntext: {\n---\nkind: C\ntext: c"
	var seen []string
	got := Hide([]byte(file), "#", func(number int, fields map[string]any, err error) bool {
		kind, _ := fields["kind"].(string)
		seen = append(seen, kind)
		return number == 3 || err != nil
	})
	if want := "kind: A\n#\n#\n#\n#\n#\n#\n"; string(got) != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := strings.Join(seen, ","); got != "A,,C" {
		t.Errorf("kinds: %s", got)
	}
}
