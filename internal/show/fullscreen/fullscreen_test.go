package fullscreen

import (
	"fmt"
	"strings"
	"testing"
)

// TestParseKey parses what terminals send.
func TestParseKey(t *testing.T) {
	for text, want := range map[string][]Key{
		"aé":               {'a', 'é'},
		"\r\n":             {Enter, Enter},
		"\x1b[A\x1bOB":     {Up, Down},
		"\x1b[5~\x1b[6~":   {PageUp, PageDown},
		"\x1b[1~\x1b[F":    {Home, End},
		"\x1b[1;5Cx":       {unknownKey, 'x'},
		"\x1b":             {Escape},
		"\x1bq":            {Escape, 'q'},
		"\x1b[":            {unknownKey},
		"\b\x7f\x04":       {Backspace, Backspace, EndOfFile},
		"\xff":             {'\ufffd'},
		"\x1b[\x1b[A":      {unknownKey, 'A'},
		"\x1b[200~y\x1b[A": {unknownKey, 'y', Up},
	} {
		var got []Key
		for data := []byte(text); len(data) > 0; {
			k, size := parseKey(data, true)
			if size == 0 {
				t.Fatalf("%q: nothing is parsed", data)
			}
			got, data = append(got, k), data[size:]
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
	for _, text := range []string{"", "\x1b", "\x1b[", "\x1b[1", "\xc3"} {
		if k, size := parseKey([]byte(text), false); size != 0 {
			t.Errorf("%q: the key %v, although the rest may follow", text, k)
		}
	}
}

// FuzzParseKey looks for input that is not consumed, or consumed beyond its end.
func FuzzParseKey(f *testing.F) {
	f.Add([]byte("a\x1b[A\x1b"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for len(data) > 0 {
			_, size := parseKey(data, true)
			if size < 1 || size > len(data) {
				t.Fatalf("%q: %d bytes", data, size)
			}
			data = data[size:]
		}
	})
}

// TestUpdate writes only lines that differ, and everything after a change of the size.
func TestUpdate(t *testing.T) {
	f := frame{}
	lines := func(texts ...string) (all []Line) {
		for _, text := range texts {
			all = append(all, Line{{Text: text, Style: Red}})
		}
		return all
	}
	for i, c := range []struct {
		lines         []Line
		columns, rows int
		want          string
	}{
		{lines("a", "b"), 3, 3, "\x1b[2J\x1b[1;1Ha\x1b[K\x1b[2;1Hb\x1b[K"},
		{lines("a", "b"), 3, 3, ""},
		{lines("a", "abc"), 3, 3, "\x1b[2;1Habc"},
		{lines("a", "wide"), 3, 3, "\x1b[2;1Hwid"},
		{lines("a"), 3, 3, "\x1b[2;1H\x1b[K"},
		{lines("1", "2", "3", "4"), 3, 2, "\x1b[2J\x1b[1;1H1\x1b[K\x1b[2;1H2\x1b[K"},
		{lines("世界"), 3, 2, "\x1b[1;1H世\x1b[K\x1b[2;1H\x1b[K"},
	} {
		if got := f.update(c.lines, c.columns, c.rows, false); got != c.want {
			t.Errorf("%d: %q, want %q", i, got, c.want)
		}
	}
	if got := f.update(lines("x"), 9, 9, true); !strings.Contains(got, "\x1b[31mx\x1b[0m\x1b[K") {
		t.Errorf("in colour: %q", got)
	}
}

// TestWidth measures characters.
func TestWidth(t *testing.T) {
	for text, want := range map[string]int{"": 0, "abc": 3, "äö": 2, "世界": 4, "e\u0301": 1, "…": 1} {
		if got := Width(text); got != want {
			t.Errorf("%q has %d columns, want %d", text, got, want)
		}
	}
}
