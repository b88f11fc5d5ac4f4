package plane_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/muster-deploy/muster/local/plane"
)

// programs is the folder of the components, which only a build can make.
func programs(t *testing.T) string {
	t.Helper()
	bin, err := filepath.Abs("../../bin")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"muster-components", "muster-kwok"} {
		if _, err := os.Stat(filepath.Join(bin, name)); err != nil {
			t.Fatalf("%s is not in %s: run \"make build\" first", name, bin)
		}
	}
	return bin
}

func options(t *testing.T) plane.Options {
	t.Helper()
	return plane.Options{Dir: t.TempDir(), Bin: programs(t), Tied: true}
}

// up starts a plane that the test's end takes down.
func up(t *testing.T, o plane.Options) *plane.Plane {
	t.Helper()
	p, err := plane.Up(t.Context(), o)
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

func connect(t *testing.T, p *plane.Plane) kubernetes.Interface {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", p.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// eventually waits until check passes; its last complaint is the failure.
func eventually(t *testing.T, what string, check func(context.Context) error) {
	t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, 30*time.Second, true,
		func(ctx context.Context) (bool, error) {
			err := check(ctx)
			if err == nil || ctx.Err() == nil {
				last = err // Not that of a request that the end of the wait cut off.
			}
			return err == nil, nil
		})
	if err != nil {
		t.Fatalf("%s: %v: %v", what, err, last)
	}
}

func pids(p *plane.Plane) map[string]int {
	out := map[string]int{}
	for _, c := range p.Status(context.Background()) {
		out[c.Name] = c.PID
	}
	return out
}

func assertHealthy(t *testing.T, p *plane.Plane) {
	t.Helper()
	for _, c := range p.Status(t.Context()) {
		if !c.Healthy || !c.Alive || c.PID == 0 {
			t.Errorf("%+v", c)
		}
	}
}

func assertGone(t *testing.T, pids map[string]int) {
	t.Helper()
	for name, pid := range pids {
		// A process that has ended has its number until its parent takes note.
		eventually(t, "end of "+name, func(context.Context) error {
			if err := syscall.Kill(pid, 0); err == nil {
				return fmt.Errorf("process %d still runs", pid)
			}
			return nil
		})
	}
}

// Three planes start at the same instant, and none is disturbed by the others.
func TestPlanesSideBySide(t *testing.T) {
	planes := make([]*plane.Plane, 3)
	failures := make([]error, len(planes))
	var all sync.WaitGroup
	for i := range planes {
		o := options(t)
		o.Nodes = new(i + 1)
		all.Go(func() { planes[i], failures[i] = plane.Up(t.Context(), o) })
	}
	all.Wait()
	t.Cleanup(func() {
		for _, p := range planes {
			if p != nil {
				_ = p.Down(context.Background())
			}
		}
	})
	for _, err := range failures {
		if err != nil {
			t.Fatal(err)
		}
	}
	for i, p := range planes {
		client := connect(t, p)
		nodes, err := client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if len(nodes.Items) != i+1 {
			t.Errorf("plane %d has %d nodes", i, len(nodes.Items))
		}
		assertHealthy(t, p)
	}
	t.Run("simulation", func(t *testing.T) { simulation(t, connect(t, planes[0])) })
	t.Run("up twice", func(t *testing.T) { t.Parallel(); upTwice(t, planes[1]) })
	t.Run("killed", func(t *testing.T) { t.Parallel(); killed(t, planes[2]) })
}

// upTwice: a plane that is up is left alone, also when it is asked for by its folder; down leaves
// nothing; its data is still there when it comes up again.
func upTwice(t *testing.T, p *plane.Plane) {
	before := pids(p)
	o := options(t)
	o.Dir = filepath.Dir(p.Kubeconfig())
	again, err := plane.Up(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if started := again.Started(); len(started) > 0 {
		t.Errorf("started %v again", started)
	}
	if after := pids(again); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("processes were %v and are %v", before, after)
	}
	o.Nodes = new(7)
	if _, err := plane.Up(t.Context(), o); err == nil ||
		!strings.Contains(err.Error(), "with 2 nodes") {
		t.Errorf("another number of nodes: %v", err)
	}
	uid := kubeSystem(t, again)
	if err := p.Down(t.Context()); err != nil {
		t.Fatal(err)
	}
	assertGone(t, before)
	if p.Server() != "" {
		t.Errorf("a plane that is down is at %s", p.Server())
	}
	if err := p.Down(t.Context()); err != nil {
		t.Errorf("down twice: %v", err)
	}
	o.Nodes = nil
	third := up(t, o)
	if !slices.Equal(third.Started(), third.Names()) {
		t.Errorf("started %v", third.Started())
	}
	if kubeSystem(t, third) != uid {
		t.Error("the data is gone")
	}
	if err := third.Delete(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(o.Dir); err == nil {
		t.Error("the state folder is still there")
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil { // The cleanup of up looks there.
		t.Fatal(err)
	}
	third = up(t, o)
	if kubeSystem(t, third) == uid {
		t.Error("the data is still there")
	}
}

func kubeSystem(t *testing.T, p *plane.Plane) string {
	t.Helper()
	namespace, err := connect(
		t,
		p,
	).CoreV1().
		Namespaces().
		Get(t.Context(), "kube-system", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return string(namespace.UID)
}

// killed: a component that was killed is named, with the end of its log, and comes back on its
// port.
func killed(t *testing.T, p *plane.Plane) {
	before, server := pids(p), p.Server()
	if err := syscall.Kill(before["kube-apiserver"], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, "status after the API server was killed", func(ctx context.Context) error {
		for _, c := range p.Status(ctx) {
			if c.Name == "kube-apiserver" && !c.Alive && !c.Healthy &&
				strings.HasPrefix(c.Detail, "ended; the end of ") && strings.Count(c.Detail, "\n") > 3 {
				return nil
			}
		}
		return fmt.Errorf("%+v", p.Status(ctx))
	})
	o := options(t)
	o.Dir = filepath.Dir(p.Kubeconfig())
	again, err := plane.Up(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if got := again.Started(); !slices.Equal(got, []string{"kube-apiserver"}) ||
		again.Server() != server {
		t.Errorf("started %v at %s, was at %s", got, again.Server(), server)
	}
	eventually(t, "health after the API server was started again", func(ctx context.Context) error {
		for _, c := range again.Status(ctx) {
			if !c.Healthy {
				return fmt.Errorf("%+v", c)
			}
		}
		return nil
	})
	after := pids(again)
	if err := again.Down(t.Context()); err != nil {
		t.Fatal(err)
	}
	assertGone(t, after)
	assertGone(t, before)
}

// A start that is interrupted, or in which a component dies, leaves nothing behind and says what
// happened.
func TestFailedStartLeavesNothing(t *testing.T) {
	t.Run("interrupted", func(t *testing.T) {
		o := options(t)
		ctx, cancel := context.WithCancel(t.Context())
		go func() { // Ends with the test: Up returns only after cancel.
			_ = wait.PollUntilContextCancel(
				ctx,
				time.Millisecond,
				true,
				func(context.Context) (bool, error) {
					p, err := plane.Open(o.Dir)
					return err == nil && pids(p)["kube-apiserver"] != 0, nil
				},
			)
			cancel()
		}()
		if _, err := plane.Up(ctx, o); err == nil {
			t.Fatal("no error")
		}
		assertNothingOf(t, o.Dir)
	})
	t.Run("component dies", func(t *testing.T) {
		o := options(t)
		if err := os.MkdirAll(filepath.Join(o.Dir, "etcd", "member"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(o.Dir, "etcd", "member", "snap"), []byte("no folder"),
			0o600); err != nil {
			t.Fatal(err)
		}
		_, err := plane.Up(t.Context(), o)
		var dead *plane.ComponentError
		if !errors.As(err, &dead) || dead.Name != "etcd" || dead.Tail == "" {
			t.Fatalf("got %v", err)
		}
		assertNothingOf(t, o.Dir)
	})
}

// assertNothingOf checks that no process was started for a state folder, which every component has
// in its arguments.
func assertNothingOf(t *testing.T, dir string) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if data, err := os.ReadFile(file); err == nil && strings.Contains(string(data), dir) {
			t.Errorf("still runs: %q", data)
		}
	}
}
