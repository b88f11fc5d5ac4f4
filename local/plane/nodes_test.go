package plane_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/muster-deploy/muster/local/plane"
)

// Two nodes that run containers, beside a simulated one. Their pods are there again after a stop
// of the plane, and after the end of a node that is killed; meanwhile nothing of a node is left. A
// node that the plane no longer has is not in the cluster.
func TestRealNodes(t *testing.T) {
	o := options(t)
	if err := plane.RealNodesPossible(o.Bin); os.Getenv("MUSTER_TEST_NODE") == "required" {
		if err != nil {
			t.Fatal(err)
		}
	} else if err != nil {
		t.Skip(err)
	}
	o.Nodes, o.Real = new(1), new(2)
	p := up(t, o)
	n := &realNodes{t: t, client: connect(t, p), containers: map[string]string{}}
	for _, node := range []string{"real-0", "real-1"} {
		n.create(node, corev1.PodSpec{
			NodeSelector: map[string]string{corev1.LabelHostname: node},
			Tolerations:  []corev1.Toleration{{Key: "local.muster.dev/real", Operator: "Exists"}},
		})
	}
	n.create("node-0", corev1.PodSpec{})
	n.run("real-0", "real-1", "node-0")
	slots := map[string]int{"real-0": n.slot("real-0"), "real-1": n.slot("real-1")}

	if err := p.Down(t.Context()); err != nil {
		t.Fatal(err)
	}
	n.nothingLeft(o.Dir, slots["real-0"], slots["real-1"])
	p = up(t, o)
	n.client = connect(t, p)
	n.run("real-0", "real-1")

	slot := n.slot("real-0")
	if err := syscall.Kill(pids(p)["real-0"], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	n.nothingLeft(o.Dir, slot)
	p = up(t, o)
	if got := p.Started(); !slices.Equal(got, []string{"real-0"}) {
		t.Errorf("started %v", got)
	}
	n.run("real-0")
	assertHealthy(t, p)

	if err := p.Down(t.Context()); err != nil {
		t.Fatal(err)
	}
	o.Real = new(1)
	n.client = connect(t, up(t, o))
	_, err := n.client.CoreV1().Nodes().Get(t.Context(), "real-1", metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("the node that the plane no longer has: %v", err)
	}
	n.run("real-0")
}

// realNodes are the nodes of a plane, with a pod on each.
type realNodes struct {
	t          *testing.T
	client     kubernetes.Interface
	containers map[string]string // the last known container of each node
}

// create creates a pod with the name of the node on which it is to run.
func (n *realNodes) create(node string, spec corev1.PodSpec) {
	n.t.Helper()
	spec.Containers = []corev1.Container{{Name: "main", Image: "example/web:1"}}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: node}, Spec: spec}
	_, err := n.client.CoreV1().Pods(space).Create(n.t.Context(), pod, metav1.CreateOptions{})
	if err != nil {
		n.t.Fatal(err)
	}
}

// run waits until the pods of nodes are ready, with other containers than before.
func (n *realNodes) run(nodes ...string) {
	n.t.Helper()
	for _, node := range nodes {
		eventually(n.t, "pod of "+node, func(ctx context.Context) error {
			pod, err := n.client.CoreV1().Pods(space).Get(ctx, node, metav1.GetOptions{})
			if err != nil {
				return err
			}
			s := pod.Status.ContainerStatuses
			if pod.Spec.NodeName != node || len(s) != 1 || !s[0].Ready ||
				s[0].ContainerID == n.containers[node] {
				return fmt.Errorf("on %s, %s", pod.Spec.NodeName, describe(pod))
			}
			n.containers[node] = s[0].ContainerID
			return nil
		})
	}
}

// slot returns the number of the addresses of a node.
func (n *realNodes) slot(name string) int {
	n.t.Helper()
	node, err := n.client.CoreV1().Nodes().Get(n.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		n.t.Fatal(err)
	}
	for _, address := range node.Status.Addresses {
		if ip, err := netip.ParseAddr(address.Address); err == nil {
			return int(ip.As4()[3]) / 4
		}
	}
	n.t.Fatalf("%s has no address: %v", name, node.Status.Addresses)
	return 0
}

// nothingLeft waits until there is nothing left of nodes: processes, cgroups, links and mounts.
func (n *realNodes) nothingLeft(dir string, slots ...int) {
	n.t.Helper()
	for _, slot := range slots {
		eventually(n.t, "end of a node", func(context.Context) error {
			var left []error
			group := fmt.Sprintf("muster-node-%d", slot)
			_ = filepath.WalkDir("/sys/fs/cgroup", func(path string, d fs.DirEntry, _ error) error {
				if filepath.Base(path) == group {
					left = append(left, fmt.Errorf("cgroup %s", path))
				}
				return nil
			})
			processes, _ := filepath.Glob("/proc/[0-9]*/cgroup")
			for _, process := range processes {
				if text, err := os.ReadFile(process); err == nil && strings.Contains(string(text), "/"+group) {
					left = append(left, fmt.Errorf("process %s", process))
				}
			}
			if link, err := net.InterfaceByName(fmt.Sprintf("muster-node%d", slot)); err == nil {
				left = append(left, fmt.Errorf("link %s", link.Name))
			}
			if mounts, err := os.ReadFile("/proc/self/mounts"); strings.Contains(string(mounts), dir) {
				left = append(left, errors.New("mounts"), err)
			}
			return errors.Join(left...)
		})
	}
}
