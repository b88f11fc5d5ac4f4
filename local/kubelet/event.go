package kubelet

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// notice makes one kind of event about one container of a pod.
type notice func(pod *corev1.Pod, c *corev1.Container) (kind, reason, message string)

// notices returns the events that a stage can name.
func notices() map[string]notice {
	warning := func(reason string, message func(*corev1.Pod, *corev1.Container) string) notice {
		return func(pod *corev1.Pod, c *corev1.Container) (string, string, string) {
			return corev1.EventTypeWarning, reason, message(pod, c)
		}
	}
	return map[string]notice{
		"pullFailed": warning("Failed", func(_ *corev1.Pod, c *corev1.Container) string {
			return fmt.Sprintf("Failed to pull image %q: %s", c.Image, pullError(c.Image))
		}),
		"pullError": warning(
			"Failed",
			func(*corev1.Pod, *corev1.Container) string { return "Error: " + errImagePull },
		),
		"pullBackOff": func(_ *corev1.Pod, c *corev1.Container) (string, string, string) {
			return corev1.EventTypeNormal, "BackOff", fmt.Sprintf("Back-off pulling image %q", c.Image)
		},
		"pullWaiting": warning(
			"Failed",
			func(*corev1.Pod, *corev1.Container) string { return "Error: " + imagePullBackOff },
		),
		"crashBackOff": warning("BackOff", func(pod *corev1.Pod, c *corev1.Container) string {
			return fmt.Sprintf(
				"Back-off restarting failed container %s in pod %s",
				c.Name,
				(&life{pod: pod}).title(),
			)
		}),
		"probeFailed": warning("Unhealthy", func(*corev1.Pod, *corev1.Container) string {
			return "Readiness probe failed: HTTP probe failed with statuscode: 503"
		}),
	}
}

// Event makes the event of that name about the first container of the pod that misbehaves. The same
// event about the same pod has the same name, so that writing it again counts it up.
func Event(name string, pod *corev1.Pod, now time.Time) (*corev1.Event, error) {
	describe, ok := notices()[name]
	if !ok {
		return nil, fmt.Errorf("no event %q", name)
	}
	c, path := culprit(pod)
	kind, reason, message := describe(pod, c)
	at := metav1.NewTime(now).Rfc3339Copy()
	first := at
	if pod.Status.StartTime != nil {
		first = *pod.Status.StartTime
	}
	event := &corev1.Event{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Event"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: pod.Namespace,
			Name:      pod.Name + "." + digest(string(pod.UID) + reason + message)[:16],
		},
		InvolvedObject: corev1.ObjectReference{
			APIVersion: "v1", Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID,
			FieldPath: path,
		},
		Type: kind, Reason: reason, Message: message, Count: 1,
		Source:              corev1.EventSource{Component: "kubelet", Host: pod.Spec.NodeName},
		ReportingController: "kubelet", ReportingInstance: pod.Spec.NodeName,
		FirstTimestamp: first, LastTimestamp: at,
	}
	for _, s := range pod.Status.ContainerStatuses {
		if s.Name == c.Name {
			event.Count = max(1, s.RestartCount)
		}
	}
	return event, nil
}

// culprit finds the container that misbehaves, and its path in the pod.
func culprit(pod *corev1.Pod) (*corev1.Container, string) {
	w := read(pod)
	for i := range pod.Spec.InitContainers {
		if c := &pod.Spec.InitContainers[i]; w.hits(c.Name, false) {
			return c, fmt.Sprintf("spec.initContainers{%s}", c.Name)
		}
	}
	for i := range pod.Spec.Containers {
		if c := &pod.Spec.Containers[i]; w.hits(c.Name, true) {
			return c, fmt.Sprintf("spec.containers{%s}", c.Name)
		}
	}
	c := &pod.Spec.Containers[0]
	return c, fmt.Sprintf("spec.containers{%s}", c.Name)
}
