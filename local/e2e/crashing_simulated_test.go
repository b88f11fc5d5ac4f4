package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	typed "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/muster-deploy/muster/local/kubelet"
)

// TestCrashingRollouts updates workloads on simulated nodes to versions that crash at random
// moments. Muster must not say that one is ready while its containers crash.
func TestCrashingRollouts(t *testing.T) {
	t.Parallel()
	rounds, seed := seeded(t, roundsEnv, 4)
	config, err := clientcmd.BuildConfigFromFlags("", cluster.Kubeconfig())
	check(t, err)
	config.QPS = -1
	client, err := kubernetes.NewForConfig(config)
	check(t, err)
	var count crashingCount
	t.Cleanup(func() { t.Log(&count) })
	for i := range rounds {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			inTurn(t)
			s := &crashingPods{
				crashingRollout: newCrashingRollout(rand.New(rand.NewPCG(seed, i))), t: t,
				pods:   client.CoreV1().Pods(fmt.Sprint("crashing-", i)),
				chosen: map[string]bool{}, runs: shownRuns{},
			}
			s.run(fmt.Sprint("crashing-", i), &count)
		})
	}
}

// crashingPods makes the pods of the new version crash, and records their runs.
type crashingPods struct {
	*crashingRollout
	t      *testing.T
	pods   typed.PodInterface
	chosen map[string]bool
	runs   shownRuns
	lag    time.Duration // between a write and its sight, at most so far
}

// shownRuns are the runs of containers as the status of their pods shows them, by pod and
// container.
type shownRuns map[string]*shownRun

// shownRun is the last run of a container, after the earlier ones.
type shownRun struct {
	containerRuns
	id    string // of the last run
	ended bool
}

// list returns the runs of all containers.
func (s shownRuns) list() (all []*containerRuns) {
	for _, runs := range s {
		all = append(all, &runs.containerRuns)
	}
	return all
}

// see records the status of a pod.
func (s shownRuns) see(pod *corev1.Pod, r *crashingRollout) {
	for i, status := range pod.Status.ContainerStatuses {
		key := "container " + status.Name + " of " + pod.Name
		if s[key] == nil {
			s[key] = &shownRun{}
			s[key].title, s[key].probed = key, r.containers[i].probed
		}
		s[key].see(&status)
	}
}

// seenDelay is how long after muster the test may see a status, if nothing else is busy.
const seenDelay = 500 * time.Millisecond

func (s *crashingPods) run(namespace string, count *crashingCount) {
	t := s.t
	check(t, createNamespace(t.Cleanup, namespace))
	apply := func(version string, limit time.Duration) (printed, int, time.Time) {
		return s.apply(t, cluster.Kubeconfig(), namespace, s.manifest(namespace, version, ""), limit)
	}
	if out, code, _ := apply("1", hangTimeout); code != 0 {
		t.Fatalf("the first version is not ready:\n%s", out)
	}
	watched, err := s.pods.Watch(t.Context(), metav1.ListOptions{LabelSelector: "version=2"})
	check(t, err)
	type result struct {
		out   printed
		code  int
		ended time.Time
	}
	done := make(chan result)
	// Ends with its result, which is received below.
	go func() {
		limit := hangTimeout // it ends by itself
		if _, always := s.crashes(); always {
			limit = 15 * time.Second
		}
		out, code, ended := apply("2", limit)
		done <- result{out, code, ended}
	}()
	stop := s.startEcho()
	defer stop()
	var r result
	for over := false; !over; {
		select {
		case e, ok := <-watched.ResultChan():
			pod, isPod := e.Object.(*corev1.Pod)
			switch {
			case !isPod || !ok:
				t.Fatal("the watch of the pods broke")
			case pod.Name == echoPod:
				over = s.hear(pod)
			default:
				s.see(pod)
			}
		case r = <-done:
			stop()
			check(t, s.echo(t.Context(), lastEcho))
		}
	}
	t.Logf("statuses were seen after %s at most", s.lag)
	all := s.runs.list()
	wrong := s.falseSuccess(r.ended, all, seenDelay+2*s.lag, s.lag)
	count.add(t, s.crashingRollout, r.ended, all, wrong, r.out, r.code)
}

// The echo is a pod of the new version that no node runs.
const (
	echoPod   = "echo"
	echoNote  = "e2e.muster.dev/echo"
	lastEcho  = "last"
	echoEvery = 200 * time.Millisecond
)

// startEcho begins to write the time into the echo, again and again. The returned function ends
// that.
func (s *crashingPods) startEcho() (stop func()) {
	_, err := s.pods.Create(s.t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: echoPod, Labels: map[string]string{"version": "2"}},
		Spec: corev1.PodSpec{
			SchedulerName: "none",
			Containers:    []corev1.Container{{Name: "echo", Image: "example/echo:1"}},
		},
	}, metav1.CreateOptions{})
	check(s.t, err)
	ctx, cancel := context.WithCancel(s.t.Context())
	go func() { // ends with the context
		pause := time.NewTicker(echoEvery)
		defer pause.Stop()
		for ctx.Err() == nil {
			_ = s.echo(ctx, time.Now().Format(time.RFC3339Nano)) // the next one may succeed
			<-pause.C
		}
	}()
	return cancel
}

// echo writes a text into the echo.
func (s *crashingPods) echo(ctx context.Context, text string) error {
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, echoNote, text)
	_, err := s.pods.Patch(ctx, echoPod, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	return err
}

// hear takes a state of the echo: how late the test sees the time in it is how late muster may see
// a status. It reports whether it is the last one, after which the test has seen all that muster
// can have seen.
func (s *crashingPods) hear(pod *corev1.Pod) (last bool) {
	text := pod.Annotations[echoNote]
	if at, err := time.Parse(time.RFC3339Nano, text); err == nil {
		s.lag = max(s.lag, time.Since(at))
	}
	return text == lastEcho
}

// see records what a pod runs, and lets it crash or recover.
func (s *crashingPods) see(pod *corev1.Pod) {
	s.runs.see(pod, s.crashingRollout)
	for i, status := range pod.Status.ContainerStatuses {
		c := s.containers[i]
		if c.after >= 0 && c.starts > 0 && int(status.RestartCount) >= c.starts {
			s.annotate(pod, map[string]any{kubelet.Behaviour: nil, kubelet.ExitAfter: nil})
		}
	}
	for i, c := range s.containers {
		if c.after < 0 || s.chosen[pod.Name] || c.pods > 0 && len(s.chosen) >= c.pods {
			continue
		}
		s.chosen[pod.Name] = true
		s.annotate(pod, map[string]any{
			kubelet.Behaviour: kubelet.CrashLoop, kubelet.Container: fmt.Sprint("c", i),
			kubelet.ExitAfter: c.after.String(),
		})
	}
}

// annotate sets annotations of a pod, or removes those that are nil. The pod may be gone.
func (s *crashingPods) annotate(pod *corev1.Pod, notes map[string]any) {
	if notes[kubelet.Behaviour] == nil && pod.Annotations[kubelet.Behaviour] == "" {
		return
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": notes}})
	check(s.t, err)
	_, _ = s.pods.Patch(s.t.Context(), pod.Name, types.MergePatchType, patch, metav1.PatchOptions{})
}

// see records a status of a container, at the time at which it is seen.
func (r *shownRun) see(status *corev1.ContainerStatus) {
	now := time.Now()
	runs := status.State.Running != nil
	if r.id != "" && !r.ended && (!runs || status.ContainerID != r.id) {
		r.crashes, r.ended = append(r.crashes, now), true
	}
	if runs && status.ContainerID != r.id {
		r.starts, r.id, r.ended = append(r.starts, now), status.ContainerID, false
	}
}
