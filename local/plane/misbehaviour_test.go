package plane_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"
)

func imagePullError(t *testing.T, client kubernetes.Interface) {
	newPod(t, client, "pull", "behaviour", "image-pull-error")
	pod := podUntil(t, client, "pull",
		"Pending, Ready=False ContainersNotReady, main waiting ImagePullBackOff restarts 0")
	message := pod.Status.ContainerStatuses[0].State.Waiting.Message
	if !strings.HasPrefix(message, `Back-off pulling image "example/app:1"`) {
		t.Error(message)
	}
	eventUntil(t, client, "pull", "Warning", "Failed", `Failed to pull image "example/app:1": `)
	eventUntil(t, client, "pull", "Warning", "Failed", "Error: ErrImagePull")
	eventUntil(t, client, "pull", "Normal", "BackOff", `Back-off pulling image "example/app:1"`)
	eventUntil(t, client, "pull", "Warning", "Failed", "Error: ImagePullBackOff")
	// A pod that stops to misbehave recovers.
	patch := []byte(`{"metadata":{"annotations":{"local.muster.dev/behaviour":null}}}`)
	_, err := client.CoreV1().
		Pods(space).
		Patch(t.Context(), "pull", "application/merge-patch+json", patch, metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	podUntil(t, client, "pull", "Running, Ready=True, main running restarts 0")
}

func neverReady(t *testing.T, client kubernetes.Interface) {
	newPod(t, client, "never", "behaviour", "never-ready")
	podUntil(t, client, "never", "Running, Ready=False ContainersNotReady, main running restarts 0")
	eventUntil(t, client, "never", "Warning", "Unhealthy", "Readiness probe failed: ")
}

func crashLoop(t *testing.T, client kubernetes.Interface) {
	newPod(t, client, "crash-unprobed", "behaviour", "crash-loop")
	podUntil(t, client, "crash-unprobed",
		"Running, Ready=True, main running last 1 Error restarts 1")
	podUntil(t, client, "crash-unprobed",
		"Running, Ready=False ContainersNotReady, main terminated 1 Error last 1 Error restarts 2")
	probe := corev1.Container{Name: "main", Image: "example/app:1", ReadinessProbe: &corev1.Probe{
		ProbeHandler: corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(80)}},
	}}
	newPodOf(t, client, "crash", probe, "behaviour", "crash-loop", "logs", "it broke")
	pod := podUntil(t, client, "crash",
		"Running, Ready=False ContainersNotReady, main waiting CrashLoopBackOff last 1 Error restarts 2")
	want := fmt.Sprintf("back-off 20s restarting failed container=main pod=crash_default(%s)", pod.UID)
	if got := pod.Status.ContainerStatuses[0].State.Waiting.Message; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	eventUntil(
		t,
		client,
		"crash",
		"Warning",
		"BackOff",
		"Back-off restarting failed container main in pod crash_default(",
	)
	if got := logText(t, client, "crash", &corev1.PodLogOptions{Previous: true}); got != "it broke\n" {
		t.Errorf("log of the previous run: %q", got)
	}
}

func livenessKill(t *testing.T, client kubernetes.Interface) {
	newPod(t, client, "killed", "behaviour", "liveness-kill")
	podUntil(t, client, "killed", "Running, Ready=True, main running last 0 Completed restarts 1")
	podUntil(t, client, "killed", "Running, Ready=False ContainersNotReady, "+
		"main waiting CrashLoopBackOff last 0 Completed restarts 2")
	eventUntil(t, client, "killed", "Warning", "Unhealthy", "Liveness probe failed: ")
	eventUntil(t, client, "killed", "Normal", "Killing",
		"Container main failed liveness probe, will be restarted")
	eventUntil(t, client, "killed", "Warning", "BackOff", "Back-off restarting failed container main")
}

func startError(t *testing.T, client kubernetes.Interface) {
	newPod(t, client, "unstarted", "behaviour", "start-error")
	podUntil(t, client, "unstarted", "Running, Ready=False ContainersNotReady, "+
		"main waiting RunContainerError last 128 StartError restarts 1")
	eventUntil(t, client, "unstarted", "Warning", "Failed",
		"Error: failed to create containerd task: ")
	eventUntil(t, client, "unstarted", "Warning", "BackOff", "Back-off restarting failed container")
}

func evicted(t *testing.T, client kubernetes.Interface) {
	newPod(t, client, "evicted", "behaviour", "evicted")
	podUntil(t, client, "evicted", "Running, Ready=True, main running restarts 0")
	pod := podUntil(t, client, "evicted", "Failed, Ready=False PodFailed, "+
		"main terminated 137 ContainerStatusUnknown last 137 ContainerStatusUnknown restarts 1")
	if pod.Status.Reason != "Evicted" || pod.Status.Message == "" {
		t.Errorf("reason %q, message %q", pod.Status.Reason, pod.Status.Message)
	}
	eventUntil(t, client, "evicted", "Warning", "Evicted", "Usage of EmptyDir volume ")
}

// A deleted pod runs until it has stopped, and says so.
func slowStop(t *testing.T, client kubernetes.Interface) {
	newPod(t, client, "stopping", "stop-after", "1m", "events", "normal")
	podUntil(t, client, "stopping", "Running, Ready=True, main running restarts 0")
	eventUntil(t, client, "stopping", "Normal", "Started", "Container started")
	begin := time.Now()
	if err := client.CoreV1().Pods(space).Delete(t.Context(), "stopping",
		metav1.DeleteOptions{GracePeriodSeconds: new(int64(2))}); err != nil {
		t.Fatal(err)
	}
	pod := podUntil(t, client, "stopping", "Running, Ready=True, main running restarts 0")
	if pod.DeletionTimestamp == nil || *pod.DeletionGracePeriodSeconds != 2 {
		t.Errorf("deleted at %v", pod.DeletionTimestamp)
	}
	podGone(t, client, "stopping")
	if took := time.Since(begin); took < time.Second {
		t.Errorf("it stopped after %v", took)
	}
}
