package kubelet

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// judge derives phase and conditions from the states of the containers.
func (l *life) judge() {
	l.status.Phase = l.phase()
	l.status.ObservedGeneration = l.pod.Generation
	l.set(corev1.PodScheduled, corev1.ConditionTrue, "", "")
	if l.terminal() || l.status.PodIP == "" {
		l.set(corev1.PodReadyToStartContainers, corev1.ConditionFalse, "", "")
	} else {
		l.set(corev1.PodReadyToStartContainers, corev1.ConditionTrue, "", "")
	}
	l.judgeInitialized()
	status, reason, message := l.containersReady()
	l.set(corev1.ContainersReady, status, reason, message)
	if status == corev1.ConditionTrue {
		status, reason, message = l.gatesReady()
	}
	l.set(corev1.PodReady, status, reason, message)
}

func (l *life) terminal() bool {
	return l.status.Phase == corev1.PodSucceeded || l.status.Phase == corev1.PodFailed
}

// phase follows the kubelet: running while anything runs or will run again, pending until all is
// initialized.
func (l *life) phase() corev1.PodPhase {
	if l.status.Phase == corev1.PodSucceeded || l.status.Phase == corev1.PodFailed {
		return l.status.Phase
	}
	if l.pod.DeletionTimestamp != nil {
		return l.lastPhase()
	}
	var waiting, alive, broken, initializing bool
	l.each(func(c *corev1.Container, s *corev1.ContainerStatus, main bool) {
		ended := s.State.Terminated
		switch {
		case ended != nil && !l.final(c, s, main):
			alive = alive || main
			initializing = initializing || !main && !sidecar(c)
		case ended != nil:
			broken = broken || ended.ExitCode != 0
		case !main:
			initializing = initializing || !sidecar(c)
		case s.State.Running != nil || s.LastTerminationState.Terminated != nil:
			alive = true
		default:
			waiting = true
		}
	})
	switch {
	case broken && !alive:
		return corev1.PodFailed
	case waiting || initializing:
		return corev1.PodPending
	case alive:
		return corev1.PodRunning
	}
	return corev1.PodSucceeded
}

// lastPhase returns the phase of a pod that is being deleted: Failed, unless all containers have
// succeeded.
func (l *life) lastPhase() corev1.PodPhase {
	phase := corev1.PodSucceeded
	running := false
	l.each(func(_ *corev1.Container, s *corev1.ContainerStatus, _ bool) {
		running = running || s.State.Running != nil
		if s.State.Terminated == nil || s.State.Terminated.ExitCode != 0 {
			phase = corev1.PodFailed
		}
	})
	if running {
		return l.status.Phase
	}
	return phase
}

// final reports whether a container that ended stays ended.
func (l *life) final(c *corev1.Container, s *corev1.ContainerStatus, main bool) bool {
	switch policy := l.pod.Spec.RestartPolicy; {
	case sidecar(c):
		return s.State.Terminated.ExitCode == 0
	case policy == corev1.RestartPolicyNever:
		return true
	case policy == corev1.RestartPolicyOnFailure || !main:
		return s.State.Terminated.ExitCode == 0
	}
	return false
}

func (l *life) judgeInitialized() {
	var incomplete []string
	begun := false
	for _, s := range l.status.ContainerStatuses {
		begun = begun || s.State.Waiting == nil || s.LastTerminationState.Terminated != nil
	}
	for i, s := range l.status.InitContainerStatuses {
		done := begun || s.State.Terminated != nil && s.State.Terminated.ExitCode == 0
		if sidecar(&l.pod.Spec.InitContainers[i]) {
			done = s.State.Running != nil || done
		}
		if !done {
			incomplete = append(incomplete, s.Name)
		}
	}
	switch {
	case l.status.Phase == corev1.PodSucceeded:
		l.set(corev1.PodInitialized, corev1.ConditionTrue, "PodCompleted", "")
	case len(incomplete) > 0:
		l.set(corev1.PodInitialized, corev1.ConditionFalse, "ContainersNotInitialized",
			fmt.Sprintf("containers with incomplete status: %s", incomplete))
	default:
		l.set(corev1.PodInitialized, corev1.ConditionTrue, "", "")
	}
}

func (l *life) containersReady() (corev1.ConditionStatus, string, string) {
	switch l.status.Phase {
	case corev1.PodSucceeded:
		return corev1.ConditionFalse, "PodCompleted", ""
	case corev1.PodFailed:
		return corev1.ConditionFalse, "PodFailed", ""
	}
	var unready []string
	l.each(func(c *corev1.Container, s *corev1.ContainerStatus, main bool) {
		if (main || sidecar(c)) && !s.Ready {
			unready = append(unready, c.Name)
		}
	})
	if len(unready) > 0 {
		return corev1.ConditionFalse, "ContainersNotReady", fmt.Sprintf(
			"containers with unready status: %s",
			unready,
		)
	}
	return corev1.ConditionTrue, "", ""
}

// gatesReady judges the conditions that the pod's readiness gates ask for. Others set them.
func (l *life) gatesReady() (corev1.ConditionStatus, string, string) {
	var unready []string
	for _, gate := range l.pod.Spec.ReadinessGates {
		found := l.condition(gate.ConditionType)
		if found == nil {
			unready = append(
				unready,
				fmt.Sprintf("corresponding condition of pod readiness gate %q does not exist.",
					gate.ConditionType),
			)
		} else if found.Status != corev1.ConditionTrue {
			unready = append(unready,
				fmt.Sprintf("the status of pod readiness gate %q is not \"True\", but %v",
					gate.ConditionType, found.Status))
		}
	}
	if len(unready) > 0 {
		return corev1.ConditionFalse, "ReadinessGatesNotReady", strings.Join(unready, ", ")
	}
	return corev1.ConditionTrue, "", ""
}

func (l *life) condition(kind corev1.PodConditionType) *corev1.PodCondition {
	for i := range l.status.Conditions {
		if l.status.Conditions[i].Type == kind {
			return &l.status.Conditions[i]
		}
	}
	return nil
}

// set writes a condition; its transition time changes only when its status does.
func (l *life) set(
	kind corev1.PodConditionType,
	status corev1.ConditionStatus,
	reason, message string,
) {
	found := l.condition(kind)
	if found == nil {
		l.status.Conditions = append(l.status.Conditions, corev1.PodCondition{Type: kind})
		found = &l.status.Conditions[len(l.status.Conditions)-1]
	}
	if found.Status != status {
		found.Status, found.LastTransitionTime = status, l.now
	}
	found.Reason, found.Message, found.ObservedGeneration = reason, message, l.pod.Generation
}
