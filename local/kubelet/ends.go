package kubelet

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// exited ends the containers that are to end, and sidecars if the pod is done.
func (l *life) exited() {
	l.each(func(c *corev1.Container, s *corev1.ContainerStatus, main bool) {
		if l.wishes.hits(c.Name, main) && s.State.Running != nil {
			l.end(c, s, l.wishes.code)
		}
	})
	if phase := l.phase(); phase != corev1.PodSucceeded && phase != corev1.PodFailed {
		return
	}
	l.each(func(c *corev1.Container, s *corev1.ContainerStatus, _ bool) {
		if sidecar(c) && s.State.Running != nil {
			l.end(c, s, 0)
		}
	})
}

// killsAtOnce is how often a kubelet restarts a container that it killed without a back-off.
const killsAtOnce = 2

// killed ends the container whose probe failed. A kubelet writes the state after the restart, or
// after the restart was put off.
func (l *life) killed() {
	l.each(func(c *corev1.Container, s *corev1.ContainerStatus, main bool) {
		if !l.wishes.hits(c.Name, main) || s.State.Running == nil {
			return
		}
		l.end(c, s, l.wishes.code)
		if s.RestartCount < killsAtOnce {
			l.run(c, s, l.wishes.passes(c))
		} else {
			l.backOff(c, s)
		}
	})
}

// backedOff sets the wait of the kubelet before a restart.
func (l *life) backedOff() {
	l.each(func(c *corev1.Container, s *corev1.ContainerStatus, main bool) {
		switch waiting := s.State.Waiting; {
		case s.State.Terminated != nil && !l.final(c, s, main),
			waiting != nil && startFailed(waiting.Reason):
			l.backOff(c, s)
		}
	})
}

func (l *life) backOff(c *corev1.Container, s *corev1.ContainerStatus) {
	if s.State.Terminated != nil {
		s.LastTerminationState = corev1.ContainerState{Terminated: s.State.Terminated}
	}
	wait(s, crashLoopBackOff, fmt.Sprintf("back-off %s restarting failed container=%s pod=%s",
		backOff(max(s.RestartCount, 1)), c.Name, l.title()))
}

// backOff returns the delay that a kubelet reports before a restart.
func backOff(restarts int32) time.Duration {
	const first, longest = 10 * time.Second, 5 * time.Minute
	if restarts > 5 {
		return longest
	}
	return first << (restarts - 1)
}

// restarted starts the containers that ended, or whose back-off is over.
func (l *life) restarted() {
	l.each(func(c *corev1.Container, s *corev1.ContainerStatus, main bool) {
		switch waiting := s.State.Waiting; {
		case s.State.Terminated != nil && !l.final(c, s, main),
			waiting != nil && waiting.Reason == crashLoopBackOff:
			l.run(c, s, (main || sidecar(c)) && l.wishes.passes(c))
		}
	})
}

// evictionMessage is the message of a pod that wrote more than its volume may hold.
const evictionMessage = `Usage of EmptyDir volume "cache" exceeds the limit "1Mi". `

// evicted ends the pod by the kubelet's decision. The kubelet does not know how its containers
// ended.
func (l *life) evicted() {
	l.each(func(c *corev1.Container, s *corev1.ContainerStatus, main bool) {
		if s.State.Running == nil {
			return
		}
		l.end(c, s, 137)
		s.State.Terminated.Reason = "ContainerStatusUnknown"
		s.State.Terminated.Message = "The container could not be located when the pod was terminated"
		s.LastTerminationState, s.RestartCount = *s.State.DeepCopy(), s.RestartCount+1
	})
	l.status.Phase, l.status.Reason, l.status.Message = corev1.PodFailed, "Evicted", evictionMessage
	l.set(corev1.DisruptionTarget, corev1.ConditionTrue, corev1.PodReasonTerminationByKubelet,
		evictionMessage)
}
