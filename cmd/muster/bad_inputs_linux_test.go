package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/muster-deploy/muster/internal/testing/golden"
)

// maxPeak limits the bytes of memory for reading any input.
var maxPeak = 200 << 20

const (
	maxLines  = 12              // lines of an error
	maxLine   = 800             // bytes of a line
	hangLimit = 5 * time.Minute // a run that lasts longer never ends
)

// peakVariable names the file into which the program writes the most memory that it has used.
const peakVariable = "MUSTER_TEST_PEAK"

// init makes the program write the most memory that it has used, in kB. What the system reports to
// the parent of a process includes memory of the parent.
func init() {
	program := run
	run = func() int {
		code := program()
		if file := os.Getenv(peakVariable); file != "" {
			status, _ := os.ReadFile("/proc/self/status")
			peak := regexp.MustCompile(`VmHWM:\s*(\d+) kB`).FindSubmatch(status)
			if len(peak) == 0 || os.WriteFile(file, peak[1], 0o666) != nil {
				return -1
			}
		}
		return code
	}
}

// hasRaceDetector reports whether the program needs the memory of the race detector.
func hasRaceDetector() bool {
	info, _ := debug.ReadBuildInfo()
	for _, s := range info.Settings {
		if s.Key == "-race" {
			return s.Value == "true"
		}
	}
	return false
}

// read is the output for an input that is read: the next thing is to ask the cluster.
const read = "error: cannot reach the cluster at https://127.0.0.1:1: " +
	"dial tcp 127.0.0.1:1: connect: connection refused\n"

// TestBadInputs plans folders with inputs that are hard to read, beside a sound manifest, as a
// package and as an app. The archive has what is printed for each: an error of few lines, which is
// the same for both, or "read" and the warnings. Nothing hangs, ends in a panic, takes much memory
// or controls the terminal.
func TestBadInputs(t *testing.T) { planInputs(t, "bad", badInputs()) }

// TestLargeInputs plans inputs that are large as TestBadInputs plans others.
func TestLargeInputs(t *testing.T) {
	if hasRaceDetector() {
		t.Skip("the race detector takes minutes")
	}
	planInputs(t, "large", largeInputs())
}

// TestDenseInputs plans inputs with more values than a set of their size has as TestBadInputs plans
// others. They need less memory than ordinary inputs may.
func TestDenseInputs(t *testing.T) {
	if hasRaceDetector() {
		t.Skip("the race detector takes minutes")
	}
	limitPeak(t, 150<<20)
	planInputs(t, "dense", denseInputs())
}

// limitPeak sets the limit of memory until a test ends.
func limitPeak(t *testing.T, bytes int) {
	before := maxPeak
	t.Cleanup(func() { maxPeak = before })
	maxPeak = bytes
}

// TestLargeSets plans sets of many objects as TestBadInputs plans others: all are read. They need
// the memory of their objects.
func TestLargeSets(t *testing.T) {
	if hasRaceDetector() {
		t.Skip("the race detector takes minutes")
	}
	limitPeak(t, 260<<20)
	planInputs(t, "sets", largeSets())
}

// planInputs plans all inputs and compares what is printed with an archive.
func planInputs(t *testing.T, archive string, inputs []badInput) {
	golden.Run(t, "testdata/inputs/"+archive+".txtar",
		func(t *testing.T, _ map[string]string) map[string]string {
			printed := map[string]string{}
			for _, input := range inputs {
				t.Run(input.name, func(t *testing.T) {
					t.Chdir(t.TempDir())
					for _, set := range []string{"pkg", "app"} {
						if err := input.make(set); err != nil {
							t.Fatal(err)
						}
					}
					asPackage := plan(t, "pkg")
					asApp := plan(t, "-a", "app", "-f", "app")
					printed[input.name] = asPackage
					if asApp = strings.ReplaceAll(asApp, "app/", "pkg/"); asApp != asPackage {
						printed[input.name] += "as an app: " + asApp
					}
				})
			}
			return printed
		})
}

// TestUnreadableInputs plans folders with a file and a folder that the user may not read.
func TestUnreadableInputs(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may read all files")
	}
	for _, name := range []string{"x.yaml", "Kptfile", ".krmignore", "ready-rules.yaml", "folder"} {
		t.Chdir(t.TempDir())
		make := file(name, sound)
		if name == "folder" {
			make = folder(name)
		}
		unreadable := func(dir string) error { return os.Chmod(filepath.Join(dir, name), 0) }
		if err := (badInput{steps: []step{make, unreadable}}).make("pkg"); err != nil {
			t.Fatal(err)
		}
		if got := plan(t, "pkg"); !strings.HasSuffix(got, name+": permission denied\n") {
			t.Errorf("%s: got %s", name, got)
		}
	}
}

// plan plans a set and returns what is printed on the standard error. It checks that the program
// fails in the usual way, and prints nothing that it should not.
func plan(t *testing.T, set ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), hangLimit)
	defer cancel()
	var out, errs bytes.Buffer
	args := append([]string{"plan", "--server=https://127.0.0.1:1", "--token=x"}, set...)
	cmd := exec.CommandContext(ctx, "muster", args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "KUBECONFIG=", peakVariable+"=peak")
	_ = cmd.Run()
	text := errs.String()
	if code := cmd.ProcessState.ExitCode(); code != 1 || ctx.Err() != nil || out.Len() > 0 {
		t.Fatalf("%s: exit code %d, %v, output %.300q, errors %.300q", set, code, ctx.Err(),
			out.Bytes(), text)
	}
	if err := checkLines(text); err != nil {
		t.Errorf("%s: %v", set, err)
	}
	peak, err := os.ReadFile("peak")
	if err != nil {
		t.Fatal(err)
	}
	if kB, _ := strconv.Atoi(string(peak)); !hasRaceDetector() && kB<<10 > maxPeak {
		t.Errorf("%s: %d MB of memory", set, kB>>10)
	}
	return strings.ReplaceAll(text, read, "read\n")
}

// checkLines returns an error for a text that is too long or could control a terminal.
func checkLines(text string) error {
	var errs []error
	for line := range strings.Lines(text) {
		if len(line) > maxLine {
			errs = append(errs, fmt.Errorf("a line has %d bytes: %.200q", len(line), line))
		}
		line = strings.TrimSuffix(line, "\n")
		if !utf8.ValidString(line) || strings.ContainsFunc(line, unicode.IsControl) {
			errs = append(errs, fmt.Errorf("a line has control characters: %.300q", line))
		}
	}
	if lines := strings.Count(text, "\n"); lines > maxLines {
		errs = append(errs, fmt.Errorf("%d lines", lines))
	}
	return errors.Join(errs...)
}
