// Command mutants shows what the tests do not see. It draws defects from all conditions, returns
// and error paths of the folders of this repository that decide what happens to objects, and runs
// the tests that meet each until one fails: those of its package, those of packages that use it,
// and then end-to-end tests.
//
// A seed always draws the same defects from the same files; without one it comes from the commit
// before the last. No file is changed: the compiler reads the files with defects in place of them.
// One build has all defects, and the environment variable MUSTER_DEFECT turns one on. At first all
// tests run without one and record which they meet. That takes half an hour, and is kept in a
// folder until the files change.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// folders are those from whose files defects are drawn, with the folders below them.
var folders = []string{
	"internal/engine", "internal/plan", "internal/diff", "internal/ready", "internal/record",
	"internal/sets/packages/inventory", "internal/compat/kapp/change", "internal/feature/drift",
	"controller",
}

func main() {
	if len(os.Args) > 2 && os.Args[1] == recordCommand {
		os.Exit(recordTests(os.Args[2], os.Args[3], os.Args[4:]))
	}
	number := flag.Int("n", 40, "number of defects")
	seed := flag.String("seed", "", "what the defects are drawn by; empty: the commit before the last")
	first := flag.Int("first", 0, "number of defects that were tried before")
	scripts := flag.Bool("e2e", true, "run the end-to-end tests with what no unit test has seen")
	dir := flag.String("dir", "", "folder of what is kept; empty: bin/mutants")
	flag.Parse()
	if err := run(*number, *first, *seed, *dir, *scripts); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func run(number, first int, seed, dir string, scripts bool) error {
	root, err := output("..", "git", "rev-parse", "--show-toplevel")
	if err != nil {
		return err
	}
	if seed == "" {
		if seed, err = output(root, "git", "rev-parse", "HEAD~1"); err != nil {
			return err
		}
	}
	if dir == "" {
		dir = filepath.Join(root, "bin", "mutants")
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	sites, err := findSites(root, folders)
	if err != nil {
		return err
	}
	fmt.Printf("seed %s, %d places\n", seed, len(sites))
	b := &suite{root: root, dir: dir, sites: sites}
	if err := b.prepare(scripts); err != nil {
		return err
	}
	drawn := draw(len(sites), number, seed)
	caught := 0
	for i, n := range drawn[min(first, len(drawn)):] {
		began := time.Now()
		by, err := b.try(n, scripts)
		if err != nil {
			return err
		}
		verdict := "NOT SEEN"
		if by != "" {
			verdict = "seen by " + by
			caught++
		}
		s := &sites[n]
		fmt.Printf("%d. %s:%d: %s\n   %s (%.0f s)\n", first+i+1, s.File, s.Line, s.what(), verdict,
			time.Since(began).Seconds())
	}
	fmt.Printf("%d of %d defects were seen\n", caught, len(drawn)-first)
	return nil
}

// draw returns some of the numbers below a count, at random by a seed.
func draw(count, number int, seed string) []int {
	hash := fnv.New64a()
	hash.Write([]byte(seed))
	return rand.New(rand.NewPCG(hash.Sum64(), 0)).Perm(count)[:min(number, count)]
}

// suite is the programs with all defects, and the tests.
type suite struct {
	root, dir string
	sites     []site
	overlay   string
	units     []unit
}

// prepare builds the programs and records which tests meet which defects.
func (b *suite) prepare(scripts bool) (err error) {
	files := filepath.Join(b.dir, "files")
	if err := os.MkdirAll(files, 0o700); err != nil {
		return err
	}
	if b.overlay, err = writeOverlay(b.root, files, b.sites); err != nil {
		return err
	}
	if err := b.recordUnits(); err != nil || !scripts {
		return err
	}
	return b.recordScripts()
}

// try runs the tests that meet a defect until one fails, and returns its name.
func (b *suite) try(n int, scripts bool) (string, error) {
	if by, err := b.tryUnits(n); by != "" || err != nil || !scripts {
		return by, err
	}
	return b.tryScripts(n)
}

// kept makes a folder for what belongs to a key, and reports whether it is complete. It removes
// what belongs to another key. The function that it returns completes the folder.
func kept(dir, key string) (complete bool, finish func() error, err error) {
	file := filepath.Join(dir, "key")
	if text, err := os.ReadFile(file); err == nil && string(text) == key {
		return true, nil, nil
	}
	if err := os.RemoveAll(dir); err != nil {
		return false, nil, err
	}
	finish = func() error { return os.WriteFile(file, []byte(key), 0o600) }
	return false, finish, os.MkdirAll(dir, 0o700)
}

// output runs a program in a folder and returns what it prints.
func output(dir, name string, args ...string) (string, error) {
	return outputOf(exec.Command(name, args...), dir)
}

func outputOf(cmd *exec.Cmd, dir string) (string, error) {
	cmd.Dir = dir
	text, err := cmd.CombinedOutput()
	if exited := (*exec.ExitError)(nil); errors.As(err, &exited) {
		err = fmt.Errorf("%s: %w", strings.Join(cmd.Args[:min(2, len(cmd.Args))], " "), err)
	}
	return string(bytes.TrimSpace(text)), err
}
