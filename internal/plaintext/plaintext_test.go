package plaintext

import "testing"

func TestPrintable(t *testing.T) {
	for text, want := range map[string]string{
		"web\t1\nü😀\uFEFF": "web\t1\nü😀\uFEFF", "\x1b[31mred\a\x7f\u009b": "�[31mred���", "a\rb": "a�b",
	} {
		if got := Printable(text); got != want {
			t.Errorf("Printable(%q) = %q, want %q", text, got, want)
		}
	}
}
