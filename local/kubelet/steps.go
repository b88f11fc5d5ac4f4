package kubelet

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// created sets the state of a pod that the kubelet has seen.
func (l *life) created() {}

// pullFails sets the failure to pull the image of the container that misbehaves.
func (l *life) pullFails() {
	l.each(func(c *corev1.Container, s *corev1.ContainerStatus, main bool) {
		if l.wishes.hits(c.Name, main) {
			wait(s, errImagePull, pullError(c.Image))
		} else if main && l.initialized() || sidecar(c) {
			l.run(c, s, true)
		} else if !main && l.before(c.Name) {
			l.end(c, s, 0)
		}
	})
}

// pullWaits sets the wait of the kubelet before it pulls again.
func (l *life) pullWaits() {
	l.each(func(c *corev1.Container, s *corev1.ContainerStatus, _ bool) {
		if w := s.State.Waiting; w != nil && w.Reason == errImagePull {
			wait(
				s,
				imagePullBackOff,
				fmt.Sprintf("Back-off pulling image %q: ErrImagePull: %s", c.Image, w.Message),
			)
		}
	})
}

func pullError(image string) string {
	return fmt.Sprintf("rpc error: code = NotFound desc = failed to pull and unpack image %q: "+
		"failed to resolve reference %q: %s: not found", image, image, image)
}

// started ends the init containers and starts the main ones. An init container that crashes blocks
// the rest.
func (l *life) started() {
	blocked := false
	l.each(func(c *corev1.Container, s *corev1.ContainerStatus, main bool) {
		hit := l.wishes.hits(c.Name, main)
		switch {
		case blocked || s.State.Running != nil && !hit:
		case main || sidecar(c):
			l.run(c, s, !hit || l.promptlyReady())
		case s.State.Terminated != nil && s.State.Terminated.ExitCode == 0:
		case hit && l.wishes.exits && l.wishes.code != 0:
			l.end(c, s, l.wishes.code)
			blocked = true
		default:
			l.end(c, s, 0)
		}
	})
}

// promptlyReady reports whether the container that misbehaves is ready as soon as it runs.
func (l *life) promptlyReady() bool {
	return !l.wishes.slow && l.wishes.behaviour != NeverReady && l.wishes.behaviour != CrashLoop
}

// ready makes the readiness probes pass.
func (l *life) ready() {
	l.each(func(_ *corev1.Container, s *corev1.ContainerStatus, _ bool) {
		if s.State.Running != nil {
			s.Ready = true
		}
	})
}

// updated restarts containers whose image was changed, with the new one.
func (l *life) updated() {
	l.each(func(c *corev1.Container, s *corev1.ContainerStatus, main bool) {
		if main && s.State.Running != nil && s.ImageID != imageID(c) {
			ready := s.Ready
			l.end(c, s, 0)
			l.run(c, s, ready)
		}
	})
}

// exited ends the container that is to end.
func (l *life) exited() {
	l.each(func(c *corev1.Container, s *corev1.ContainerStatus, main bool) {
		if l.wishes.hits(c.Name, main) && s.State.Running != nil {
			l.end(c, s, l.wishes.code)
		}
	})
	if l.phase() == corev1.PodRunning {
		return
	}
	l.each(func(c *corev1.Container, s *corev1.ContainerStatus, _ bool) {
		if sidecar(c) && s.State.Running != nil {
			l.end(c, s, 0)
		}
	})
}

// backedOff sets the wait of the kubelet before a restart, after a container ended too often. A
// kubelet does the first restart at once, so the container has crashed a second time.
func (l *life) backedOff() {
	l.each(func(c *corev1.Container, s *corev1.ContainerStatus, main bool) {
		if s.State.Terminated == nil || l.final(c, s, main) {
			return
		}
		s.RestartCount = max(s.RestartCount, 1)
		s.LastTerminationState = corev1.ContainerState{Terminated: s.State.Terminated}
		wait(s, crashLoopBackOff, fmt.Sprintf("back-off %s restarting failed container=%s pod=%s",
			backOff(s.RestartCount), c.Name, l.title()))
	})
}

// crashed starts a container and ends it again.
func (l *life) crashed() {
	l.each(func(c *corev1.Container, s *corev1.ContainerStatus, _ bool) {
		if s.State.Waiting != nil && s.State.Waiting.Reason == crashLoopBackOff {
			s.RestartCount++
			l.end(c, s, l.wishes.code)
		}
	})
}

// backOff returns the delay that a kubelet reports before a restart.
func backOff(restarts int32) time.Duration {
	const first, longest = 10 * time.Second, 5 * time.Minute
	if restarts > 5 {
		return longest
	}
	return first << (restarts - 1)
}

// stopped ends the containers of a deleted pod. Containers of a pod that runs to completion were
// interrupted; others stop normally.
func (l *life) stopped() {
	code := int32(0)
	if l.pod.Spec.RestartPolicy != corev1.RestartPolicyAlways {
		code = 143
	}
	l.each(func(c *corev1.Container, s *corev1.ContainerStatus, _ bool) {
		if s.State.Running != nil {
			l.end(c, s, code)
		}
	})
}

// title names the pod as a kubelet does in messages.
func (l *life) title() string {
	return fmt.Sprintf("%s_%s(%s)", l.pod.Name, l.pod.Namespace, l.pod.UID)
}

// before reports whether an init container comes before the one that misbehaves.
func (l *life) before(name string) bool {
	for _, c := range l.pod.Spec.InitContainers {
		switch c.Name {
		case l.wishes.container:
			return false
		case name:
			return true
		}
	}
	return false
}

// initialized reports whether every init container is done, or will be as none of them misbehaves.
func (l *life) initialized() bool {
	for _, c := range l.pod.Spec.InitContainers {
		if c.Name == l.wishes.container {
			return false
		}
	}
	return true
}
