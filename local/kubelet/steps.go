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
	l.block(func(c *corev1.Container, s *corev1.ContainerStatus) {
		wait(s, errImagePull, pullError(c.Image))
	})
}

// block starts what can start beside a container that cannot, and calls fail for that one.
func (l *life) block(fail func(c *corev1.Container, s *corev1.ContainerStatus)) {
	l.each(func(c *corev1.Container, s *corev1.ContainerStatus, main bool) {
		switch {
		case l.wishes.hits(c.Name, main):
			fail(c, s)
		case s.State.Waiting == nil:
		case main && l.initialized() || sidecar(c):
			l.run(c, s, true)
		case !main && l.before(c.Name):
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

// started ends the init containers and starts the main ones. An init container that is to end with
// an error runs first, and blocks the rest.
func (l *life) started() {
	blocked := false
	l.each(func(c *corev1.Container, s *corev1.ContainerStatus, main bool) {
		hit := l.wishes.hits(c.Name, main)
		switch {
		case blocked || s.State.Running != nil && !hit:
		case main || sidecar(c):
			l.run(c, s, !hit || l.wishes.passes(c))
		case s.State.Terminated != nil && s.State.Terminated.ExitCode == 0:
		case hit && l.wishes.exits && l.wishes.code != 0:
			l.run(c, s, false)
			blocked = true
		default:
			l.end(c, s, 0)
		}
	})
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

// stopped ends the containers of a deleted pod. Containers of a pod that runs to completion were
// interrupted; others stop normally, unless they need longer than the grace period.
func (l *life) stopped() {
	code := int32(0)
	grace := l.pod.DeletionGracePeriodSeconds
	switch {
	case grace != nil && l.wishes.stop > time.Duration(*grace)*time.Second:
		code = 137
	case l.pod.Spec.RestartPolicy != corev1.RestartPolicyAlways:
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
