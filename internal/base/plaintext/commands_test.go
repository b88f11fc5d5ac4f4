package plaintext

import (
	"fmt"
	"strings"
	"testing"
)

// TestWithoutCommands: no line of a log is a command to the job, whatever separates lines and
// begins them.
func TestWithoutCommands(t *testing.T) {
	for text, want := range map[string]string{
		"::error::x":                     ": :error::x",
		" \t::x\n\u00a0\u3000::x\n":      " \t: :x\n\u00a0\u3000: :x\n",
		"\ufeff::x\x1b::x":               "\ufeff: :x\x1b::x",
		"a\r::x\v::x\f::x":               "a\r: :x\v: :x\f: :x",
		"a\u0085::x\u2028::x\u2029::x":   "a\u0085: :x\u2028: :x\u2029: :x",
		"a ::x and fe80::1":              "a ::x and fe80::1",
		"a ##[error]b":                   "a ## [error]b",
		"##vso[task.setvariable]##":      "## vso[task.setvariable]##",
		"##teamcity[buildStop]":          "## teamcity[buildStop]",
		"\x1b[0Ksection_start:1:a\r\x1b": "\x1b[0Ksection_start :1:a\r\x1b",
		"section_end:1:a":                "section_end :1:a",
		"## [x] #[y] \xff":               "## [x] #[y] \ufffd",
	} {
		if got := WithoutCommands(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// TestLogWriter: a line that is written in parts is no command either, and a part that continues a
// line is none.
func TestLogWriter(t *testing.T) {
	var b strings.Builder
	w := &LogWriter{Out: &b}
	for _, part := range []string{"  ", "::x\n", "address: ", "::1", "\n", "::y\n"} {
		fmt.Fprint(w, part)
	}
	if got, want := b.String(), "  : :x\naddress: ::1\n: :y\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
