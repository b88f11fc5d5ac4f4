// Package e2e runs the programs of this repository as a user does, on a real control plane, and
// reads the screen.
//
// One plane serves the whole run; it is started in a temporary folder and ends with the run. Every
// script has a namespace of its own and runs beside the others. Tests that are not parallel run one
// after the other; "make suite" runs these beside the rest, as ALONE in the Makefile, on another
// plane. Scripts are in the language of testscript, with the commands of commands_test.go:
//
//   - testdata/kpt and testdata/kapp: packages and apps, by any command
//   - testdata/both: native commands; each script runs with packages and with apps
//   - testdata/front: native commands, of which most are for one format, or compare both
//   - testdata/live and testdata/kappsessions: recorded sessions of kpt live and of kapp
//   - testdata/managed and testdata/showsets: Sets of the controller, without a controller
//   - testdata/flux and testdata/argocd: beside the controllers of others
//   - testdata/sets: sets of objects, each deployed as a package and as an app
//   - testdata/capabilities: with programs to which a patch adds a capability
//   - testdata/fresh: the first use of a cluster
//   - testdata/loaded: output on a busy machine
//   - testdata/kappbroken, testdata/unlisted and testdata/restart, which disturb all others: one by
//     one
//
// The other tests generate sets. TestPairs changes each by two commands at once, TestFaults and
// TestSingleFault break requests, TestCrash kills commands and TestKills parts of the plane.
package e2e

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/muster-deploy/muster/local/kubectl"
	"github.com/muster-deploy/muster/local/plane"
)

// programs are what the run needs from the folder into which "make build" puts them.
var programs = []string{"muster", "muster-components", "muster-kwok"}

// The plane of this run and the folder of the programs. They are set before the first test.
var (
	cluster *plane.Plane
	bin     string
	options = plane.Options{Nodes: new(2), Tied: true, Roomy: true}
)

func TestMain(m *testing.M) {
	if temp := os.Getenv(sweepEnv); temp != "" {
		sweepAtEnd(temp)
		return
	}
	flag.Parse()
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// run starts the plane, runs the tests and ends the plane again, also when it is interrupted or
// killed.
func run(m *testing.M) (code int, err error) {
	ctx, stop := interrupts()
	defer stop()
	if err := parallel(); err != nil {
		return 1, err
	}
	if bin, err = findPrograms(); err != nil {
		return 1, err
	}
	temp, err := makeTemp()
	if err != nil {
		return 1, err
	}
	if err := errors.Join(kubectl.Install(temp), repeatScripts(temp)); err != nil {
		return 1, err
	}
	swept, err := startSweeper(temp)
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, swept()) }()
	finished := onInterrupt(ctx, temp)
	options.Dir, options.Bin = filepath.Join(temp, "plane"), bin
	if err = startPlane(ctx); err == nil {
		err = startLatency()
	}
	if err == nil {
		if os.Getenv(costsEnv) == "" {
			code = m.Run()
		} else {
			code, err = runWithCosts(m, os.Stdout)
		}
		printSlowest(os.Stdout)
	}
	finished()
	if err != nil {
		return 1, fmt.Errorf("run the tests: %w", err)
	}
	return code, cluster.Down(context.Background())
}

// startPlane starts what does not run of the plane.
func startPlane(ctx context.Context) error {
	started, err := plane.Up(ctx, options)
	if err == nil {
		cluster = started
	}
	return err
}

// makeTemp makes the folder below which everything happens: the work folders of the scripts are
// below it, too.
func makeTemp() (string, error) {
	temp, err := os.MkdirTemp("", "muster-e2e-")
	if err != nil {
		return "", err
	}
	if temp, err = filepath.EvalSymlinks(temp); err != nil {
		return "", err
	}
	os.Setenv("TMPDIR", temp)
	os.Setenv("GOTMPDIR", temp)
	os.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	return temp, nil
}

// binEnv is the environment variable for the folder of the programs, if it is another one than the
// folder bin of the repository.
const binEnv = "MUSTER_E2E_BIN"

// findPrograms returns the folder of the programs.
func findPrograms() (string, error) {
	dir, err := filepath.Abs(cmp.Or(os.Getenv(binEnv), filepath.Join("..", "..", "bin")))
	if err != nil {
		return "", err
	}
	for _, name := range programs {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			return "", fmt.Errorf(
				"the program %s is not in %s; run \"make build\" at the top of the repository first",
				name,
				dir,
			)
		}
	}
	return dir, nil
}

// parallel lets more scripts run at once than there are processors, unless -parallel says
// otherwise: most of the time a script waits for the plane. The test binary itself starts all
// that are parallel, so that turns decides which come first.
func parallel() error {
	turns.free = 5 * runtime.GOMAXPROCS(0)
	var err error
	flag.Visit(func(f *flag.Flag) {
		if f.Name == "test.parallel" {
			turns.free, err = strconv.Atoi(f.Value.String())
		}
	})
	return errors.Join(err, turns.readSlow(filepath.Join("testdata", "slow.txt")),
		flag.Set("test.parallel", "10000"))
}

// TestFresh is the first of all: it meets the cluster without the definition of ResourceGroup.
// Tests run in the order of the names of their files, so that those that deploy packages are in
// files that come after this one; the script itself looks that it is so.
func TestFresh(t *testing.T) {
	testscript.Run(t, params("fresh"))
}

func TestKpt(t *testing.T) {
	t.Parallel()
	installResourceGroup(t)
	testscript.Run(t, params("kpt"))
}

// installResourceGroup installs the definition of ResourceGroup. TestFresh has done so, unless -run
// left it out. Tests should not differ by that.
func installResourceGroup(t *testing.T) {
	t.Helper()
	install := exec.Command("muster", "install-resource-group", "--kubeconfig", cluster.Kubeconfig())
	if out, err := install.CombinedOutput(); err != nil {
		t.Fatalf("install the ResourceGroup definition: %v\n%s", err, out)
	}
}

// TestRestart is the last of all: its scripts kill the API server.
func TestRestart(t *testing.T) {
	testscript.Run(t, params("restart"))
}

func params(dir string) testscript.Params {
	return testscript.Params{
		Dir:                 filepath.Join(scripts, dir),
		Setup:               func(env *testscript.Env) error { return setup(env, dir) },
		Cmds:                commands(),
		Condition:           condition,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
	}
}
