// Command mutants shows what the tests do not see. It draws defects from all conditions, returns
// and error paths of the folders of this repository that decide what happens to objects, builds the
// program with one at a time, and runs the tests that can see it until one fails.
//
// A seed always draws the same defects from the same files; without one it comes from the commit
// before the last. No file is changed: the compiler reads the defective one in place of the file.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// folders are those from whose files defects are drawn, with the folders below them.
var folders = []string{
	"internal/engine", "internal/plan", "internal/diff", "internal/ready", "internal/record",
	"internal/packages/inventory", "internal/apps/change", "internal/drift", "controller",
}

func main() {
	number := flag.Int("n", 40, "number of defects")
	seed := flag.String("seed", "", "what the defects are drawn by; empty: the commit before the last")
	first := flag.Int("first", 0, "number of defects that were tried before")
	scripts := flag.Bool("e2e", true, "run the end-to-end tests with what no unit test has seen")
	flag.Parse()
	if err := run(*number, *first, *seed, *scripts); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func run(number, first int, seed string, scripts bool) error {
	root, err := output("..", "git", "rev-parse", "--show-toplevel")
	if err != nil {
		return err
	}
	if seed == "" {
		if seed, err = output(root, "git", "rev-parse", "HEAD~1"); err != nil {
			return err
		}
	}
	sites, err := findSites(root, folders)
	if err != nil {
		return err
	}
	fmt.Printf("seed %s, %d places\n", seed, len(sites))
	hash := fnv.New64a()
	hash.Write([]byte(seed))
	random := rand.New(rand.NewPCG(hash.Sum64(), 0))
	random.Shuffle(len(sites), func(i, j int) { sites[i], sites[j] = sites[j], sites[i] })
	temp, err := os.MkdirTemp("", "muster-mutants-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	caught := 0
	for n := 0; n < number && len(sites) > 0; sites = sites[1:] {
		m := mutant{site: sites[0], root: root, temp: temp}
		ok, err := m.prepare()
		if err != nil {
			return err
		}
		if !ok {
			continue // such a program cannot be built
		}
		if n++; n <= first {
			continue
		}
		by, err := m.try(scripts)
		if err != nil {
			return err
		}
		verdict := "NOT SEEN"
		if by != "" {
			verdict = "seen by " + by
			caught++
		}
		fmt.Printf("%d. %s:%d: %s\n   %s\n", n, m.File, m.Line, m.what(), verdict)
	}
	fmt.Printf("%d of %d defects were seen\n", caught, number-first)
	return nil
}

// mutant is a program with one defect.
type mutant struct {
	site
	root, temp string
}

// module returns the folder of the module that the file belongs to, and its package in it.
func (m *mutant) module() (dir, pkg string) {
	if rest, ok := strings.CutPrefix(m.File, "controller/"); ok {
		return filepath.Join(m.root, "controller"), "./" + filepath.ToSlash(filepath.Dir(rest))
	}
	return m.root, "./" + filepath.ToSlash(filepath.Dir(m.File))
}

// overlay returns the flag of the go command that has it read the defective file.
func (m *mutant) overlay() string { return "-overlay=" + filepath.Join(m.temp, "overlay.json") }

// prepare writes the defective file, and reports whether its package can be built.
func (m *mutant) prepare() (bool, error) {
	path := filepath.Join(m.root, filepath.FromSlash(m.File))
	text, err := os.ReadFile(path)
	if err != nil {
		return false, err
	}
	defective := filepath.Join(m.temp, "defective.go")
	if err := os.WriteFile(defective, m.apply(text), 0o600); err != nil {
		return false, err
	}
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{path: defective}})
	if err != nil {
		return false, err
	}
	if err := os.WriteFile(filepath.Join(m.temp, "overlay.json"), overlay, 0o600); err != nil {
		return false, err
	}
	dir, pkg := m.module()
	_, err = output(dir, "go", "build", m.overlay(), pkg)
	return err == nil, nil
}

// try runs the tests that can see the defect: those of its package, those of the packages that use
// it, and then the scripts. It returns what failed.
func (m *mutant) try(scripts bool) (string, error) {
	dir, pkg := m.module()
	if by := m.test(dir, pkg); by != "" {
		return by, nil
	}
	users, err := m.users(dir, pkg)
	if err != nil {
		return "", err
	}
	if by := m.test(dir, users...); by != "" || !scripts {
		return by, nil
	}
	return m.scripts()
}

// users returns the packages of a module whose tests use a package.
func (m *mutant) users(dir, pkg string) ([]string, error) {
	path, err := output(dir, "go", "list", pkg)
	if err != nil {
		return nil, err
	}
	list, err := output(dir, "go", "list", "-test", "-f",
		`{{if .ForTest}}{{.ForTest}}{{range .Deps}} {{.}}{{end}}{{end}}`, "./...")
	if err != nil {
		return nil, err
	}
	var users []string
	seen := map[string]bool{path: true}
	for line := range strings.Lines(list) {
		words := strings.Fields(line)
		if len(words) == 0 || seen[words[0]] {
			continue
		}
		for _, word := range words[1:] {
			if word == path {
				seen[words[0]] = true
				users = append(users, words[0])
				break
			}
		}
	}
	return users, nil
}

// failed matches the name of a test that failed, and how a package ends that is stopped.
var failed = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)|^(panic: test timed out)|^FAIL\s+(\S+)`)

// test runs the tests of packages and returns the first that fails.
func (m *mutant) test(dir string, packages ...string) string {
	if len(packages) == 0 {
		return ""
	}
	args := append([]string{"test", m.overlay(), "-failfast", "-timeout=10m"}, packages...)
	text, err := output(dir, "go", args...)
	return failure(text, err)
}

func failure(text string, err error) string {
	if err == nil {
		return ""
	}
	match := failed.FindStringSubmatch(text)
	if match == nil {
		return "an error: " + err.Error()
	}
	return strings.Join(match[1:], "")
}

// scripts builds the programs and runs the end-to-end tests that run beside others.
func (m *mutant) scripts() (string, error) {
	bin := filepath.Join(m.temp, "bin")
	if err := os.RemoveAll(bin); err != nil {
		return "", err
	}
	built := filepath.Join(m.root, "bin")
	entries, err := os.ReadDir(built)
	if err != nil {
		return "", err
	}
	if err := os.Mkdir(bin, 0o700); err != nil {
		return "", err
	}
	for _, entry := range entries {
		from, to := filepath.Join(built, entry.Name()), filepath.Join(bin, entry.Name())
		if err := os.Symlink(from, to); err != nil {
			return "", err
		}
	}
	programs := map[string]string{
		m.root: "muster", filepath.Join(m.root, "controller"): "muster-controller",
	}
	for dir, program := range programs {
		if err := os.Remove(filepath.Join(bin, program)); err != nil {
			return "", err
		}
		if text, err := output(dir, "go", "build", m.overlay(), "-o", bin, "./cmd/"+program); err != nil {
			return "", fmt.Errorf("build %s: %w\n%s", program, err, text)
		}
	}
	run := exec.Command(filepath.Join(built, "e2e.test"), "-test.failfast", "-test.timeout=90m")
	run.Dir = filepath.Join(m.root, "local", "e2e")
	run.Env = append(os.Environ(), "MUSTER_E2E_BIN="+bin, "PATH="+bin+":"+os.Getenv("PATH"))
	text, err := run.CombinedOutput()
	return failure(string(text), err), nil
}

// output runs a program in a folder and returns what it prints.
func output(dir, name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	text, err := cmd.CombinedOutput()
	if exited := (*exec.ExitError)(nil); errors.As(err, &exited) {
		err = fmt.Errorf("%s %s: %w", name, args[0], err)
	}
	return string(bytes.TrimSpace(text)), err
}
