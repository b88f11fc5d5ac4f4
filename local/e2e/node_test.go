package e2e

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

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

// nodeCase is a workload on a real node, and what muster prints about it. Times are in seconds.
type nodeCase struct {
	Name        string
	Kind        string         // Deployment if empty
	Annotations map[string]any // of the workload
	Spec        map[string]any // of the workload, besides its pods
	Before      map[string]any // the pods' spec that is applied first, if any
	Pod         map[string]any // the pods' spec; containers get an image if they have none
	With        []nodeCase     // more workloads of the set
	Flags       string         // of muster apply

	Cause   string   // is printed
	Shown   string   // a pod or an event has this, and the cause is printed soon after that
	After   float64  // how soon; 3 if it is 0
	Also    []string // are printed, too
	Last    string   // is printed again below the final line of the workload
	Never   string   // is not printed
	Healthy bool     // no cause is printed
	Exit    int
	Ends    float64 // from the start until the end at the latest; 0: any
	Certain string  // a pod or an event has this, and the run ends within 5 seconds of that
	Wrong   string  // what muster does wrong: a case with it is skipped if it fails
}

// TestNode applies workloads on a node that runs containers, and checks which cause muster prints,
// when at the latest, and its exit code. Cases are in testdata/node.
func TestNode(t *testing.T) {
	requireNode(t)
	cases := readNodeCases(t)
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

func readNodeCases(t *testing.T) (all []nodeCase) {
	t.Helper()
	files, err := filepath.Glob("testdata/node/*.yaml")
	check(t, err)
	for _, file := range files {
		var cases []nodeCase
		readData(t, file, &cases)
		all = append(all, cases...)
	}
	return all
}

// readData reads a file.
func readData(t *testing.T, file string, into any) {
	t.Helper()
	text, err := os.ReadFile(file)
	check(t, err)
	if err := yaml.UnmarshalStrict(text, into); err != nil {
		t.Fatal(file, err)
	}
}

// startNode starts a plane with a node that runs containers, until the end of the test.
func startNode(t *testing.T) *plane.Plane {
	t.Helper()
	p, err := plane.Up(t.Context(),
		plane.Options{Dir: t.TempDir(), Bin: bin, Real: new(1), Tied: true})
	check(t, err)
	t.Cleanup(func() { check(t, p.Down(context.Background())) })
	return p
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

func (c nodeCase) run(t *testing.T, kubeconfig, namespace string) {
	folder, err := os.MkdirTemp("", namespace)
	check(t, err)
	file := filepath.Join(folder, "case.yaml")
	apply := func(pod map[string]any, flags ...string) (printed, int) {
		check(t, os.WriteFile(file, c.manifest(namespace, pod), 0o600))
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
	shown := watchShown(t, kubeconfig, namespace)
	out, code := apply(c.Pod, strings.Fields(cmp.Or(c.Flags, "--timeout=25s"))...)
	c.check(t, out, code, shown)
}

// check compares what muster printed with what the case expects.
func (c nodeCase) check(t *testing.T, out printed, code int, shown *shownTexts) {
	problems := append(c.problems(out, code), c.late(t, out, shown)...)
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

// problems lists what differs from what the case expects, but for what is late.
func (c nodeCase) problems(out printed, code int) (list []string) {
	add := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	if code != c.Exit {
		add("exit code %d, want %d", code, c.Exit)
	}
	for _, text := range append(c.Also, c.Cause) {
		if _, ok := out.first(text); !ok && text != "" {
			add("it never prints %q", text)
		}
	}
	if at, ok := out.first(c.Never); ok {
		add("it prints %q after %.1f s", c.Never, at)
	}
	if causes := out.causes(); c.Healthy && len(causes) > 0 {
		add("it prints a cause after %.1f s", causes[0].at)
	}
	if _, ok := out.last().first(c.Last); !ok && c.Last != "" {
		add("it does not print %q at the end", c.Last)
	}
	return list
}

// late lists what is too late.
func (c nodeCase) late(t *testing.T, out printed, shown *shownTexts) (list []string) {
	check := func(what string, at float64, text string, limit float64) {
		seen, ok := shown.first(text)
		if !ok {
			return // muster has printed it, or ended, before that
		}
		t.Logf("%s %.1f s after %q", what, at-seen, text)
		if at-seen > limit {
			list = append(list, fmt.Sprintf("%s %.1f s after %q", what, at-seen, text))
		}
	}
	if at, ok := out.first(c.Cause); ok {
		check("it prints the cause", at, c.Shown, cmp.Or(c.After, 3))
	}
	end := out[len(out)-1].at
	check("it ends", end, c.Certain, 5)
	if c.Ends > 0 && end > c.Ends {
		list = append(list, fmt.Sprintf("it ends after %.1f s, want %.1f s", end, c.Ends))
	}
	return list
}

// manifest returns a namespace and the workloads of the case, in which NAMESPACE stands for it.
func (c nodeCase) manifest(namespace string, pod map[string]any) []byte {
	text := []byte("apiVersion: v1\nkind: Namespace\nmetadata: {name: " + namespace + "}\n")
	objects := []map[string]any{c.object("web", namespace, pod)}
	for _, other := range c.With {
		objects = append(objects, other.object(other.Name, namespace, other.Pod))
	}
	for _, object := range objects {
		text = append(append(text, "---\n"...), encodeYAML(object)...)
	}
	return bytes.ReplaceAll(text, []byte("NAMESPACE"), []byte(namespace))
}

// workload returns the first workload of the case.
func (c nodeCase) workload(namespace string, pod map[string]any) []byte {
	return encodeYAML(c.object("web", namespace, pod))
}

// encodeYAML returns an object as YAML.
func encodeYAML(object map[string]any) []byte {
	text, err := yaml.Marshal(object)
	if err != nil {
		panic(err)
	}
	return text
}

// object returns a workload with pods of a specification.
func (c nodeCase) object(name, namespace string, pod map[string]any) map[string]any {
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
	kind := cmp.Or(c.Kind, "Deployment")
	version := map[string]string{"Pod": "v1", "Job": "batch/v1"}[kind]
	object := map[string]any{"apiVersion": cmp.Or(version, "apps/v1"), "kind": kind, "spec": pod,
		"metadata": map[string]any{
			"name": name, "namespace": namespace, "annotations": c.Annotations,
		}}
	if kind == "Pod" {
		return object
	}
	labels := map[string]any{"app": name}
	spec := maps.Clone(c.Spec)
	if spec == nil {
		spec = map[string]any{}
	}
	spec["template"] = map[string]any{"metadata": map[string]any{"labels": labels}, "spec": pod}
	if kind != "Job" {
		spec["selector"] = map[string]any{"matchLabels": labels}
	}
	object["spec"] = spec
	return object
}
