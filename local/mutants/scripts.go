package main

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/muster-deploy/muster/local/mutants/defect"
)

// slow matches the end-to-end tests that meet nothing that others do not, and take long.
const slow = "^Test(Loaded|Kills|ControllerKills|ControllerOutage|Restart|Released|Mutants)$"

// recordScripts builds the programs and runs all end-to-end tests. Each script records what it
// meets in a file TEST.SCRIPT, each other test in a file TEST.
func (b *suite) recordScripts() error {
	key, err := b.sitesKey()
	if err != nil {
		return err
	}
	complete, finish, err := kept(b.scriptsDir(), key)
	if err != nil {
		return err
	}
	if err := b.buildPrograms(); err != nil || complete {
		return err
	}
	fmt.Println("recording what the end-to-end tests meet")
	// One test after the other, so that what a test runs beside its scripts is known to be of it.
	os.Setenv("MUSTER_E2E_COSTS", "1")
	text, err := b.runScripts(b.scriptsDir(), "-test.timeout=2h", "-test.skip="+slow)
	os.Unsetenv("MUSTER_E2E_COSTS")
	if err != nil && len(failures(text)) == 0 {
		return fmt.Errorf("run the end-to-end tests: %w\n%s", err, text)
	}
	names := strings.Join(failures(text), "\n")
	if names != "" {
		fmt.Printf("fail without a defect:\n%s\n", names)
	}
	if err := os.WriteFile(filepath.Join(b.dir, "scripts-failed"), []byte(names), 0o600); err != nil {
		return err
	}
	return finish()
}

// sitesKey returns the digest of the files that have defects.
func (b *suite) sitesKey() (string, error) {
	files := map[string]bool{}
	for _, s := range b.sites {
		files[s.File] = true
	}
	return b.key(slices.Sorted(maps.Keys(files))...)
}

// scriptsDir returns the folder in which end-to-end tests record what they meet.
func (b *suite) scriptsDir() string { return filepath.Join(b.dir, "scripts") }

// buildPrograms builds the programs with defects into a folder with all others, and the tests.
func (b *suite) buildPrograms() error {
	bin, built := filepath.Join(b.dir, "bin"), filepath.Join(b.root, "bin")
	if err := os.RemoveAll(bin); err != nil {
		return err
	}
	if err := os.Mkdir(bin, 0o700); err != nil {
		return err
	}
	for module, program := range map[string]string{".": "muster", "controller": "muster-controller"} {
		text, err := output(filepath.Join(b.root, module), "go", "build", "-overlay="+b.overlay,
			"-ldflags=-s -w", "-o", bin, "./cmd/"+program)
		if err != nil {
			return fmt.Errorf("%w\n%s", err, text)
		}
	}
	for _, name := range []string{"muster-components", "muster-kwok", "muster-local", "tools"} {
		if err := os.Symlink(filepath.Join(built, name), filepath.Join(bin, name)); err != nil {
			return err
		}
	}
	text, err := output(filepath.Join(b.root, "local"), "go", "test", "-c", "-o",
		filepath.Join(bin, "e2e.test"), "./e2e")
	if err != nil {
		return fmt.Errorf("%w\n%s", err, text)
	}
	return nil
}

// runScripts runs end-to-end tests with a value of the environment variable of defects.
func (b *suite) runScripts(value string, flags ...string) (string, error) {
	bin := filepath.Join(b.dir, "bin")
	run := exec.Command(filepath.Join(bin, "e2e.test"), flags...)
	run.Env = append(os.Environ(), "MUSTER_E2E_BIN="+bin, defect.Env+"="+value,
		"GOFLAGS="+os.Getenv("GOFLAGS")+" -vet=off -overlay="+b.overlay,
		"PATH="+bin+":"+os.Getenv("PATH"))
	return outputOf(run, filepath.Join(b.root, "local", "e2e"))
}

// script is an end-to-end test that meets a defect.
type script struct {
	test, name string // the name is empty for a test without scripts
	met        int    // number of defects that it meets
}

// pattern returns the flag that runs scripts, of which those of TestSecretsAreMasked are one level
// further down.
func pattern(scripts []script) string {
	var tests, names []string
	for _, s := range scripts {
		tests = append(tests, s.test)
		if s.name != "" {
			names = append(names, s.name)
		}
	}
	slices.Sort(tests)
	run := "-test.run=^(" + strings.Join(slices.Compact(tests), "|") + ")$"
	if len(names) == 0 {
		return run
	}
	alternatives := strings.Join(names, "|")
	return fmt.Sprintf("%s/^(scripts|%s)$/^(%s)$", run, alternatives, alternatives)
}

// findScripts returns the end-to-end tests that meet a defect: scripts, those that meet the fewest
// first, since they are the shortest, and then tests without scripts.
func (b *suite) findScripts(n int) (found []script, err error) {
	text, err := os.ReadFile(filepath.Join(b.dir, "scripts-failed"))
	if err != nil {
		return nil, err
	}
	fails := strings.Fields(string(text))
	entries, err := os.ReadDir(b.scriptsDir())
	if err != nil {
		return nil, err
	}
	whole := map[string]bool{}
	for _, entry := range entries {
		test, name, _ := strings.Cut(entry.Name(), ".")
		met, err := os.ReadFile(filepath.Join(b.scriptsDir(), entry.Name()))
		switch {
		case err != nil:
			return nil, err
		case len(met) != defect.Most || met[n] == 0,
			name == "" && slices.Contains(fails, test),
			name != "" && slices.ContainsFunc(fails, func(fail string) bool {
				return strings.HasPrefix(fail, test+"/") && strings.HasSuffix(fail, "/"+name)
			}):
			continue
		}
		whole[test] = whole[test] || name != ""
		found = append(found, script{test, name, bytes.Count(met, []byte{1})})
	}
	// What a test meets beside its scripts, as it prepares them, any of them meets.
	found = slices.DeleteFunc(found, func(s script) bool { return s.name == "" && whole[s.test] })
	slices.SortFunc(found, func(a, b script) int {
		return cmp.Or(cmp.Compare(min(1, len(b.name)), min(1, len(a.name))), cmp.Compare(a.met, b.met),
			cmp.Compare(a.test+a.name, b.test+b.name))
	})
	return found, nil
}

// tryScripts runs the end-to-end tests that meet a defect until one fails, at first a few, and
// returns its name.
func (b *suite) tryScripts(n int) (string, error) {
	found, err := b.findScripts(n)
	if err != nil {
		return "", err
	}
	for size := 8; len(found) > 0; size *= 4 {
		batch := found[:min(size, len(found))]
		if at := slices.IndexFunc(batch, func(s script) bool { return s.name == "" }); at >= 0 {
			batch = batch[:max(1, at)] // a test without scripts runs alone
		}
		found = found[len(batch):]
		if by := b.tryBatch(n, batch); by != "" {
			return by, nil
		}
	}
	return "", nil
}

// tryBatch runs scripts with a defect and returns the name of one that fails, and that passes
// without.
func (b *suite) tryBatch(n int, batch []script) string {
	text, err := b.runScripts(fmt.Sprint(n), pattern(batch), "-test.failfast", "-test.timeout=10m")
	if err == nil {
		return ""
	}
	name, run := "the end of the end-to-end tests", pattern(batch)
	if names := failures(text); len(names) > 0 {
		name = names[len(names)-1]
		run = "-test.run=^" + strings.ReplaceAll(name, "/", "$/^") + "$"
	}
	if _, err := b.runScripts("", run, "-test.timeout=10m"); err != nil {
		fmt.Printf("   %s failed, and fails without a defect, too\n", name)
		return ""
	}
	return name
}
