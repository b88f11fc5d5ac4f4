package ready

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
)

// podEvidence is the evidence that pods alone have.
type podEvidence struct {
	labels     labels.Set               // of one that is not ready
	phase      string                   // of one that is not ready
	ofJob      bool                     // a Job owns it
	lastRuns   []Cause                  // failures of containers that run again
	recovered  bool                     // it is ready
	changed    string                   // time since which it is not ready or can start containers
	running    map[string]containerRun  // the present runs of containers
	tolerances map[string]time.Duration // see tolerancesOf
}

// ended reports whether a pod has succeeded or failed.
func (p *podEvidence) ended() bool { return isEndPhase(p.phase) }

// containerRun is the present run of a container.
type containerRun struct {
	began string // in whole seconds
	isUp  bool   // its startup probe has succeeded, or it has none
}

// readPod reads the evidence of a pod that is not being deleted.
func (r *Evidence) readPod(pod *unstructured.Unstructured) {
	r.labels, r.phase, r.ofJob = pod.GetLabels(), text(pod, "status", "phase"), isOfJob(pod)
	r.causes, r.lastRuns = podCauses(pod), lastRunCauses(pod)
	if len(r.lastRuns) == 0 {
		r.lastRuns = recoveries(pod, time.Now())
	}
	r.fallback = slowCauses(pod)
	if len(r.fallback)+len(r.lastRuns) == 0 {
		r.fallback = pendingCauses(pod)
	}
	if c := ConditionOf(pod, "Ready"); c.isFalse() {
		r.changed = inSeconds(c.time)
	}
	if c := ConditionOf(pod, "PodReadyToStartContainers"); c.isTrue() {
		r.changed = max(r.changed, inSeconds(c.time))
	}
	r.tolerances = tolerancesOf(pod)
	r.running = map[string]containerRun{}
	for _, container := range containers(pod) {
		if at := str(container, "state", "running", "startedAt"); at != "" {
			r.running[str(container, "name")] = containerRun{
				inSeconds(at), member(container, "started") == true,
			}
		}
	}
}

// readLeavingPod reads why a pod is being deleted. That of a Job may be because it failed.
func (r *Evidence) readLeavingPod(pod *unstructured.Unstructured) {
	r.ofJob = isOfJob(pod)
	if c, ok := ownReason(pod); ok {
		r.causes = append(r.causes, c)
	} else if r.ofJob {
		r.causes = earlierFailures(pod)
	}
}

// keepFailures keeps why a pod that is being deleted failed, by its state before. A kubelet moves
// the time of the deletion to when the containers have ended: they seem to have ended before it.
func (r *Evidence) keepFailures(before *Evidence) {
	if len(r.causes) == 0 || before.leaving && len(before.failures()) > 0 {
		r.causes = before.failures()
	}
}

// isOfJob reports whether a Job controls a pod.
func isOfJob(pod *unstructured.Unstructured) bool {
	for _, owner := range pod.GetOwnerReferences() {
		if owner.Kind == jobKind.Kind && strings.HasPrefix(owner.APIVersion, jobKind.Group+"/") {
			return true
		}
	}
	return false
}

// since returns the time since which events about an object, or about a container of a pod, are
// about its present state. It is empty if that is not known.
func (r *Evidence) since(container string) string {
	return max(r.changed, r.running[container].began)
}

// failures returns why a pod failed: its own reason, or the ends of the containers of a Job.
func (r *Evidence) failures() []Cause {
	var found []Cause
	for _, causes := range [][]Cause{r.causes, r.lastRuns} {
		for _, c := range causes {
			if c.own || c.end != nil && r.ofJob {
				found = append(found, c)
			}
		}
	}
	return found
}

// lastCauses returns the causes that explain an object if nothing else does.
func (r *Evidence) lastCauses() []Cause {
	if r.recovered {
		return nil
	}
	return append(r.lastRuns[:len(r.lastRuns):len(r.lastRuns)], r.fallback...)
}

// recentFailures returns the failures of containers of a pod that run again. It omits those after
// which the container has run for a while: the pod is ready, or still fails its probe.
func (s *search) recentFailures(r *Evidence) []Cause {
	var found []Cause
	for _, c := range r.lastRuns {
		proven := (r.recovered || c.end.ready) && c.end.isProven(s.now)
		for w := range s.warnings(r.UID) {
			about := w.container == "" || w.container == c.end.container
			if at, err := time.Parse(secondsLayout, w.time); w.reason == probeFailed && about {
				proven = proven || err != nil || c.end.isProven(at)
			}
		}
		if !proven {
			found = append(found, c)
		}
	}
	return found
}

// replaces reports whether the controller of an object leaves pods that ended behind, and creates
// others in their place.
func (r *Evidence) replaces() bool {
	return r.Ref.GroupKind() == replicaSetKind || r.Ref.Kind == "ReplicationController"
}

// endedLast moves pods that have ended behind the others, and returns the number of the others.
func endedLast(pods []*Evidence) int {
	isLive := func(pod *Evidence) bool { return !pod.ended() }
	ended := slices.DeleteFunc(slices.Clone(pods), isLive)
	live := slices.DeleteFunc(slices.Clone(pods), func(pod *Evidence) bool { return pod.ended() })
	copy(pods, append(live, ended...))
	return len(pods) - len(ended)
}
