package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

// setsResource are the Sets of the controller.
var setsResource = schema.GroupVersionResource{
	Group: "muster.dev", Version: "v1alpha1", Resource: "sets",
}

// installController installs the definition of Sets, and the permissions of the controller. The
// definition is removed after the test.
func installController(t *testing.T) {
	t.Helper()
	installResourceGroup(t)
	files := []string{"crds/sets.yaml", "manifests/namespace.yaml", "manifests/rbac.yaml"}
	for _, file := range files {
		apply := exec.Command("kubectl", "apply", "--kubeconfig", cluster.Kubeconfig(), "-f",
			filepath.Join("..", "..", "deploy", filepath.FromSlash(file)))
		if out, err := apply.CombinedOutput(); err != nil {
			t.Fatalf("install the controller: %v\n%s", err, out)
		}
	}
	awaitSets(t)
	t.Cleanup(func() { removeSets(t) })
}

// replica is a process of the controller.
type replica struct {
	cmd  *exec.Cmd
	log  string        // path
	done chan struct{} // closed when it has ended
}

// startReplica starts a controller for some namespaces, with a kubeconfig. Its files are below a
// folder. It is killed at the end of the test, if it still runs.
func startReplica(
	t *testing.T, dir, kubeconfig string, namespaces []string, flags ...string,
) *replica {
	t.Helper()
	check(t, os.MkdirAll(filepath.Join(dir, "work"), 0o700))
	args := []string{
		"--metrics-bind-address=0", "--health-probe-bind-address=0",
		"--work-dir=" + filepath.Join(dir, "work"),
	}
	for _, namespace := range namespaces {
		args = append(args, "--namespace="+namespace)
	}
	cmd := exec.Command(filepath.Join(bin, "muster-controller"), append(args, flags...)...)
	return startProcess(t, dir, kubeconfig, cmd)
}

// startProcess starts a controller in a folder, in which its log is.
func startProcess(t *testing.T, dir, kubeconfig string, cmd *exec.Cmd) *replica {
	t.Helper()
	r := &replica{cmd: cmd, log: filepath.Join(dir, "log"), done: make(chan struct{})}
	log, err := os.Create(r.log)
	check(t, err)
	defer log.Close()
	cmd.Dir, cmd.Env = dir, append(cmd.Environ(), "KUBECONFIG="+kubeconfig, "HOME="+dir)
	cmd.Stdout, cmd.Stderr = log, log
	check(t, cmd.Start())
	go func() { // ends with the process
		defer close(r.done)
		_ = cmd.Wait() // it is killed, or ends as it has to
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		<-r.done
		if text, err := os.ReadFile(r.log); err == nil && t.Failed() {
			t.Logf("log of %s:\n%s", cmd, text)
		}
	})
	return r
}

// runs reports whether the process has not ended.
func (r *replica) runs() bool {
	select {
	case <-r.done:
		return false
	default:
		return true
	}
}

// leads reports whether the replica was elected.
func (r *replica) leads() bool {
	text, err := os.ReadFile(r.log)
	return err == nil && strings.Contains(string(text), "uccessfully acquired lease")
}

// signal sends a signal to the process.
func (r *replica) signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	check(t, r.cmd.Process.Signal(s))
}

// keptSet returns a Set of a namespace.
func keptSet(namespace, name string, app bool, manifests string) *unstructured.Unstructured {
	set := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"serviceAccountName": "deployer", "source": map[string]any{"inline": manifests},
		"retry": map[string]any{"first": "1s", "max": "2s"},
	}}}
	set.SetAPIVersion(setsResource.GroupVersion().String())
	set.SetKind("Set")
	set.SetNamespace(namespace)
	set.SetName(name)
	if app {
		check := unstructured.SetNestedField(set.Object, "app", "spec", "format")
		if check != nil {
			panic(check) // the spec is a map
		}
	}
	return set
}

// applySet creates a Set, or replaces its spec.
func applySet(t *testing.T, c dynamic.Interface, set *unstructured.Unstructured) {
	t.Helper()
	sets := c.Resource(setsResource).Namespace(set.GetNamespace())
	_, err := sets.Apply(t.Context(), set.GetName(), set,
		metav1.ApplyOptions{FieldManager: "e2e", Force: true})
	check(t, err)
}

// isKept reports whether what the spec of a Set says is applied and ready, and otherwise what its
// status says.
func isKept(t *testing.T, c dynamic.Interface, namespace, name string) (ready bool, status string) {
	t.Helper()
	set, err := c.Resource(setsResource).Namespace(namespace).Get(t.Context(), name,
		metav1.GetOptions{})
	if err != nil {
		return false, err.Error() // the API server may be away
	}
	conditions, _, _ := unstructured.NestedSlice(set.Object, "status", "conditions")
	for _, c := range conditions {
		condition := c.(map[string]any)
		if condition["type"] == "Ready" && condition["status"] == "True" &&
			condition["observedGeneration"] == set.GetGeneration() {
			return true, ""
		}
	}
	return false, fmt.Sprint(set.Object["status"])
}

// isGone reports whether a Set does not exist.
func isGone(t *testing.T, c dynamic.Interface, namespace, name string) bool {
	t.Helper()
	_, err := c.Resource(setsResource).Namespace(namespace).Get(t.Context(), name,
		metav1.GetOptions{})
	return apierrors.IsNotFound(err)
}

// until waits until something is so. What it is not so far is the text of the failure.
func until(t *testing.T, what string, is func() (bool, string)) {
	t.Helper()
	pause := time.NewTicker(100 * time.Millisecond)
	defer pause.Stop()
	for last := time.Now().Add(2 * hangTimeout); ; <-pause.C {
		so, status := is()
		if so {
			return
		}
		if time.Now().After(last) {
			t.Fatalf("%s: never; %s", what, status)
		}
	}
}

// dead are the processes that a test has killed or stopped.
type dead struct {
	mutex sync.Mutex
	pids  []int
}

// add notes a process before it is killed.
func (d *dead) add(pid int) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.pids = append(d.pids, pid)
}

// has reports whether a process was killed or stopped.
func (d *dead) has(pid int) bool {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	return slices.Contains(d.pids, pid)
}

// recordedBy returns the objects in the record of a Set, sorted. The folder has a kubeconfig.
func recordedBy(
	t *testing.T, c dynamic.Interface, dir, namespace, name string, app bool,
) (keys []string) {
	t.Helper()
	if app {
		var err error
		keys, err = inspected(t, dir, filepath.Join(dir, "kubeconfig"), name)
		check(t, err)
	} else {
		group, err := c.Resource(watched["ResourceGroup"]).Namespace(namespace).
			Get(t.Context(), name, metav1.GetOptions{})
		check(t, err)
		keys = membersOf(t, group)
	}
	slices.Sort(keys)
	return keys
}
