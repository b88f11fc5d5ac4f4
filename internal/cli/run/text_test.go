package run

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/show/view"
	"github.com/muster-deploy/muster/internal/testing/golden"
	"github.com/muster-deploy/muster/internal/testing/packagestest"
)

// TestWording prints runs. An archive has the steps of a plan (packagestest.Steps) and the events
// as JSON lines; their references are filled in from the steps. The command is apply, or what the
// section command says: destroy, server-side, dry-run, no-wait or show-unchanged. A section failure
// is the error that ends the run.
func TestWording(t *testing.T) {
	golden.Run(
		t,
		"testdata/wording_*.txtar",
		func(t *testing.T, files map[string]string) map[string]string {
			w := wording{removed: "pruned", waits: true}
			p := packagestest.Steps(t, files["steps"])
			switch strings.TrimSpace(files["command"]) {
			case "destroy":
				w = wording{removed: "deleted", waits: true, onlyDeletes: true}
			case "server-side":
				p.ServerSide = true
				for i := range p.Steps {
					p.Steps[i].ServerSide = true
				}
			case "dry-run":
				w.dryRun, w.waits = true, false
			case "no-wait":
				w.waits = false
			case "show-unchanged":
				w.unchanged = true
			}
			var out bytes.Buffer
			printer := view.Lines(&out, p, w.formatter())
			for line := range strings.Lines(files["events"]) {
				var e event.Event
				if err := json.Unmarshal([]byte(line), &e); err != nil {
					t.Fatalf("%s: %v", line, err)
				}
				e.Ref = p.Steps[e.Step].Ref
				printer.Event(e)
			}
			var failure error
			if text := strings.TrimSpace(files["failure"]); text != "" {
				failure = errors.New(text)
			}
			if err := printer.Close(failure); err != nil {
				t.Fatal(err)
			}
			return map[string]string{"stdout": out.String()}
		},
	)
}
