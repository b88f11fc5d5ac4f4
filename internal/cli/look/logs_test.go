package look

import (
	"bytes"
	"testing"

	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/feature/podlogs"
)

// TestLogLine: a line of a log does not control the terminal, also if it goes to a pipe.
func TestLogLine(t *testing.T) {
	var out bytes.Buffer
	p := &logPrinter{env: &cli.Env{Out: &out}}
	for _, line := range []string{"\x1b[31mred\x1b]0;title\a\n", "a\tb\r\n", "\x9b2J \u202e"} {
		p.Line(podlogs.Container{}, line)
	}
	if want := "�[31mred�]0;title�\na\tb\n�2J �\n"; out.String() != want {
		t.Errorf("printed %q, want %q", &out, want)
	}
}
