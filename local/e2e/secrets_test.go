package e2e

import (
	"cmp"
	"hash/fnv"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"k8s.io/client-go/tools/clientcmd"
)

// TestSecretsAreMasked runs every command on Secrets with random values, in every form, and also
// where it must fail. The values may appear neither in outputs, nor in files, nor in objects that
// are no Secrets. The scripts have these placeholders in their files:
//
//	${VALUE} ${BASE64}   a value, and what the data of a Secret have for it
//	${NUMBER}            a value of digits
//	${COPY} ${COPY64}    a value that a script itself copies to objects that are no Secrets
//	${LARGE}             the value, so often that a Secret cannot hold it
//	${NS} ${SERVER}      the namespace, and the address of the API server
//
// and these commands more:
//
//	masked CODE COMMAND [ARGUMENT]...   runs a command and searches its output. -o=* stands for each
//	                                    output format, and a pattern of files for each file
//	nowhere                             searches the files and the cluster; the last line of a script
func TestSecretsAreMasked(t *testing.T) {
	t.Parallel()
	installResourceGroup(t)
	s := &secretsRun{covered: map[string]bool{}}
	_, s.seed = seeded(t, roundsEnv, 1)
	p := params("secrets")
	scripts, err := filepath.Glob(filepath.Join(p.Dir, "*.txtar"))
	check(t, err)
	for _, file := range scripts {
		text, err := os.ReadFile(file)
		check(t, err)
		script, _, _ := strings.Cut(string(text), "\n-- ")
		if lines := strings.Fields(script); lines[len(lines)-1] != "nowhere" {
			t.Errorf("the last line of %s is not: nowhere", file)
		}
	}
	p.Setup = s.setup
	p.Cmds["masked"], p.Cmds["nowhere"] = s.masked, s.nowhere
	t.Run("scripts", func(t *testing.T) { testscript.Run(t, p) }) // returns when all have ended
	if t.Failed() || s.scripts != len(scripts) {
		return // not all have run
	}
	for _, command := range leafCommands(t) {
		if !s.covered[command] {
			t.Errorf("no script of testdata/secrets runs: %s", command)
		}
	}
}

// secretsRun is a run of TestSecretsAreMasked.
type secretsRun struct {
	seed    uint64 // of the values, with the name of the script
	mu      sync.Mutex
	scripts int             // that began
	covered map[string]bool // commands that ran
}

// plantedKey is the key of the planted values of a script.
type plantedKey struct{}

// setup plants the values of a script.
func (s *secretsRun) setup(env *testscript.Env) error {
	if err := setup(env, "secrets"); err != nil {
		return err
	}
	s.mu.Lock()
	s.scripts++
	s.mu.Unlock()
	config, err := clientcmd.BuildConfigFromFlags("", cluster.Kubeconfig())
	if err != nil {
		return err
	}
	name := fnv.New64()
	_, _ = io.WriteString(name, filepath.Base(env.WorkDir)) // a hash takes all
	random := rand.New(rand.NewPCG(s.seed, name.Sum64()))
	p := newPlanted(random, env.WorkDir, env.Getenv("NS"), config.Host)
	env.Values[plantedKey{}] = p
	return filepath.WalkDir(env.WorkDir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		return p.plant(path)
	})
}

// masked runs a command in the forms that its arguments stand for.
func (s *secretsRun) masked(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: [!] masked CODE COMMAND [ARGUMENT]...")
	}
	p := ts.Value(plantedKey{}).(*planted)
	want := args[0]
	for _, args := range variants(ts, args[1:]) {
		line := p.find(strings.Join(args, "\n"))
		code := exitCode(ts, args)
		s.cover(args)
		line = cmp.Or(line, p.find(ts.ReadFile("stdout")), p.find(ts.ReadFile("stderr")))
		if (line != "") != neg {
			ts.Fatalf("arguments or output of %q have a planted value: %q", args, line)
		}
		if want != "any" && strconv.Itoa(code) != want {
			ts.Fatalf("%q ended with exit code %d, want %s", args, code, want)
		}
	}
}

// cover notes the command that ran: the words before the first flag, and their beginnings.
func (s *secretsRun) cover(args []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	args[0] = filepath.Base(args[0])
	for i := range args {
		s.covered[strings.Join(args[:i+1], " ")] = true
	}
}

// variants returns the commands that one with patterns stands for.
func variants(ts *testscript.TestScript, args []string) [][]string {
	for i, arg := range args {
		var values []string
		switch {
		case arg == "-o=*" || arg == "--output=*":
			for _, form := range outputForms(ts, args[:i]) {
				values = append(values, strings.TrimSuffix(arg, "*")+form)
			}
		case strings.Contains(arg, "/*"):
			found, err := filepath.Glob(ts.MkAbs(arg))
			ts.Check(err)
			values = found
		default:
			continue
		}
		if len(values) == 0 {
			ts.Fatalf("nothing matches %s", arg)
		}
		var all [][]string
		for _, value := range values {
			with := slices.Clone(args)
			with[i] = value
			all = append(all, variants(ts, with)...)
		}
		return all
	}
	return [][]string{args}
}

// formsPattern matches the help of a flag for output formats.
var formsPattern = regexp.MustCompile(
	`--output string +Output format(?:: |[^(]*\. One of: \()([a-z, ]+)`)

// outputForms returns the output formats that the help of a command lists.
func outputForms(ts *testscript.TestScript, command []string) []string {
	help, err := exec.Command(command[0], append(slices.Clone(command[1:]), "--help")...).Output()
	ts.Check(err)
	match := formsPattern.FindSubmatch(help)
	if match == nil {
		ts.Fatalf("the help of %q lists no output formats", command)
	}
	return strings.Split(string(match[1]), ", ")
}

// nowhere searches the files below the working directory and the cluster.
func (s *secretsRun) nowhere(ts *testscript.TestScript, neg bool, args []string) {
	p := ts.Value(plantedKey{}).(*planted)
	found, err := p.inFiles()
	ts.Check(err)
	objects, err := p.inCluster()
	ts.Check(err)
	found = append(found, objects...)
	if len(found) == 0 == neg {
		ts.Fatalf("planted values are in %d places:\n%s", len(found), strings.Join(found, "\n"))
	}
}

// leafCommands returns all commands of muster without commands of their own.
func leafCommands(t *testing.T) []string {
	t.Helper()
	var leaves []string
	var walk func(command []string)
	walk = func(command []string) {
		help, err := exec.Command(command[0], append(slices.Clone(command[1:]), "--help")...).Output()
		check(t, err)
		names := subcommands(string(help))
		if len(names) == 0 {
			leaves = append(leaves, strings.Join(command, " "))
		}
		for _, name := range names {
			walk(append(slices.Clone(command), name))
		}
	}
	walk([]string{"muster"})
	if len(leaves) < 40 {
		t.Errorf("the help lists too few commands: %q", leaves)
	}
	return leaves
}

// subcommands returns the names below the titles of a help text that end with Commands.
func subcommands(help string) []string {
	var names []string
	listed := false
	for line := range strings.Lines(help) {
		line = strings.TrimRight(line, "\n")
		switch fields := strings.Fields(line); {
		case line == "":
			listed = false
		case strings.HasSuffix(line, "Commands:") || line == "Compatibility:":
			listed = true
		case listed && strings.HasPrefix(line, "  "):
			names = append(names, fields[0])
		}
	}
	return names
}
