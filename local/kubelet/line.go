package kubelet

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Line returns the status of a pod in one line, as the recorded sequences of a real kubelet have
// it: phase, reason, and of each container the state, the number of restarts, whether it is ready
// ("+" or "-"), and how it ended last.
func Line(pod *corev1.Pod) string {
	var containers []string
	for _, list := range [][]corev1.ContainerStatus{
		pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses,
	} {
		for _, s := range list {
			containers = append(containers, containerLine(&s))
		}
	}
	line := fmt.Sprintf("%s %s %s", pod.Status.Phase, pod.Status.Reason,
		strings.Join(containers, " | "))
	if pod.DeletionTimestamp != nil {
		line += " DELETING"
	}
	return line
}

func containerLine(s *corev1.ContainerStatus) string {
	line := s.Name + ":"
	switch {
	case s.State.Waiting != nil:
		line += "waiting/" + s.State.Waiting.Reason
	case s.State.Running != nil:
		line += "running/"
	case s.State.Terminated != nil:
		line += "terminated/" + ending(s.State.Terminated)
	default:
		line += "-/"
	}
	line += fmt.Sprintf(" r%d", s.RestartCount) + map[bool]string{true: "+", false: "-"}[s.Ready]
	if last := s.LastTerminationState.Terminated; last != nil {
		line += " last=" + ending(last)
	}
	return line
}

func ending(t *corev1.ContainerStateTerminated) string {
	return fmt.Sprintf("%s(%d)", t.Reason, t.ExitCode)
}
