package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// TestNodeRollouts updates workloads on a node that runs containers to versions that crash at
// random moments. Muster must not say that one is ready while its containers crash.
func TestNodeRollouts(t *testing.T) {
	requireNode(t)
	rounds, seed := seeded(t, roundsEnv, 4)
	p := startNode(t)
	turn := make(chan struct{}, nodeCases)
	var count crashingCount
	t.Run("rollouts", func(t *testing.T) {
		for i := range rounds {
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				t.Parallel()
				turn <- struct{}{}
				defer func() { <-turn }()
				r := newCrashingRollout(rand.New(rand.NewPCG(seed, i)))
				runCrashingOnNode(t, r, p.Kubeconfig(), fmt.Sprint("rollout-", i), &count)
			})
		}
	})
	t.Log(&count)
}

// reportDelay is how long after a crash the kubelet of a busy machine may report it: it looks once
// a second.
const reportDelay = 5 * time.Second

func runCrashingOnNode(
	t *testing.T, r *crashingRollout, kubeconfig, namespace string, count *crashingCount,
) {
	kubectl := func(args ...string) error {
		return exec.Command("kubectl", append(args, "--kubeconfig", kubeconfig)...).Run()
	}
	check(t, kubectl("create", "namespace", namespace))
	defer func() { _ = kubectl("delete", "namespace", namespace, "--wait=false") }()
	folder, err := os.MkdirTemp("", namespace) // containers may write until the node ends
	check(t, err)
	apply := func(version string, limit time.Duration) (printed, int, time.Time) {
		runs := filepath.Join(folder, version)
		for i := range r.containers {
			check(t, os.MkdirAll(filepath.Join(runs, fmt.Sprint("c", i)), 0o755))
		}
		return r.apply(t, kubeconfig, namespace, r.manifest(namespace, version, runs), limit)
	}
	if out, code, _ := apply("1", hangTimeout); code != 0 {
		t.Fatalf("the first version is not ready:\n%s", out)
	}
	limit := hangTimeout // it ends by itself
	if _, always := r.crashes(); always {
		limit = 40 * time.Second
	}
	shown := r.watchRuns(t, kubeconfig, namespace)
	out, code, ended := apply("2", limit)
	time.Sleep(seenDelay)
	wrong := r.falseSuccess(ended, shown(), seenDelay, 0)
	all := r.readRuns(t, filepath.Join(folder, "2"))
	if wrong == "" {
		wrong = r.falseSuccess(ended, all, reportDelay, 0)
	}
	count.add(t, r, ended, all, wrong, out, code)
}

// watchRuns watches the new pods until the test ends. It returns a function that returns what the
// server has shown of the runs of their containers.
func (r *crashingRollout) watchRuns(
	t *testing.T, kubeconfig, namespace string,
) func() []*containerRuns {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	check(t, err)
	client, err := kubernetes.NewForConfig(config)
	check(t, err)
	watched, err := client.CoreV1().Pods(namespace).Watch(t.Context(),
		metav1.ListOptions{LabelSelector: "version=2"})
	check(t, err)
	var mutex sync.Mutex
	runs := shownRuns{}
	// Ends with the watch, which ends with the test.
	go func() {
		for e := range watched.ResultChan() {
			if pod, ok := e.Object.(*corev1.Pod); ok {
				mutex.Lock()
				runs.see(pod, r)
				mutex.Unlock()
			}
		}
	}()
	return func() []*containerRuns {
		mutex.Lock()
		defer mutex.Unlock()
		return runs.list()
	}
}

// readRuns reads the times that the containers of a version have noted in a folder.
func (r *crashingRollout) readRuns(t *testing.T, folder string) (all []*containerRuns) {
	for i, c := range r.containers {
		files, err := filepath.Glob(filepath.Join(folder, fmt.Sprint("c", i), "web-*"))
		check(t, err)
		for _, file := range files {
			runs := &containerRuns{
				title: fmt.Sprintf("container c%d of %s", i, filepath.Base(file)), probed: c.probed,
			}
			text, err := os.ReadFile(file)
			check(t, err)
			for line := range strings.Lines(string(text)) {
				what, nanoseconds, _ := strings.Cut(strings.TrimSpace(line), " ")
				n, err := strconv.ParseInt(nanoseconds, 10, 64)
				check(t, err)
				if at := time.Unix(0, n); what == "start" {
					runs.starts = append(runs.starts, at)
				} else {
					runs.crashes = append(runs.crashes, at)
				}
			}
			all = append(all, runs)
		}
	}
	return all
}
