package e2e

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"
)

// crashingRollout is an update of a workload to a version whose containers crash.
type crashingRollout struct {
	kind       string
	spec       map[string]any // of the workload, besides its pods
	minReady   time.Duration
	containers []crashingContainer
}

// crashingContainer is a container of the new version, and when it crashes.
type crashingContainer struct {
	after  time.Duration // since its start; negative for never
	starts int           // that many times; 0 is always
	pods   int           // in the first pods that start; 0 is all
	probed bool          // it has a readiness probe
}

// newCrashingRollout returns a random rollout. In one of eight nothing crashes.
func newCrashingRollout(random *rand.Rand) *crashingRollout {
	pick := func(numbers ...int) int { return numbers[random.IntN(len(numbers))] }
	r := &crashingRollout{spec: map[string]any{}}
	seconds := pick(0, 0, 0, 0, 3, 12)
	r.minReady, r.spec["minReadySeconds"] = time.Duration(seconds)*time.Second, seconds
	r.kind = []string{"Deployment", "Deployment", "StatefulSet", "DaemonSet"}[random.IntN(4)]
	switch r.kind {
	case "Deployment":
		r.spec["replicas"] = pick(1, 2, 3)
		if pick(0, 0, 0, 1) == 1 {
			r.spec["strategy"] = map[string]any{"type": "Recreate"}
		}
	case "StatefulSet":
		r.spec["replicas"], r.spec["serviceName"] = pick(1, 2, 3), "web"
		r.spec["podManagementPolicy"] = []string{"OrderedReady", "Parallel"}[pick(0, 1)]
	}
	for range pick(1, 1, 2, 3) {
		c := crashingContainer{after: -time.Millisecond, probed: pick(0, 1) == 1}
		r.containers = append(r.containers, c)
	}
	if pick(0, 1, 2, 3, 4, 5, 6, 7) > 0 {
		c := &r.containers[random.IntN(len(r.containers))]
		c.after = time.Duration(random.IntN(pick(1, 2500, 2500, 10000, 10000))) * time.Millisecond
		c.starts, c.pods = pick(0, 0, 0, 1, 2), pick(0, 0, 1)
	}
	return r
}

// String describes the rollout.
func (r *crashingRollout) String() string {
	text := fmt.Sprintf("%s %v", r.kind, r.spec)
	for _, c := range r.containers {
		text += fmt.Sprintf(" {after %s, starts %d, pods %d, probed %t}",
			c.after, c.starts, c.pods, c.probed)
	}
	return text
}

// crashes reports whether a container crashes, and whether it does so for ever.
func (r *crashingRollout) crashes() (some, always bool) {
	for _, c := range r.containers {
		some = some || c.after >= 0
		always = always || c.after >= 0 && c.starts == 0
	}
	return some, always
}

// manifest returns the workload in a version. Containers that run note their runs in a folder; only
// those of version 2 crash.
func (r *crashingRollout) manifest(namespace, version, folder string) []byte {
	var containers []any
	for i, c := range r.containers {
		container := map[string]any{"name": fmt.Sprint("c", i), "image": "example/web:" + version}
		if c.probed {
			container["readinessProbe"] = map[string]any{"periodSeconds": 1,
				"httpGet": map[string]any{"path": "/ready", "port": firstPort + i}}
		}
		if folder != "" {
			if version == "1" {
				c.after = -time.Millisecond
			}
			container["args"] = []any{"rollout", fmt.Sprint(firstPort + i), fmt.Sprint("/runs/c", i),
				fmt.Sprint(c.after.Milliseconds()), fmt.Sprint(c.starts), fmt.Sprint(c.pods)}
			container["volumeMounts"] = []any{map[string]any{"name": "runs", "mountPath": "/runs"}}
		}
		containers = append(containers, container)
	}
	pod := map[string]any{"containers": containers, "terminationGracePeriodSeconds": 1}
	if folder != "" {
		pod["volumes"] = []any{map[string]any{
			"name": "runs", "hostPath": map[string]any{"path": folder},
		}}
	}
	spec := maps.Clone(r.spec)
	spec["selector"] = map[string]any{"matchLabels": map[string]any{"app": "web"}}
	spec["template"] = map[string]any{"spec": pod,
		"metadata": map[string]any{"labels": map[string]any{"app": "web", "version": version}}}
	return encodeYAML(map[string]any{
		"apiVersion": "apps/v1", "kind": r.kind, "spec": spec,
		"metadata": map[string]any{"name": "web", "namespace": namespace},
	})
}

// firstPort is the port of the first container of a pod; the next ones follow.
const firstPort = 8080

// containerRuns are the runs of a container of a new pod.
type containerRuns struct {
	title           string
	probed          bool
	starts, crashes []time.Time
}

// How exact the times of the runs are that muster can know: the API has whole seconds.
const wholeSecond = 1200 * time.Millisecond

// What is noticed for certain of a container without a probe, and how long one has to run after a
// crash.
const (
	noticedWithin = 1500 * time.Millisecond
	provenAfter   = 10 * time.Second
)

// falseSuccess returns why a run that ended with success at a time should not have; empty if it
// should. The kubelet reports a crash with a delay, and the times are exact to a lag.
func (r *crashingRollout) falseSuccess(
	at time.Time, all []*containerRuns, delay, lag time.Duration,
) string {
	hold := max(provenAfter, r.minReady) - wholeSecond - lag
	for _, c := range all {
		for _, crash := range c.crashes {
			began := lastBefore(c.starts, crash)
			switch again := lastBefore(c.starts, at); {
			case !crash.After(at.Add(-delay)):
				if again.Before(crash) {
					return fmt.Sprintf("%s crashed %s before and does not run", c.title, at.Sub(crash))
				} else if ran := at.Sub(again); ran < hold {
					return fmt.Sprintf("%s crashed %s before and has run for %s since", c.title,
						at.Sub(crash), ran)
				}
			case !c.probed && began.Before(at) && crash.Sub(began) < noticedWithin-lag:
				return fmt.Sprintf("%s crashed %s after its start", c.title, crash.Sub(began))
			}
		}
	}
	return ""
}

// lastBefore returns the last time before another one; zero if there is none.
func lastBefore(times []time.Time, end time.Time) (last time.Time) {
	for _, at := range times {
		if at.Before(end) && at.After(last) {
			last = at
		}
	}
	return last
}

// apply applies a manifest of the workload. It returns when muster said that this is ready, or when
// it ended without saying so: a busy machine may need seconds between the two.
func (r *crashingRollout) apply(
	t *testing.T, kubeconfig, namespace string, manifest []byte, limit time.Duration,
) (out printed, code int, judged time.Time) {
	file := filepath.Join(t.TempDir(), "web.yaml")
	check(t, os.WriteFile(file, manifest, 0o600))
	begin := time.Now()
	out, code = runTimed(t, exec.Command(filepath.Join(bin, "muster"), "apply",
		"--kubeconfig", kubeconfig, "-n", "default", "-a", namespace, "-f", file, "-y",
		"--timeout", limit.String()))
	at, ok := out.first("/web reconciled")
	if !ok {
		at = out[len(out)-1].at
	}
	return out, code, begin.Add(time.Duration(at * float64(time.Second)))
}

// crashingCount is how often rollouts ended in which way.
type crashingCount struct{ succeeded, failed, later, wrong atomic.Int64 }

func (c *crashingCount) String() string {
	return fmt.Sprintf("%d succeeded, %d of them with a crash after that; "+
		"%d failed; %d successes were false", c.succeeded.Load(), c.later.Load(), c.failed.Load(),
		c.wrong.Load())
}

// add counts the end of a rollout, and fails the test if it was wrong for a reason.
func (c *crashingCount) add(t *testing.T, r *crashingRollout, ended time.Time,
	all []*containerRuns, wrong string, out printed, code int,
) {
	some, _ := r.crashes()
	if testing.Verbose() || code == 0 && wrong != "" || code != 0 && !some {
		t.Logf("%s\n%s", r, out)
	}
	switch {
	case code != 0 && !some:
		t.Error("it fails, although nothing crashes")
	case code != 0:
		c.failed.Add(1)
	case wrong != "":
		c.wrong.Add(1)
		t.Error("a false success: ", wrong)
	default:
		c.succeeded.Add(1)
	}
	for _, runs := range all {
		if last := lastBefore(runs.crashes, time.Now()); code == 0 && last.After(ended) {
			c.later.Add(1)
			break
		}
	}
}
