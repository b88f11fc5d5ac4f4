package kubelet

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Reasons that a kubelet gives for the state of a container.
const (
	containerCreating  = "ContainerCreating"
	podInitializing    = "PodInitializing"
	errImagePull       = "ErrImagePull"
	imagePullBackOff   = "ImagePullBackOff"
	runContainerError  = "RunContainerError"
	postStartHookError = "PostStartHookError"
	crashLoopBackOff   = "CrashLoopBackOff"
	completed          = "Completed"
	failed             = "Error"
)

// Step is one step in the life of a pod. It returns the whole next status, and leaves the pod as it
// is.
type Step func(pod *corev1.Pod, now time.Time) corev1.PodStatus

// Steps returns the steps that a stage can name.
func Steps() map[string]Step {
	return map[string]Step{
		"created":    step((*life).created),
		"pullFails":  step((*life).pullFails),
		"pullWaits":  step((*life).pullWaits),
		"startFails": step((*life).startFails),
		"started":    step((*life).started),
		"ready":      step((*life).ready),
		"updated":    step((*life).updated),
		"exited":     step((*life).exited),
		"killed":     step((*life).killed),
		"backedOff":  step((*life).backedOff),
		"restarted":  step((*life).restarted),
		"evicted":    step((*life).evicted),
		"stopped":    step((*life).stopped),
	}
}

// life is a pod while one step is taken.
type life struct {
	pod    *corev1.Pod
	status corev1.PodStatus
	wishes wishes
	now    metav1.Time
}

func step(take func(*life)) Step {
	return func(pod *corev1.Pod, now time.Time) corev1.PodStatus {
		l := &life{
			pod:    pod,
			status: *pod.Status.DeepCopy(),
			wishes: read(pod),
			now:    metav1.NewTime(now).Rfc3339Copy(),
		}
		l.fill()
		take(l)
		l.judge()
		return l.status
	}
}

// fill adds what every status of a kubelet has.
func (l *life) fill() {
	if l.status.StartTime == nil {
		l.status.StartTime = &l.now
	}
	reason := containerCreating
	if len(l.pod.Spec.InitContainers) > 0 {
		reason = podInitializing
	}
	l.status.InitContainerStatuses = fillStatuses(
		l.status.InitContainerStatuses,
		l.pod.Spec.InitContainers,
		reason,
	)
	l.status.ContainerStatuses = fillStatuses(
		l.status.ContainerStatuses,
		l.pod.Spec.Containers,
		reason,
	)
}

// fillStatuses adds a status for each container, in the order of the containers.
func fillStatuses(
	have []corev1.ContainerStatus,
	containers []corev1.Container,
	reason string,
) []corev1.ContainerStatus {
	var out []corev1.ContainerStatus
	for _, c := range containers {
		status := corev1.ContainerStatus{Name: c.Name, Started: new(bool)}
		status.State.Waiting = &corev1.ContainerStateWaiting{Reason: reason}
		for _, h := range have {
			if h.Name == c.Name {
				status = h
			}
		}
		status.Image = c.Image
		out = append(out, status)
	}
	return out
}

// each calls f for every container, those that initialize first.
func (l *life) each(f func(c *corev1.Container, s *corev1.ContainerStatus, main bool)) {
	for i := range l.pod.Spec.InitContainers {
		f(&l.pod.Spec.InitContainers[i], &l.status.InitContainerStatuses[i], false)
	}
	for i := range l.pod.Spec.Containers {
		f(&l.pod.Spec.Containers[i], &l.status.ContainerStatuses[i], true)
	}
}

// sidecar reports whether an init container keeps running beside the main ones.
func sidecar(c *corev1.Container) bool {
	return c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
}

// run starts a container, again if it ran before.
func (l *life) run(c *corev1.Container, s *corev1.ContainerStatus, ready bool) {
	if s.State.Terminated != nil {
		s.LastTerminationState = corev1.ContainerState{Terminated: s.State.Terminated}
	}
	if s.LastTerminationState.Terminated != nil {
		s.RestartCount++
	}
	s.State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: l.now}}
	s.ContainerID = l.containerID(s)
	s.ImageID = imageID(c)
	// A startup probe that is to fail has not succeeded.
	s.Started = new(ready || c.StartupProbe == nil || l.wishes.behaviour != LivenessKill)
	s.Ready = ready
}

// end ends a container with an exit code.
func (l *life) end(c *corev1.Container, s *corev1.ContainerStatus, code int32) {
	started := l.now
	if s.State.Running != nil {
		started = s.State.Running.StartedAt
	} else {
		l.run(c, s, false)
	}
	reason := completed
	if code != 0 {
		reason = failed
	}
	s.State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
		ExitCode: code, Reason: reason, StartedAt: started, FinishedAt: l.now, ContainerID: s.ContainerID,
	}}
	s.Started, s.Ready = new(bool), !sidecar(c) && code == 0 && !l.main(c)
}

func (l *life) main(c *corev1.Container) bool {
	for i := range l.pod.Spec.Containers {
		if l.pod.Spec.Containers[i].Name == c.Name {
			return true
		}
	}
	return false
}

func wait(s *corev1.ContainerStatus, reason, message string) {
	s.State = corev1.ContainerState{
		Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message},
	}
	s.Ready, s.Started = false, new(bool)
}

// containerID makes up an id that stays the same for one run of one container.
func (l *life) containerID(s *corev1.ContainerStatus) string {
	return "containerd://" + digest(fmt.Sprintf("%s/%s/%d", l.pod.UID, s.Name, s.RestartCount))
}

// imageID makes up an id that stays the same for one image.
func imageID(c *corev1.Container) string { return "sha256:" + digest(c.Image) }

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
