package plaintext

import "testing"

func TestASCII(t *testing.T) {
	for text, want := range map[string]string{
		"a → b …":             "a -> b ...",
		"├─ pod\n│  └─ müsli": "|- pod\n|  `- müsli",
		"plain\x1b[1m\xff":    "plain\x1b[1m\xff",
	} {
		if got := ASCII(text); got != want {
			t.Errorf("ASCII(%q) = %q, want %q", text, got, want)
		}
	}
}
