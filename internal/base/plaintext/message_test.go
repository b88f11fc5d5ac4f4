package plaintext

import (
	"strings"
	"testing"
)

func TestText(t *testing.T) {
	long := strings.Repeat("x", 5000)
	for text, want := range map[string]string{
		"":                           "",
		"a\nb\n":                     "a\nb\n",
		"a\x1b[m\n\tb\xff\u009b\r\n": "a�[m\n\tb���\n",
		long + "\nb": long[:textLineHead] + " … " + long[:textLineTail] +
			"\nb",
		strings.Repeat("abc\n", maxText): strings.Repeat("abc\n", maxText/4) + "… " +
			"49152 more lines\n",
	} {
		if got := Text(text); got != want {
			t.Errorf("Text(%.80q) = %.80q of %d bytes, want %d", text, got, len(got), len(want))
		}
	}
}

// TestMessage: no line of a message but the first begins at the margin, and a message has a few
// kilobytes.
func TestMessage(t *testing.T) {
	for text, want := range map[string]string{
		"a\nerror: b\n\n  c\n\td": "a\n    error: b\n\n  c\n    \td",
		"a\r\nb\u2028c\x85":       "a�\n    b�c�",
	} {
		if got := Message(text); got != want {
			t.Errorf("Message(%q) = %q, want %q", text, got, want)
		}
		if got := Message(want); got != want {
			t.Errorf("Message(%q) = %q", want, got)
		}
	}
	for _, part := range []string{"x", "x\n", "\n", "ü"} {
		got := Message(strings.Repeat(part, 1<<20))
		if len(got) > maxMessage+100 || !strings.Contains(got, "…") {
			t.Errorf("the message of %q has %d bytes", part, len(got))
		}
	}
}
