package ready

import (
	"cmp"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// provenAfter is how long a container must have run since its last failure until a failing probe
// explains more than that failure.
const provenAfter = 10 * time.Second

// ending is the end of a run of a container.
type ending struct {
	pod       types.UID
	container string
	started   string // time at which the run was started
	again     string // time at which the next run was started; empty without one
	code      string // exit code
	oom       bool   // it used too much memory
	ready     bool   // the next run is ready
}

func endingOf(pod *unstructured.Unstructured, container, last map[string]any) *ending {
	return &ending{
		pod: pod.GetUID(), container: str(container, "name"),
		started: inSeconds(str(last, "startedAt")),
		again:   inSeconds(str(container, "state", "running", "startedAt")),
		code:    fmt.Sprint(last["exitCode"]), oom: str(last, "reason") == "OOMKilled",
		ready: container["ready"] == true,
	}
}

// isBy reports whether the kubelet ended the run, according to its latest event that it kills the
// container. It does not repeat its events often, so that exit codes count too: programs that get
// SIGTERM succeed, or end by a signal.
func (e *ending) isBy(kill *warning) bool {
	stopped := e.code == "0" || e.code == "137" || e.code == "143" // 128 + SIGKILL, SIGTERM
	return !e.oom && (stopped || kill.time >= e.started)
}

// isProven reports whether the next run had gone on for a while at a time, or its start is not
// known.
func (e *ending) isProven(at time.Time) bool {
	began, err := time.Parse(secondsLayout, e.again)
	return err != nil || at.Sub(began) >= provenAfter
}

// recoveries returns the failures of containers of a ready pod that have not run for long since.
func recoveries(pod *unstructured.Unstructured, now time.Time) []Cause {
	var causes []Cause
	for _, container := range containers(pod) {
		last, bad := termination(container, "lastState", runsForever(pod, str(container, "name")))
		if !bad || !isRunning(container) {
			continue
		}
		if c := endCause(pod, container, last, false, true); !c.end.isProven(now) {
			causes = append(causes, c)
		}
	}
	return causes
}

// runsForever reports whether the kubelet starts a container again however it ends.
func runsForever(pod *unstructured.Unstructured, name string) bool {
	return restartPolicyOf(pod, name) == "Always"
}

// restartPolicyOf returns the restart policy of a container: its own, as sidecars have it, or that
// of the pod. One with rules about its exit codes may be started again. An init container is not
// once it has succeeded.
func restartPolicyOf(pod *unstructured.Unstructured, name string) string {
	policy := text(pod, "spec", "restartPolicy")
	for _, part := range podParts {
		for _, container := range list(pod, "spec", part) {
			own := str(container, "restartPolicy")
			switch {
			case str(container, "name") != name:
			case own == "Never" && member(container, "restartPolicyRules") != nil:
				return "OnFailure"
			case own == "" && part == "initContainers" && policy == "Always":
				return "OnFailure"
			default:
				return cmp.Or(own, policy)
			}
		}
	}
	return policy
}

// earlierFailures returns the failures of containers of a pod from before it was deleted. After
// that they end because the kubelet stops them.
func earlierFailures(pod *unstructured.Unstructured) []Cause {
	deleted := pod.GetDeletionTimestamp().Time
	if grace := pod.GetDeletionGracePeriodSeconds(); grace != nil {
		deleted = deleted.Add(-time.Duration(*grace) * time.Second)
	}
	var causes []Cause
	for _, container := range containers(pod) {
		for _, state := range [...]string{"state", "lastState"} {
			last, bad := termination(container, state, runsForever(pod, str(container, "name")))
			if ended := str(last, "finishedAt"); bad && (state == "lastState" ||
				ended < deleted.UTC().Format(time.RFC3339)) {
				causes = append(causes, endCause(pod, container, last, false, state == "lastState"))
				break
			}
		}
	}
	return causes
}
