package run

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"

	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/cli/setflags"
	"github.com/muster-deploy/muster/internal/show/view"
	"github.com/muster-deploy/muster/internal/testing/golden"
	"github.com/muster-deploy/muster/internal/testing/packagestest"
)

// TestPlan shows a plan in every form. packagestest.Outlooks describes the archives. Escape
// sequences are made visible as <ESC>.
func TestPlan(t *testing.T) {
	golden.Run(
		t,
		"testdata/plan_*.txtar",
		func(t *testing.T, files map[string]string) map[string]string {
			_, outlooks := packagestest.Outlooks(t, files)
			forms := map[string]func(*bytes.Buffer) error{
				"text": func(out *bytes.Buffer) error { return printPlan(out, view.Terminal{}, outlooks) },
				"coloured": func(out *bytes.Buffer) error {
					return printPlan(out, view.Terminal{Colour: true}, outlooks)
				},
				"json": func(out *bytes.Buffer) error {
					return planDocument(outlooks, nil, view.RunHeader{Set: `package "shop"`}).print(out)
				},
			}
			got := map[string]string{}
			for name, write := range forms {
				var out bytes.Buffer
				if err := write(&out); err != nil {
					t.Fatal(err)
				}
				got[name] = strings.ReplaceAll(out.String(), "\x1b", "<ESC>")
				if strings.Contains(out.String(), "c2VjcmV0") || strings.Contains(out.String(), "b3RoZXI=") {
					t.Errorf("the form %s shows a secret", name)
				}
			}
			return got
		},
	)
}

func printPlan(out io.Writer, t view.Terminal, outlooks []view.Outlook) error {
	return setflags.Differences{}.Print(context.Background(), &cli.Env{}, out, t,
		planChanges(outlooks))
}

// The name of a kind is no flag: without its value --recreate would take the next one.
func TestKindNames(t *testing.T) {
	for name, valid := range map[string]bool{
		"*": true, "ConfigMap": true, "Job.batch": true, "--dry-run": false, "-y": false, "": false,
	} {
		var names kindNames
		if err := names.Set(name); (err == nil) != valid {
			t.Errorf("%q: %v", name, err)
		}
	}
}
