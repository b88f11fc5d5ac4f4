package registry

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestScripts runs the commands about registries, which need no cluster, by the built program.
func TestScripts(t *testing.T) {
	bin, err := filepath.Abs(filepath.Join("..", "..", "bin"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(bin, "muster")); err != nil {
		t.Fatalf("run \"make build\" at the top of the repository first: %v", err)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(env *testscript.Env) error {
			Setup(env)
			home := filepath.Join(env.WorkDir, ".home")
			env.Setenv("HOME", home)
			env.Setenv("PATH", bin+string(os.PathListSeparator)+env.Getenv("PATH"))
			return os.Mkdir(home, 0o700)
		},
		Cmds: commands(), RequireExplicitExec: true, RequireUniqueNames: true,
	})
}

// commands returns those of Commands, and exits CODE COMMAND [ARGUMENT]...
func commands() map[string]func(*testscript.TestScript, bool, []string) {
	all := Commands()
	all["exits"] = exits
	return all
}

// exits runs a command and checks its exit code.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, len(args) >= 2, neg, "exits CODE COMMAND [ARGUMENT]...")
	code := "0"
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		exited := (*exec.ExitError)(nil)
		if !errors.As(err, &exited) {
			ts.Fatalf("run %s: %v", args[1], err)
		}
		code = strconv.Itoa(exited.ExitCode())
	}
	if code != args[0] {
		ts.Fatalf("%s ended with exit code %s, want %s", args[1], code, args[0])
	}
}
