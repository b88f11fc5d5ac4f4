package edit

import (
	"errors"
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

// A lone CR ends a line for the YAML library, and not for editors: the document is not changed.
func TestRewriteLoneCR(t *testing.T) {
	d, err := Open([]byte("kind: A\ra: 1\r# x\nb: 2\n"), 1)
	if err != nil {
		t.Fatal(err)
	}
	_, err = d.Rewrite(map[string]any{"kind": "A", "a": int64(1), "b": int64(3)})
	if !errors.Is(err, errLayout) {
		t.Errorf("error: %v, want %v", err, errLayout)
	}
}

// A byte order mark stays.
func TestRewriteByteOrderMark(t *testing.T) {
	d, err := Open([]byte("\uFEFFkind: A\n"), 1)
	if err != nil {
		t.Fatal(err)
	}
	got, err := d.Rewrite(map[string]any{"kind": "B"})
	if want := "\uFEFFkind: B\n"; err != nil || string(got) != want {
		t.Errorf("%q (%v), want %q", got, err, want)
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
