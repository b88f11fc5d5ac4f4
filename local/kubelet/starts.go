package kubelet

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// startFailure is a way in which a container fails to start.
type startFailure struct {
	waiting string // the reason of the state of the container
	end     corev1.ContainerStateTerminated
	message func(l *life, c *corev1.Container) string
}

// startFailures returns the failures by behaviour.
func startFailures() map[string]startFailure {
	never := metav1.NewTime(time.Unix(0, 0).UTC())
	return map[string]startFailure{
		StartError: {
			waiting: runContainerError,
			end: corev1.ContainerStateTerminated{
				ExitCode: 128, Reason: "StartError", StartedAt: never,
			},
			message: func(_ *life, c *corev1.Container) string { return notFound(c) },
		},
		HookError: {
			waiting: postStartHookError,
			end:     corev1.ContainerStateTerminated{Reason: completed},
			message: func(l *life, c *corev1.Container) string {
				return fmt.Sprintf("Exec lifecycle hook ([/bin/prepare]) for Container %q in Pod %q failed - "+
					"error: command '/bin/prepare' exited with 9: no database\n, message: \"no database\\n\"",
					c.Name, l.title())
			},
		},
	}
}

// startFailed reports whether a waiting container failed to start.
func startFailed(reason string) bool {
	return reason == runContainerError || reason == postStartHookError
}

// notFound returns the error of a runtime that does not find the program of a container.
func notFound(c *corev1.Container) string {
	program := "/bin/nothing"
	if len(c.Command) > 0 {
		program = c.Command[0]
	}
	return fmt.Sprintf("failed to create containerd task: failed to create shim task: OCI runtime "+
		"create failed: runc create failed: unable to start container process: exec: %q: stat %s: "+
		"no such file or directory", program, program)
}

// startFails sets the failure to start the container that misbehaves, one more if it failed before.
func (l *life) startFails() {
	failure, ok := startFailures()[l.wishes.behaviour]
	if !ok {
		return
	}
	l.block(func(c *corev1.Container, s *corev1.ContainerStatus) {
		if s.LastTerminationState.Terminated != nil {
			s.RestartCount++
		}
		s.ContainerID, s.ImageID = l.containerID(s), imageID(c)
		end := failure.end
		end.FinishedAt, end.ContainerID = l.now, s.ContainerID
		if end.ExitCode == 0 {
			end.StartedAt = l.now
		} else {
			end.Message = failure.message(l, c)
		}
		s.LastTerminationState = corev1.ContainerState{Terminated: &end}
		wait(s, failure.waiting, failure.message(l, c))
	})
}
