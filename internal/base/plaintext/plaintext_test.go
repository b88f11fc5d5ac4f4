package plaintext

import (
	"strings"
	"testing"
)

func TestPrintable(t *testing.T) {
	for text, want := range map[string]string{
		"web\t1\nü😀\uFEFF": "web\t1\nü😀\uFEFF", "\x1b[31mred\a\x7f\u009b": "�[31mred���", "a\rb": "a�b",
		"a\u2028b\u2029c": "a�b�c", "\u202eyaml.\u2066x\u2069\u200f\u061c": "�yaml.�x���",
	} {
		if got := Printable(text); got != want {
			t.Errorf("Printable(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestLine(t *testing.T) {
	for text, want := range map[string]string{
		"web ü😀":                      "web ü😀",
		"a\nb\tc\x1b[m\u2028d\u202ee": "a�b�c�[m�d�e",
		"a\xffb":                      "a�b",
		strings.Repeat("x", 700):      strings.Repeat("x", 700),
		"a" + strings.Repeat("ü", 1000): "a" +
			strings.Repeat("ü", 249) + " … " + strings.Repeat("ü", 100),
		strings.Repeat("\x80", 2000): "�",
	} {
		if got := Line(text); got != want {
			t.Errorf("Line(%q) = %q, want %q", text, got, want)
		}
	}
}
