package e2e

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/muster-deploy/muster/local/plane"
)

const (
	// nodeEnv is the environment variable that makes it a failure, with the value required, if this
	// machine cannot run a real node.
	nodeEnv = "MUSTER_TEST_NODE"
	// nodeCases is how many cases run at once: times are measured.
	nodeCases = 6
)

// nodeCase is a workload on a real node, and what muster prints about it.
type nodeCase struct {
	Name   string
	Kind   string         // Deployment if empty
	Spec   map[string]any // of the workload, besides its pods
	Before map[string]any // the pods' spec that is applied first, if any
	Pod    map[string]any // the pods' spec; containers get an image if they have none
	Flags  string         // of muster apply
	Cause  string         // is printed, within seconds from the start
	Within float64
	Never  string // is not printed
	Exit   int
	Wrong  string  // what muster does wrong: a case with it is skipped if it fails
	Ends   float64 // seconds until the end at the latest; 0: any
}

// TestNode applies workloads on a node that runs containers, and checks which cause muster prints,
// when at the latest, and its exit code. Cases are in testdata/node.yaml.
func TestNode(t *testing.T) {
	requireNode(t)
	var cases []nodeCase
	readData(t, "node.yaml", &cases)
	p := startNode(t)
	turn := make(chan struct{}, nodeCases)
	t.Run("cases", func(t *testing.T) {
		for i, c := range cases {
			t.Run(c.Name, func(t *testing.T) {
				t.Parallel()
				turn <- struct{}{}
				defer func() { <-turn }()
				c.run(t, p.Kubeconfig(), fmt.Sprintf("case-%d", i))
			})
		}
	})
}

// requireNode skips the test on a machine that cannot run a real node.
func requireNode(t *testing.T) {
	t.Helper()
	err := plane.RealNodesPossible(bin)
	if err != nil && os.Getenv(nodeEnv) == "required" {
		t.Fatal(err)
	} else if err != nil {
		t.Skip(err)
	}
}

// readData reads a file of testdata.
func readData(t *testing.T, name string, into any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(text, into); err != nil {
		t.Fatal(err)
	}
}

// startNode starts a plane with a node that runs containers, until the end of the test.
func startNode(t *testing.T) *plane.Plane {
	t.Helper()
	p, err := plane.Up(t.Context(),
		plane.Options{Dir: t.TempDir(), Bin: bin, Real: new(1), Tied: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Down(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return p
}

func (c nodeCase) run(t *testing.T, kubeconfig, namespace string) {
	file := filepath.Join(t.TempDir(), "case.yaml")
	apply := func(pod map[string]any, flags ...string) (printed, int) {
		if err := os.WriteFile(file, c.manifest(namespace, pod), 0o600); err != nil {
			t.Fatal(err)
		}
		args := append([]string{"apply", "--kubeconfig", kubeconfig, "-n", "default",
			"-a", namespace, "-f", file, "-y"}, flags...)
		return runTimed(t, exec.Command(filepath.Join(bin, "muster"), args...))
	}
	defer func() { // the last phase is not waited for: containers may take long to stop
		_ = exec.Command("kubectl", "--kubeconfig", kubeconfig, "delete", "namespace", namespace,
			"--wait=false").Run()
	}()
	if c.Before != nil {
		if out, code := apply(c.Before, "--timeout=45s"); code != 0 {
			t.Fatalf("the first apply ended with exit code %d:\n%s", code, out)
		}
	}
	out, code := apply(c.Pod, strings.Fields(cmp.Or(c.Flags, "--timeout=25s"))...)
	c.check(t, out, code)
}

// check compares what muster printed with what the case expects.
func (c nodeCase) check(t *testing.T, out printed, code int) {
	problems := c.problems(out, code)
	if len(problems) > 0 || testing.Verbose() {
		t.Logf("it prints:\n%s", out)
	}
	switch {
	case len(problems) > 0 && c.Wrong != "":
		t.Skipf("%s: %s", c.Wrong, strings.Join(problems, "; "))
	case len(problems) > 0:
		t.Error(strings.Join(problems, "; "))
	}
}

// problems lists what differs from what the case expects.
func (c nodeCase) problems(out printed, code int) (list []string) {
	add := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	if code != c.Exit {
		add("exit code %d, want %d", code, c.Exit)
	}
	if at, ok := out.first(c.Cause); c.Cause != "" && !ok {
		add("it never prints %q", c.Cause)
	} else if c.Cause != "" && at > c.Within {
		add("it prints %q after %.1f s, want %.1f s", c.Cause, at, c.Within)
	}
	if at, ok := out.first(c.Never); c.Never != "" && ok {
		add("it prints %q after %.1f s", c.Never, at)
	}
	if end := out[len(out)-1].at; c.Ends > 0 && end > c.Ends {
		add("it ends after %.1f s, want %.1f s", end, c.Ends)
	}
	return list
}

// manifest returns a namespace and the workload of the case.
func (c nodeCase) manifest(namespace string, pod map[string]any) []byte {
	head := "apiVersion: v1\nkind: Namespace\nmetadata: {name: " + namespace + "}\n---\n"
	return append([]byte(head), c.workload(namespace, pod)...)
}

// workload returns the workload of the case.
func (c nodeCase) workload(namespace string, pod map[string]any) []byte {
	pod = runtime.DeepCopyJSON(pod)
	if _, ok := pod["terminationGracePeriodSeconds"]; !ok {
		pod["terminationGracePeriodSeconds"] = 2
	}
	for _, field := range []string{"containers", "initContainers"} {
		list, _ := pod[field].([]any)
		for _, container := range list {
			fields := container.(map[string]any)
			if fields["image"] == nil {
				fields["image"] = "example/web:1"
			}
		}
	}
	labels := map[string]any{"app": "web"}
	object := map[string]any{"apiVersion": "apps/v1", "kind": cmp.Or(c.Kind, "Deployment"),
		"metadata": map[string]any{"name": "web", "namespace": namespace}, "spec": pod}
	if c.Kind != "Pod" {
		spec := maps.Clone(c.Spec)
		if spec == nil {
			spec = map[string]any{}
		}
		spec["template"] = map[string]any{"metadata": map[string]any{"labels": labels}, "spec": pod}
		object["spec"] = spec
		if c.Kind != "Job" {
			spec["selector"] = map[string]any{"matchLabels": labels}
		}
	}
	if version, ok := map[string]string{"Pod": "v1", "Job": "batch/v1"}[c.Kind]; ok {
		object["apiVersion"] = version
	}
	text, err := yaml.Marshal(object)
	if err != nil {
		panic(err)
	}
	return text
}

// printedLine is a line that muster printed, and when, in seconds from the start.
type printedLine struct {
	at   float64
	text string
}

type printed []printedLine

func (p printed) String() string {
	var b strings.Builder
	for _, line := range p {
		fmt.Fprintf(&b, "%6.1f  %s\n", line.at, line.text)
	}
	return b.String()
}

// first returns when a text was printed first.
func (p printed) first(text string) (float64, bool) {
	for _, line := range p {
		if strings.Contains(line.text, text) {
			return line.at, true
		}
	}
	return 0, false
}

// runTimed runs a command, and returns the lines that it printed and its exit code.
func runTimed(t *testing.T, cmd *exec.Cmd) (printed, int) {
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	cmd.Stdout, cmd.Stderr = writer, writer
	begin := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	writer.Close()
	var out printed
	for lines := bufio.NewScanner(reader); lines.Scan(); {
		out = append(out, printedLine{time.Since(begin).Seconds(), lines.Text()})
	}
	code, failed := 0, (*exec.ExitError)(nil)
	if err := cmd.Wait(); errors.As(err, &failed) {
		code = failed.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	return append(out, printedLine{time.Since(begin).Seconds(), fmt.Sprint("exit code ", code)}), code
}
