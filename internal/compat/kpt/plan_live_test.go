package kpt

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/manifest"
	"github.com/muster-deploy/muster/internal/sets/packages"
	"github.com/muster-deploy/muster/internal/show/view"
	"github.com/muster-deploy/muster/internal/testing/golden"
	"github.com/muster-deploy/muster/internal/testing/packagestest"
)

// TestPlan shows a plan in the forms of kpt. packagestest.Outlooks describes the archives. Escape
// sequences are made visible as <ESC>.
func TestPlan(t *testing.T) {
	golden.Run(
		t,
		"testdata/plan_*.txtar",
		func(t *testing.T, files map[string]string) map[string]string {
			var desired []manifest.Object
			var outlooks []view.Outlook
			synctest.Test(t, func(t *testing.T) { // managed fields have the time
				desired, outlooks = packagestest.Outlooks(t, files)
			})
			forms := map[string]func(*bytes.Buffer) error{
				"krm":  func(out *bytes.Buffer) error { return packages.PlanKRM(out, outlooks) },
				"live": func(out *bytes.Buffer) error { return livePlanText(out, true, outlooks, desired) },
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

// The error of an output that does not exist is that of kpt.
func TestLivePlanOutput(t *testing.T) {
	cmd := newPlan(&cli.Env{}, nil)
	cmd.SetArgs([]string{"--output", "xml"})
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	if err := cmd.Execute(); err == nil ||
		err.Error() != `unknown output format "xml". Must be either 'text' or 'krm'` {
		t.Errorf("error = %v", err)
	}
}
