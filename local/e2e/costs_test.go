package e2e

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"syscall"
	"testing"
	"time"

	ps "github.com/shirou/gopsutil/v4/process"

	"github.com/muster-deploy/muster/local/mutants/defect"
)

// costsEnv is the environment variable that has the top-level tests run one after the other, each
// with its own parallel scripts, so that the CPU time of each is known.
const costsEnv = "MUSTER_E2E_COSTS"

// cost is what a test took: time, and CPU time of the programs that it ran, of the plane, and of
// the process of the tests, in which kubectl runs.
type cost struct {
	wall, programs, plane, tests time.Duration
}

// spent returns the cost of this run so far.
func spent() cost {
	return cost{
		wall: time.Since(started), programs: cpuOf(syscall.RUSAGE_CHILDREN),
		tests: cpuOf(syscall.RUSAGE_SELF), plane: planeCPU(),
	}
}

var started = time.Now()

// cpuOf returns the CPU time of this process or of its children that have ended.
func cpuOf(who int) time.Duration {
	var used syscall.Rusage
	if syscall.Getrusage(who, &used) != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// planeCPU returns the CPU time of the components that run now.
func planeCPU() (sum time.Duration) {
	ctx := context.Background()
	for _, c := range cluster.Status(ctx) {
		running, err := ps.NewProcessWithContext(ctx, int32(c.PID))
		if err != nil {
			continue
		}
		if times, err := running.TimesWithContext(ctx); err == nil {
			sum += time.Duration((times.User + times.System) * float64(time.Second))
		}
	}
	return sum
}

// runWithCosts runs every top-level test that the flags name by itself, and prints what it took.
func runWithCosts(m *testing.M, w io.Writer) (code int, err error) {
	given := flag.Lookup("test.run").Value.String()
	wanted, err := regexp.Compile(given)
	if err != nil {
		return 1, err
	}
	names, err := testNames()
	if err != nil {
		return 1, err
	}
	table := "     wall programs    plane    tests\n"
	before, all := spent(), os.Getenv(defect.Env)
	for _, name := range names {
		if !wanted.MatchString(name) {
			continue
		}
		if err := flag.Set("test.run", "^"+name+"$"); err != nil {
			return 1, err
		}
		os.Setenv(defect.Env, defectOf(name, "/"))
		code = max(code, m.Run())
		os.Setenv(defect.Env, all)
		after := spent()
		table += fmt.Sprintf("%8.1fs%8.1fs%8.1fs%8.1fs  %s\n", (after.wall - before.wall).Seconds(),
			(after.programs - before.programs).Seconds(), (after.plane - before.plane).Seconds(),
			(after.tests - before.tests).Seconds(), name)
		before = after
	}
	fmt.Fprint(w, table)
	return code, nil
}

// testNames returns the names of the tests in the order in which they run.
func testNames() (names []string, err error) {
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		for _, match := range testName.FindAllSubmatch(text, -1) {
			names = append(names, string(match[1]))
		}
	}
	return names, nil
}

var testName = regexp.MustCompile(`(?m)^func (Test\w+)\(t \*testing\.T\)`)
