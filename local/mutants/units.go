package main

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/muster-deploy/muster/local/mutants/defect"
)

// unit is the tests of a package, built with all defects.
type unit struct {
	Dir     string // in which they run
	Seconds float64
	Failed  []string // tests that fail without a defect, too
	path    string   // of the program, without the extension
	met     []byte   // one byte for each defect: whether they meet it
}

// recordCommand is the argument with which this program runs tests for the go command.
const recordCommand = "record"

// recordTests runs the tests of a package, and keeps the program and what it has recorded in a
// folder. It returns the exit code.
func recordTests(dir, program string, args []string) int {
	code, err := record(dir, program, args)
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		return 1
	}
	return code
}

func record(dir, program string, args []string) (int, error) {
	work, err := os.Getwd()
	if err != nil {
		return 1, err
	}
	path := filepath.Join(dir, strings.ReplaceAll(strings.Trim(work, "/"), "/", "_"))
	if err := os.Link(program, path+".test"); err != nil {
		return 1, err
	}
	began := time.Now()
	var text bytes.Buffer
	cmd := exec.Command(program, args...)
	cmd.Env = append(os.Environ(), defect.Env+"="+path+".met")
	cmd.Stdout = io.MultiWriter(os.Stdout, &text)
	cmd.Stderr = cmd.Stdout
	exited := (*exec.ExitError)(nil)
	if err := cmd.Run(); err != nil && !errors.As(err, &exited) {
		return 1, err
	}
	u := unit{Dir: work, Seconds: time.Since(began).Seconds(), Failed: failures(text.String())}
	list, err := json.Marshal(u)
	if err != nil {
		return 1, err
	}
	return cmd.ProcessState.ExitCode(), os.WriteFile(path+".json", list, 0o600)
}

// failed matches the names of tests that failed.
var failed = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)

// failures returns the names of the tests that failed, a test before its parts.
func failures(text string) (names []string) {
	for _, match := range failed.FindAllStringSubmatch(text, -1) {
		names = append(names, match[1])
	}
	return names
}

// recordUnits runs the tests of all packages that use one with defects, and reads what they have
// recorded.
func (b *suite) recordUnits() error {
	key, err := b.key("internal", "controller", "cmd", ".")
	if err != nil {
		return err
	}
	dir := filepath.Join(b.dir, "units")
	complete, finish, err := kept(dir, key)
	if err != nil {
		return err
	}
	if !complete {
		for _, module := range []string{b.root, filepath.Join(b.root, "controller")} {
			if err := b.recordModule(module, dir); err != nil {
				return err
			}
		}
		if err := finish(); err != nil {
			return err
		}
	}
	return b.readUnits(dir)
}

// key returns the digest of all files of folders. That of "." is of the files directly in the root.
func (b *suite) key(folders ...string) (string, error) {
	sum := sha256.New()
	for _, folder := range folders {
		err := filepath.WalkDir(filepath.Join(b.root, folder), func(
			path string, entry fs.DirEntry, err error,
		) error {
			switch {
			case err != nil:
				return err
			case entry.IsDir() && folder == "." && path != b.root:
				return fs.SkipDir
			case !entry.Type().IsRegular():
				return nil
			}
			text, err := os.ReadFile(path)
			fmt.Fprintln(sum, path, len(text))
			sum.Write(text)
			return err
		})
		if err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("%x", sum.Sum(nil)), nil
}

// recordModule runs the tests of the packages of a module that use one with defects.
func (b *suite) recordModule(module, dir string) error {
	packages, err := b.users(module)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	fmt.Printf("recording what the tests of %d packages meet\n", len(packages))
	args := append([]string{"test", "-overlay=" + b.overlay, "-count=1", "-vet=off", "-timeout=20m",
		"-ldflags=-s -w", "-exec=" + strings.Join([]string{self, recordCommand, dir}, " ")}, packages...)
	cmd := exec.Command("go", args...)
	cmd.Env = append(os.Environ(), "GOTMPDIR="+dir) // programs can be linked into the folder
	text, err := outputOf(cmd, module)
	if exited := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exited) {
		return err
	}
	if strings.Contains(text, "[build failed]") || strings.Contains(text, "[setup failed]") {
		return fmt.Errorf("build the tests:\n%s", text)
	}
	for _, name := range failures(text) {
		fmt.Printf("%s fails without a defect\n", name)
	}
	return nil
}

// users returns the packages of a module whose tests use a package with defects.
func (b *suite) users(module string) ([]string, error) {
	list, err := output(module, "go", "list", "-test", "-f",
		`{{if .ForTest}}{{.ForTest}}{{range .Deps}} {{.}}{{end}}{{end}}`, "./...")
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, list)
	}
	defective := map[string]bool{}
	for _, s := range b.sites {
		folder := filepath.ToSlash(filepath.Dir(s.File))
		defective["github.com/muster-deploy/muster/"+folder] = true
	}
	var users []string
	for line := range strings.Lines(list) {
		words := strings.Fields(line)
		if len(words) > 0 && !slices.Contains(users, words[0]) &&
			slices.ContainsFunc(words, func(word string) bool { return defective[word] }) {
			users = append(users, words[0])
		}
	}
	return users, nil
}

// readUnits reads what tests have recorded, those that take the shortest time first.
func (b *suite) readUnits(dir string) error {
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return err
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		u := unit{path: strings.TrimSuffix(file, ".json")}
		if err := json.Unmarshal(text, &u); err != nil {
			return err
		}
		if u.met, err = os.ReadFile(u.path + ".met"); errors.Is(err, fs.ErrNotExist) {
			continue // they ran none of the code
		} else if err != nil {
			return err
		}
		b.units = append(b.units, u)
	}
	slices.SortStableFunc(b.units, func(a, b unit) int { return cmp.Compare(a.Seconds, b.Seconds) })
	return nil
}

// tryUnits runs the unit tests that meet a defect until one fails, first those of its package. It
// returns the name of the test.
func (b *suite) tryUnits(n int) (string, error) {
	own := filepath.Join(b.root, filepath.FromSlash(filepath.Dir(b.sites[n].File)))
	for _, first := range []bool{true, false} {
		for _, u := range b.units {
			if u.met[n] == 0 || (u.Dir == own) != first {
				continue
			}
			if by := u.try(n); by != "" {
				return by, nil
			}
		}
	}
	return "", nil
}

// try runs tests with a defect and returns the name of one that fails, and that passes without. The
// end of all tests stands for a panic or a time-out that there is not without.
func (u *unit) try(n int) string {
	text, err := u.run(fmt.Sprint(n), u.skip(), "-test.failfast")
	if err == nil {
		return ""
	}
	names := failures(text)
	name, run := "the end of "+filepath.Base(u.Dir), u.skip()
	if len(names) > 0 {
		top, _, _ := strings.Cut(names[0], "/")
		name, run = names[len(names)-1], "-test.run=^"+top+"$"
	}
	if _, err := u.run("", run); err != nil {
		fmt.Printf("   %s failed, and fails without a defect, too\n", name)
		return ""
	}
	return name
}

// skip returns the flag that leaves out the tests that fail without a defect.
func (u *unit) skip() string {
	var tops []string
	for _, name := range u.Failed {
		if !strings.Contains(name, "/") {
			tops = append(tops, name)
		}
	}
	return "-test.skip=^(" + strings.Join(tops, "|") + ")$"
}

// run runs tests with a value of the environment variable of defects.
func (u *unit) run(value string, flags ...string) (string, error) {
	cmd := exec.Command(u.path+".test", append(flags, "-test.timeout=3m")...)
	cmd.Env = append(os.Environ(), defect.Env+"="+value)
	return outputOf(cmd, u.Dir)
}
