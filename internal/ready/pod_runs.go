package ready

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-deploy/muster/internal/object"
)

// PodRuns is the part of a pod that decides whether its workload stays ready. It is small, since
// thousands are kept.
type PodRuns struct {
	Ref     object.Ref
	Created time.Time

	uid        types.UID
	owner      types.UID // of its controller
	deployment string    // the Deployment of its ReplicaSet; empty without one
	ended      bool      // it has succeeded or failed
	leaving    bool      // it is being deleted
	ready      bool      // its condition Ready is true

	restarted time.Time // start of the last run of a container that ran before; zero for none
	container string    // the container of that run
	failed    time.Time // time at which the pod ended although it should run; or zero
}

// RunsOf returns the runs of a pod. It does not keep the pod.
func RunsOf(pod *unstructured.Unstructured) *PodRuns {
	p := &PodRuns{
		Ref: object.RefOf(pod), uid: pod.GetUID(), Created: pod.GetCreationTimestamp().Time,
		ended: isEnded(pod), leaving: pod.GetDeletionTimestamp() != nil,
		ready: ConditionOf(pod, "Ready").isTrue(),
	}
	for _, owner := range pod.GetOwnerReferences() {
		if owner.Controller == nil || !*owner.Controller {
			continue
		}
		p.owner = owner.UID
		hash := "-" + text(pod, "metadata", "labels", "pod-template-hash")
		if name, ok := strings.CutSuffix(owner.Name, hash); ok && owner.Kind == replicaSetKind.Kind {
			p.deployment = name
		}
	}
	for _, status := range containers(pod) {
		if began, ok := restartedAt(status); ok && began.After(p.restarted) {
			p.restarted, p.container = began, str(status, "name")
		}
	}
	if p.ended && (text(pod, "status", "phase") == "Failed" || isForever(pod)) {
		p.failed = endedAt(pod)
	}
	return p
}

// restartedAt returns when the present run of a container began, if it had another one before.
func restartedAt(status map[string]any) (time.Time, bool) {
	restarts, _ := wholeNumber(status["restartCount"])
	if restarts == 0 && valueAt(status, "lastState", "terminated") == nil || !isRunning(status) {
		return time.Time{}, false
	}
	began, err := time.Parse(time.RFC3339, str(status, "state", "running", "startedAt"))
	return began, err == nil
}

// isForever reports whether the containers of a pod are to run until it is deleted.
func isForever(pod *unstructured.Unstructured) bool {
	return text(pod, "spec", "restartPolicy") == "Always"
}

// endedAt returns when a pod ended: when its last container did, or, without one, when the kubelet
// rejected it.
func endedAt(pod *unstructured.Unstructured) time.Time {
	last := max(text(pod, "status", "startTime"), ConditionOf(pod, "Ready").time)
	for _, status := range list(pod, "status", "containerStatuses") {
		last = max(last, str(status, "state", "terminated", "finishedAt"))
	}
	at, _ := time.Parse(time.RFC3339, last)
	return at
}

// settled returns the time from which the pod says nothing against its workload, given how long a
// container has to run after a restart, and what it says before that.
func (p *PodRuns) settled(hold time.Duration) (until time.Time, s Status) {
	switch {
	case p.leaving, p.failed.IsZero() && (p.ended || p.restarted.IsZero()):
		return time.Time{}, Status{}
	case !p.failed.IsZero():
		return p.failed.Add(hold), inProgress("PodFailed", fmt.Sprintf(
			"Pod %s has ended; the pods have to run for %s after that", p.Ref.Name, hold))
	}
	return p.restarted.Add(hold), inProgress("ContainerRestarted", fmt.Sprintf(
		"Container %s of pod %s was restarted and has to run for %s", p.container, p.Ref.Name, hold))
}

// PodSet holds the runs of pods by their controllers. It must not be used concurrently.
type PodSet struct {
	pods    map[object.Ref]*PodRuns
	byOwner map[podOwner]map[object.Ref]*PodRuns
}

// podOwner is a controller of pods: by its UID, or a Deployment by its name.
type podOwner struct {
	uid             types.UID
	namespace, name string
}

// owners returns the keys by which a pod is found.
func (p *PodRuns) owners() []podOwner {
	keys := []podOwner{{uid: p.owner}}
	if p.deployment != "" {
		keys = append(keys, podOwner{namespace: p.Ref.Namespace, name: p.deployment})
	}
	return keys
}

// NewPodSet returns an empty set.
func NewPodSet() *PodSet {
	return &PodSet{map[object.Ref]*PodRuns{}, map[podOwner]map[object.Ref]*PodRuns{}}
}

// Add adds a pod or replaces its earlier state.
func (s *PodSet) Add(p *PodRuns) {
	s.Delete(p.Ref)
	s.pods[p.Ref] = p
	for _, key := range p.owners() {
		if s.byOwner[key] == nil {
			s.byOwner[key] = map[object.Ref]*PodRuns{}
		}
		s.byOwner[key][p.Ref] = p
	}
}

// Delete removes a pod.
func (s *PodSet) Delete(ref object.Ref) {
	p := s.pods[ref]
	if p == nil {
		return
	}
	delete(s.pods, ref)
	for _, key := range p.owners() {
		if delete(s.byOwner[key], ref); len(s.byOwner[key]) == 0 {
			delete(s.byOwner, key)
		}
	}
}

// of returns the pods of a workload, by name.
func (s *PodSet) of(w *Workload) []*PodRuns {
	if w.pod != nil {
		return []*PodRuns{w.pod}
	}
	found := make([]*PodRuns, 0, len(s.byOwner[w.owner]))
	for _, p := range s.byOwner[w.owner] {
		found = append(found, p)
	}
	slices.SortFunc(found, func(a, b *PodRuns) int { return strings.Compare(a.Ref.Name, b.Ref.Name) })
	return found
}
