package e2e

import (
	"os"
	"os/exec"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// runsEnv is the environment variable for the number of runs of a script in testdata/loaded.
const runsEnv = "MUSTER_E2E_RUNS"

// TestLoaded runs scripts on a busy machine. Nothing else runs at the same time.
func TestLoaded(t *testing.T) {
	p := params("loaded")
	setup := p.Setup
	p.Setup = func(env *testscript.Env) error {
		runs := os.Getenv(runsEnv)
		if runs == "" {
			runs = "5"
		}
		env.Setenv("RUNS", runs)
		return setup(env)
	}
	testscript.Run(t, p)
}

// busy starts a number of processes that use all the CPU time they get, until the script ends.
func busy(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, len(args) == 1, neg, "busy COUNT")
	for range number(ts, args[0]) {
		cmd := exec.Command("sh", "-c", "while :; do :; done")
		cmd.Dir = ts.MkAbs(".") // the sweeper ends it if this process is killed
		ts.Check(cmd.Start())
		ts.Defer(func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		})
	}
}
