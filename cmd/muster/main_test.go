package main

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/kapp"
	"github.com/muster-deploy/muster/internal/kpt"
)

func TestMain(m *testing.M) {
	run := func() { os.Exit(cli.Main(cli.Process(), map[string]cli.Program{"kapp": kapp.Program}, kpt.Commands, kapp.Commands)) }
	testscript.Main(m, map[string]func(){"muster": run, "kpt": run, "kapp": run})
}

// TestScript runs the program as a user would, as far as no cluster is needed.
func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("HOME", env.WorkDir) // no kubeconfig but the scripts' own
			return nil
		},
	})
}
