package kubelet

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// text makes the message of an event about one container of a pod.
type text func(pod *corev1.Pod, c *corev1.Container) string

// notice is one kind of event about one container of a pod.
type notice struct {
	kind, reason string
	text         text
	more         int32 // how many more of these events there are than restarts
}

func warning(reason string, t text) notice { return notice{corev1.EventTypeWarning, reason, t, 0} }

func normal(reason string, t text) notice { return notice{corev1.EventTypeNormal, reason, t, 0} }

// plus returns the notice with a number of events beyond that of restarts.
func (n notice) plus(more int32) notice {
	n.more = more
	return n
}

func plain(message string) text {
	return func(*corev1.Pod, *corev1.Container) string { return message }
}

// image makes a message with the image of the container.
func image(format string) text {
	return func(_ *corev1.Pod, c *corev1.Container) string { return fmt.Sprintf(format, c.Image) }
}

// notices returns the events that a stage can name.
func notices() map[string]notice {
	return map[string]notice{
		"pulling": normal("Pulling", image("Pulling image %q")),
		"pulled": normal("Pulled", image("Container image %q already present on machine and can be "+
			"accessed by the pod")).plus(2),
		"create": normal("Created", plain("Container created")).plus(2),
		"start":  normal("Started", plain("Container started")).plus(2),
		"pullFailed": warning("Failed", func(_ *corev1.Pod, c *corev1.Container) string {
			return fmt.Sprintf("Failed to pull image %q: %s", c.Image, pullError(c.Image))
		}),
		"pullError":   warning("Failed", plain("Error: "+errImagePull)),
		"pullBackOff": normal("BackOff", image("Back-off pulling image %q")),
		"pullWaiting": warning("Failed", plain("Error: "+imagePullBackOff)),
		"notStarted": warning("Failed", func(_ *corev1.Pod, c *corev1.Container) string {
			return "Error: " + notFound(c)
		}).plus(1),
		"hookFailed":  warning("FailedPostStartHook", plain("PostStartHook failed")).plus(1),
		"hookKilling": normal("Killing", plain("FailedPostStartHook")).plus(1),
		"crashBackOff": warning("BackOff", func(pod *corev1.Pod, c *corev1.Container) string {
			return fmt.Sprintf("Back-off restarting failed container %s in pod %s",
				c.Name, (&life{pod: pod}).title())
		}),
		"probeFailed": warning("Unhealthy", unready),
		"livenessFailed": warning("Unhealthy", func(_ *corev1.Pod, c *corev1.Container) string {
			return killer(c) + " probe failed: HTTP probe failed with statuscode: 503"
		}).plus(1),
		"killing": normal("Killing", func(_ *corev1.Pod, c *corev1.Container) string {
			return fmt.Sprintf("Container %s failed %s probe, will be restarted",
				c.Name, strings.ToLower(killer(c)))
		}).plus(1),
		"evicted": warning("Evicted", plain(evictionMessage)),
		"stopping": normal("Killing", func(_ *corev1.Pod, c *corev1.Container) string {
			return "Stopping container " + c.Name
		}),
	}
}

// killer names the probe whose failure ends a container.
func killer(c *corev1.Container) string {
	if c.StartupProbe != nil {
		return "Startup"
	}
	return "Liveness"
}

// unready returns the message of a readiness probe: of a program that says no, or that does not
// listen yet.
func unready(pod *corev1.Pod, c *corev1.Container) string {
	if read(pod).behaviour == NeverReady {
		return "Readiness probe failed: HTTP probe failed with statuscode: 503"
	}
	ip := cmp.Or(pod.Status.PodIP, "10.0.0.1") // the stage that starts the pod sees none
	at := ip + ":8080"
	if probe := c.ReadinessProbe; probe != nil && probe.HTTPGet != nil {
		at = ip + ":" + probe.HTTPGet.Port.String()
		return fmt.Sprintf("Readiness probe failed: Get \"http://%s%s\": dial tcp %s: connect: "+
			"connection refused", at, probe.HTTPGet.Path, at)
	}
	return fmt.Sprintf("Readiness probe failed: dial tcp %s: connect: connection refused", at)
}

// Event makes the event of that name about the first container of the pod that misbehaves. The same
// event about the same pod has the same name, so that writing it again counts it up.
func Event(name string, pod *corev1.Pod, now time.Time) (*corev1.Event, error) {
	notice, ok := notices()[name]
	if !ok {
		return nil, fmt.Errorf("no event %q", name)
	}
	c, path := culprit(pod)
	reason, message := notice.reason, notice.text(pod, c)
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
		Type: notice.kind, Reason: reason, Message: message, Count: 1,
		Source:              corev1.EventSource{Component: "kubelet", Host: pod.Spec.NodeName},
		ReportingController: "kubelet", ReportingInstance: pod.Spec.NodeName,
		FirstTimestamp: first, LastTimestamp: at,
	}
	if s := statusOf(pod, c.Name); s != nil && s.ContainerID != "" {
		event.Count = max(1, s.RestartCount+notice.more)
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
