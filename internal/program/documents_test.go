package program

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/muster-deploy/muster/internal/base/reference"
	"github.com/muster-deploy/muster/internal/testing/golden"
)

// The reference is that of the commands.
func TestReference(t *testing.T) {
	golden.Files(t, "../../docs/reference", "*.md", Reference())
}

// Manual pages are valid for man, if that is installed.
func TestManual(t *testing.T) {
	pages := Manual(reference.Source{Version: "v1.2.3", Date: "2026-01-02"})
	for _, name := range []string{"muster.1", "muster-apply.1", "muster-history-show.1"} {
		if !strings.Contains(pages[name], `"muster v1.2.3"`) {
			t.Errorf("%s has no version", name)
		}
	}
	if _, err := exec.LookPath("groff"); err != nil {
		t.Skip("groff is not installed")
	}
	for name, page := range pages {
		cmd := exec.Command("groff", "-man", "-Tutf8", "-ww", "-z")
		cmd.Stdin = strings.NewReader(page)
		if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%s: %v %s", name, err, out)
		}
	}
}

// The table of exit codes is that of the commands.
func TestExitCodes(t *testing.T) {
	golden.Files(t, "../../docs", "exit-codes.md", ExitCodes())
}
