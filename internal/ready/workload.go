package ready

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Workload is the part of an object with pods, or of a pod, that decides with its pods whether it
// stays ready. Its status alone does not show that: a container without probes is ready for a
// moment at each start, even if it crashes.
type Workload struct {
	owner    podOwner
	pod      *PodRuns      // the object itself, if it is a pod
	pods     int64         // how many it has while it is ready
	spare    int64         // how many more may not be ready, since no controller replaces them
	minReady time.Duration // minReadySeconds
	unprobed bool          // a container of its template has no probe that delays readiness
	liveness []liveness    // by which containers without another probe are killed
	steady   time.Time     // all pods are ready since then, according to the status; zero if unknown
	lasting  bool          // all pods are ready since the rollout was complete
}

// WorkloadOf returns the workload of an object; nil for an object without pods that have to run. A
// Job is complete when its pods have ended. The pods of a paused Deployment are not replaced.
func WorkloadOf(obj *unstructured.Unstructured) *Workload {
	kind := kindOf(obj)
	w := &Workload{
		owner:    podOwner{uid: obj.GetUID()},
		pods:     count(obj, 1, "spec", "replicas"),
		minReady: time.Duration(count(obj, 0, "spec", "minReadySeconds")) * time.Second,
		unprobed: hasUnprobed(member(field(obj, "spec", "template"), "spec"), podParts...),
		liveness: livenessOfWorkload(obj),
	}
	switch kind {
	case podKind:
		w.pod, w.unprobed = RunsOf(obj), hasUnprobed(field(obj, "spec"), podParts...)
		if text(obj, "spec", "restartPolicy") == "Never" {
			w.unprobed = false // it has ended
		}
	case schema.GroupKind{Group: "apps", Kind: "Deployment"}:
		if field(obj, "spec", "paused") == true {
			return nil
		}
		w.owner = podOwner{namespace: obj.GetNamespace(), name: obj.GetName()}
		w.steady, w.lasting = steadySince(obj), isLasting(obj)
	case schema.GroupKind{Group: "apps", Kind: "DaemonSet"}:
		w.pods = count(obj, 0, "status", "desiredNumberScheduled")
		w.spare = count(obj, 0, "status", "numberMisscheduled")
	case replicaSetKind, schema.GroupKind{Group: "apps", Kind: "StatefulSet"},
		schema.GroupKind{Kind: "ReplicationController"}:
	default:
		return nil
	}
	return w
}

// podParts are the lists of containers in the specification of a pod.
var podParts = []string{"initContainers", "containers"}

// hasUnprobed reports whether a container in some parts of a specification, which has to run while
// the pod is ready, has neither a readiness nor a startup probe. The pod counts as ready as soon as
// such a container is started.
func hasUnprobed(spec any, parts ...string) bool {
	for _, part := range parts {
		for _, c := range maps(member(spec, part)) {
			runs := part == "containers" || str(c, "restartPolicy") == "Always"
			if runs && member(c, "readinessProbe") == nil && member(c, "startupProbe") == nil {
				return true
			}
		}
	}
	return false
}

// steadySince returns the time since which a Deployment is available, if it is not with fewer pods
// than all; else the zero time.
func steadySince(obj *unstructured.Unstructured) time.Time {
	const few = 3 // up to here 25 % of the pods, the default that may be missing, is less than one
	if count(obj, 1, "spec", "replicas") > few ||
		field(obj, "spec", "strategy", "rollingUpdate", "maxUnavailable") != "25%" {
		return time.Time{}
	}
	c := ConditionOf(obj, "Available")
	if !c.isTrue() {
		return time.Time{}
	}
	at, _ := time.Parse(time.RFC3339, c.time)
	return at
}

// isLasting reports whether a Deployment is available since its rollout was complete, according to
// its conditions: pods that crash make it unavailable in between.
func isLasting(obj *unstructured.Unstructured) bool {
	available, progressing := ConditionOf(obj, "Available"), ConditionOf(obj, "Progressing")
	return progressing.Reason == "NewReplicaSetAvailable" && progressing.time >= available.time
}

// NeedsPods reports whether the pods of a workload have to be seen to know that it stays ready. A
// pod has been seen.
func (w *Workload) NeedsPods(now time.Time) bool {
	return w.pod != nil || w.steady.IsZero() || now.Before(w.steady.Add(w.hold()))
}

// MayBeDisturbed reports whether a workload that nobody changed may not have been ready before.
// Some statuses have the time since which all pods are ready. Without one, only a probe of each
// container keeps a pod that crashes from being ready in between.
func (w *Workload) MayBeDisturbed(now time.Time) bool {
	if w.pod == nil && w.steady.IsZero() {
		return w.unprobed
	}
	return !w.lasting && w.NeedsPods(now)
}

// MayHideCrashes reports whether the pods of a workload may count as ready at each start. A pod
// itself has been seen.
func (w *Workload) MayHideCrashes() bool { return w.pod == nil && w.unprobed }

// hold returns how long a container has to run after a restart.
func (w *Workload) hold() time.Duration { return max(provenAfter, w.minReady) }

// Trial is why a workload whose status is Current does not count as ready yet.
type Trial struct {
	Status
	Until  time.Time // end of the trial if nothing happens; zero if it has none
	Failed bool      // a container has failed, or a pod is not ready
}

// Trial returns the trial of a workload at a time; nil if it is ready. A pod that is not ready, or
// with a container that was restarted a moment ago, keeps it from being ready.
func (w *Workload) Trial(pods *PodSet, now time.Time) *Trial {
	var trial *Trial
	spare := w.spare
	for _, p := range pods.of(w) {
		if !p.ready && !p.ended && !p.leaving {
			if spare--; spare >= 0 {
				continue
			}
			message := fmt.Sprintf("Pod %s is not ready", p.Ref.Name)
			return &Trial{Status: inProgress("PodNotReady", message), Failed: true}
		}
		until, s := p.settled(w.hold())
		if until.After(now) && (trial == nil || until.After(trial.Until)) {
			trial = &Trial{Status: s, Until: until, Failed: true}
		}
	}
	return trial
}

// unseenDelay is how long a workload waits for pods that its controller has counted and that no
// watch has reported: watches of two kinds are not in step. A user may have no permission for one.
const unseenDelay = 500 * time.Millisecond

// FirstTrial returns the trial of a workload that has become ready at a time. If it has pods that
// are not older than its last change, and a container without probes, it has to stay ready for a
// duration. It returns nil if the workload needs no such trial, or if that is over.
func (w *Workload) FirstTrial(
	pods *PodSet, changed, ready, now time.Time, stay time.Duration,
) *Trial {
	seen, isNew := int64(0), false
	for _, p := range pods.of(w) {
		if !p.ended && !p.leaving {
			seen, isNew = seen+1, isNew || !p.Created.Before(changed)
		}
	}
	until := ready
	if w.pod == nil && seen < w.pods {
		until, isNew = ready.Add(unseenDelay), true
	}
	if w.unprobed && isNew && ready.Add(stay-w.minReady).After(until) {
		until = ready.Add(stay - w.minReady)
	}
	if !until.After(now) {
		return nil
	}
	return &Trial{Until: until, Status: inProgress("ReadyForMoment", fmt.Sprintf(
		"Ready; a container has no readiness probe, so this has to last for %s", stay))}
}

// StrictPod returns the status of a pod that has the given one by its phase and conditions, as its
// containers show it. A crash loop is known by the ends of a container: a kubelet shows its reason
// CrashLoopBackOff hardly. A pod that is not restarted is ready when it has ended, unless probes of
// its containers, sidecars aside, say when it is ready.
func StrictPod(pod *unstructured.Unstructured, s Status) Status {
	if kindOf(pod) != podKind || s.State != Current && s.State != InProgress || isEnded(pod) {
		return s
	}
	policy := text(pod, "spec", "restartPolicy")
	for _, status := range containers(pod) {
		name := str(status, "name")
		last, bad := termination(status, "state", runsForever(pod, name))
		switch {
		case isCrashLoop(pod, status):
			crash := failed(CrashLooping, "Containers in CrashLoop state: "+name)
			crash.Since = lastEnd(status)
			return crash
		case bad && restartPolicyOf(pod, name) == "Never":
			return failed("ContainerFailed",
				fmt.Sprintf("Container %s has ended with exit code %v", name, last["exitCode"]))
		}
	}
	ends := policy == "Never" || policy == "OnFailure"
	if s.State == Current && ends && hasUnprobed(field(pod, "spec"), "containers") {
		return inProgress("PodRunning",
			"Pod is running; with the restart policy "+policy+" it is ready when it has ended")
	}
	return s
}

// CrashLooping is the reason of a pod with a container that crashes. The kubelet starts it again.
const CrashLooping = "ContainerCrashLooping"

// lastEnd returns when a container that does not run has ended; the zero time if that is not known.
func lastEnd(status map[string]any) time.Time {
	text := max(str(status, "state", "terminated", "finishedAt"),
		str(status, "lastState", "terminated", "finishedAt"))
	at, _ := time.Parse(time.RFC3339, text)
	return at
}

// steadyRun is the duration of a run after which the kubelet restarts a container at once again.
const steadyRun = 10 * time.Minute

// isCrashLoop reports whether a container does not run because it has ended again after a restart.
func isCrashLoop(pod *unstructured.Unstructured, status map[string]any) bool {
	restarts, _ := wholeNumber(status["restartCount"])
	switch reason := str(status, "state", "waiting", "reason"); {
	case restarts == 0, isRunning(status), reason == "ContainerCreating", reason == "PodInitializing":
		return false
	case reason == "CrashLoopBackOff":
		return true
	}
	forever := runsForever(pod, str(status, "name"))
	last, bad := termination(status, "state", forever)
	if last == nil {
		last, bad = termination(status, "lastState", forever)
	}
	if reason := str(last, "reason"); reason == "Unknown" || reason == "ContainerStatusUnknown" {
		return false // its node was lost
	}
	began, err := time.Parse(time.RFC3339, str(last, "startedAt"))
	ended, failed := time.Parse(time.RFC3339, str(last, "finishedAt"))
	neverBegan := err != nil || began.Unix() <= 0 // as of a container that cannot be started
	return bad && (neverBegan || failed != nil || ended.Sub(began) < steadyRun)
}

// Owns reports whether a pod belongs to the workload.
func (w *Workload) Owns(p *PodRuns) bool { return slices.Contains(p.owners(), w.owner) }
