package textdiff

import (
	"strconv"
	"strings"
	"testing"

	"github.com/muster-deploy/muster/internal/testing/golden"
)

// TestGolden compares texts with what kapp printed of them: the sections old and new, and format,
// which has a line of words: "context=N", "numbers", "colour", "anchored".
func TestGolden(t *testing.T) {
	golden.Run(t, "testdata/*.txtar", func(t *testing.T, files map[string]string) map[string]string {
		format, anchored := Format{Context: 2}, false
		for _, word := range strings.Fields(files["format"]) {
			name, value, _ := strings.Cut(word, "=")
			switch name {
			case "context":
				format.Context, _ = strconv.Atoi(value)
			case "numbers":
				format.Numbers = true
			case "colour":
				format.Colour = true
			case "anchored":
				anchored = true
			default:
				t.Fatalf("unknown word %q", word)
			}
		}
		lines := Compare(files["old"], files["new"], anchored)
		var out strings.Builder
		if err := Write(&out, lines, format); err != nil {
			t.Fatal(err)
		}
		return map[string]string{"out": out.String(), "changes": FormatChanges(lines)}
	})
}

// TestNothing covers what has no lines to show: kapp writes an empty line.
func TestNothing(t *testing.T) {
	for _, c := range []struct {
		old, new string
		context  int
		want     string
	}{
		{"", "", 2, "\n"},
		{"a\n", "a\n", 2, "\n"},
		{"a\n", "a\n", -1, "  a\n  \n"},
		{"a\nb\nc\n", "a\nx\nc\n", 0, "- b\n+ x\n"},
		{"", "a\n", 2, "+ a\n+ \n"},
		{"a\n", "", 2, "- a\n- \n"},
		{"a", "a\n", 2, "  a\n+ \n"},
	} {
		var out strings.Builder
		if err := Write(&out, Compare(c.old, c.new, false), Format{Context: c.context}); err != nil ||
			out.String() != c.want {
			t.Errorf("%q to %q, context %d: got %q (%v), want %q", c.old, c.new, c.context, out.String(),
				err, c.want)
		}
	}
}

// failing refuses to be written to.
type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, strconv.ErrRange }

func TestWriteError(t *testing.T) {
	if err := Write(failing{}, Compare("a", "b", false), Format{}); err != strconv.ErrRange {
		t.Errorf("got error %v", err)
	}
}
