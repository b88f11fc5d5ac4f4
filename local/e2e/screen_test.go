package e2e

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

// screen is what a terminal shows of the bytes that are written to it, together with what has
// scrolled away. It knows what our programs use; anything else is an error, and so is a cursor that
// is to leave the screen at the top.
type screen struct {
	columns, rows int

	lines [][]rune
	x, y  int    // the cursor; y counts from the first line that ever was
	full  *full  // the alternate screen while a program uses it
	rest  []byte // the beginning of a character or a sequence
}

// sequence is what moves the cursor, clears or paints: its number, and what it does.
var sequence = regexp.MustCompile(`^\x1b\[(\??[0-9;]*)([A-Za-z])`)

// longestSequence is how many bytes a sequence may have.
const longestSequence = 16

func (s *screen) Write(data []byte) (int, error) {
	s.rest = append(s.rest, data...)
	for len(s.rest) > 0 && utf8.FullRune(s.rest) {
		var size int
		var err error
		if s.rest[0] == '\x1b' {
			size, err = s.obey(s.rest)
		} else {
			var r rune
			r, size = utf8.DecodeRune(s.rest)
			err = s.show(r)
		}
		if err != nil {
			return 0, err
		}
		if size == 0 {
			break // the rest of the sequence has not come yet
		}
		s.rest = s.rest[size:]
	}
	return len(data), nil
}

// obey does what a sequence says, and gives its length; 0 if it is not complete.
func (s *screen) obey(text []byte) (int, error) {
	found := sequence.FindSubmatch(text)
	if found == nil {
		if len(text) < longestSequence && !bytes.ContainsAny(text[1:], "\x1b\r\n") {
			return 0, nil
		}
		return 0, fmt.Errorf("unknown sequence %.*q", longestSequence, text)
	}
	switch what, number := string(found[2]), string(found[1]); {
	case what == "m":
	case what == "h" && number == "?1049":
		s.full = &full{columns: s.columns, lines: make([][]rune, s.rows)}
	case what == "l" && number == "?1049":
		s.full = nil
	case number == "?25", number == "?7": // the cursor, and whether lines are wrapped
	case s.full != nil:
		return len(found[0]), s.full.obey(what, number)
	case what == "A", what == "F":
		n, err := strconv.Atoi(number)
		if err != nil || s.y-n < s.top() {
			return 0, fmt.Errorf(
				"the cursor is to go up by %q from line %d of the screen",
				number,
				s.y-s.top(),
			)
		}
		s.y -= n
		if what == "F" {
			s.x = 0
		}
	case what == "J" && number == "":
		s.line()
		s.lines = s.lines[:s.y+1]
		s.lines[s.y] = s.lines[s.y][:min(s.x, len(s.lines[s.y]))]
	default:
		return 0, fmt.Errorf("unknown sequence %q", found[0])
	}
	return len(found[0]), nil
}

func (s *screen) show(r rune) error {
	switch {
	case s.full != nil:
		return s.full.show(r)
	case r == '\r':
		s.x = 0
	case r == '\n':
		s.y++
	case r < ' ' || r == utf8.RuneError:
		return fmt.Errorf("unknown character %q", r)
	default:
		if s.x == s.columns {
			s.x, s.y = 0, s.y+1
		}
		line := s.line()
		for len(*line) <= s.x {
			*line = append(*line, ' ')
		}
		(*line)[s.x] = r
		s.x++
	}
	return nil
}

// line is that of the cursor.
func (s *screen) line() *[]rune {
	for len(s.lines) <= s.y {
		s.lines = append(s.lines, nil)
	}
	return &s.lines[s.y]
}

// top is the first line that has not scrolled away.
func (s *screen) top() int { return max(0, len(s.lines)-s.rows, s.y+1-s.rows) }

// text is all that was shown and not drawn over, without blanks at the ends of lines. It ends with
// a newline if the cursor is at the beginning of a line.
func (s *screen) text() string {
	if s.full != nil {
		return s.full.text()
	}
	lines := make([]string, max(len(s.lines), s.y+1))
	for i, line := range s.lines {
		lines[i] = strings.TrimRight(string(line), " ")
	}
	return strings.Join(lines, "\n")
}

// full is an alternate screen, whose lines do not scroll and are not wrapped.
type full struct {
	columns int
	lines   [][]rune
	x, y    int
}

// obey does what a sequence says.
func (f *full) obey(what, number string) error {
	row, column := 0, 0
	switch {
	case what == "H":
		if _, err := fmt.Sscanf(number, "%d;%d", &row, &column); err != nil {
			return err
		}
		if row < 1 || row > len(f.lines) || column != 1 {
			return fmt.Errorf("the cursor is to go to %q of %d lines", number, len(f.lines))
		}
		f.x, f.y = 0, row-1
	case what == "K" && number == "":
		if f.x >= f.columns {
			return fmt.Errorf("the last character of line %d is cleared", f.y+1)
		}
		f.lines[f.y] = f.lines[f.y][:min(f.x, len(f.lines[f.y]))]
	case what == "J" && number == "2":
		clear(f.lines)
	default:
		return fmt.Errorf("unknown sequence %q %q on the alternate screen", number, what)
	}
	return nil
}

func (f *full) show(r rune) error {
	if r < ' ' || r == utf8.RuneError {
		return fmt.Errorf("unknown character %q on the alternate screen", r)
	}
	if f.x >= f.columns {
		return fmt.Errorf("line %d has more than %d columns", f.y+1, f.columns)
	}
	line := append(f.lines[f.y], make([]rune, max(0, f.x+1-len(f.lines[f.y])))...)
	line[f.x] = r
	f.lines[f.y] = line
	f.x++
	return nil
}

func (f *full) text() string {
	lines := make([]string, len(f.lines))
	for i, line := range f.lines {
		lines[i] = strings.TrimRight(string(line), " ")
	}
	return strings.Join(lines, "\n")
}

// resize changes the size. A program redraws its screen.
func (s *screen) resize(columns, rows int) {
	s.columns, s.rows = columns, rows
	if s.full != nil {
		s.full = &full{columns: columns, lines: make([][]rune, rows)}
	}
}

func TestScreen(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ bytes, want string }{
		"lines":       {"one\r\ntwo\r\n", "one\ntwo\n"},
		"prompt":      {"go? ", "go?"},
		"colour":      {"\x1b[1;31mred\x1b[0m", "red"},
		"drawn over":  {"a\r\nlonger\r\nc\r\n\x1b[2A\x1b[Jb\r\n", "a\nb\n"},
		"echoed":      {"ab\r\n^C\x1b[1F\x1b[Jc\r\n", "c\n"},
		"not cleared": {"a\r\nlonger\r\n\x1b[1Ab", "a\nbonger"},
		"no return":   {"ab\nc", "ab\n  c"},
		"wide":        {"äöüabcd\r\n", "äöüabc\nd\n"},
		"full line":   {"abcdef\r\ng", "abcdef\ng"},
		"scrolled":    {"1\r\n2\r\n3\r\n4\r\n\x1b[2A\x1b[Jx", "1\n2\nx"},
		"beyond the top": {"1\r\n2\r\n3\r\n4\r\n\x1b[3A",
			`the cursor is to go up by "3" from line 2 of the screen`},
		"full":           {"a\r\n\x1b[?1049h\x1b[2J\x1b[3;1Hc\x1b[2;1Hbb\x1b[K\x1b[2;1Hx", "\nxb\nc"},
		"left":           {"a\r\n\x1b[?1049h\x1b[2;1Hb\x1b[?1049lc", "a\nc"},
		"full and wide":  {"\x1b[?1049h\x1b[1;1Habcdefg", "line 1 has more than 6 columns"},
		"cut":            {"a\x1b[", "a"},
		"other sequence": {"a\x1b[2K", `unknown sequence "\x1b[2K"`},
		"no sequence":    {"a\x1bx\r", `unknown sequence "\x1bx\r"`},
		"bell":           {"a\a", `unknown character '\a'`},
	} {
		for _, size := range []int{1, len(c.bytes)} {
			s := &screen{columns: 6, rows: 3}
			var err error
			for chunk := range slices.Chunk([]byte(c.bytes), size) {
				if _, err = s.Write(chunk); err != nil {
					break
				}
			}
			got := s.text()
			if err != nil {
				got = err.Error()
			}
			if got != c.want {
				t.Errorf("%s, %d bytes at once: %q, want %q", name, size, got, c.want)
			}
		}
	}
}
