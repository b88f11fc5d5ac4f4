package kubelet

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var noon = time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)

// newPod makes a pod with one main container, and annotations given as key, value, …
func newPod(policy corev1.RestartPolicy, notes ...string) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:   "ns",
			Name:        "pod",
			UID:         "u1",
			Generation:  1,
			Annotations: map[string]string{},
		},
		Spec: corev1.PodSpec{
			NodeName:      "node-0",
			RestartPolicy: policy,
			Containers:    []corev1.Container{{Name: "main", Image: "app:1"}},
		},
		Status: corev1.PodStatus{Phase: corev1.PodPending, PodIP: "10.0.0.1"},
	}
	for i := 0; i < len(notes); i += 2 {
		pod.Annotations[Prefix+notes[i]] = notes[i+1]
	}
	return pod
}

// take takes steps, a second apart.
func take(t *testing.T, pod *corev1.Pod, steps ...string) *corev1.Pod {
	t.Helper()
	pod = pod.DeepCopy()
	for i, name := range steps {
		if name == "stopped" {
			pod.DeletionTimestamp = &metav1.Time{Time: noon}
		}
		take, ok := Steps()[name]
		if !ok {
			t.Fatalf("no step %q", name)
		}
		pod.Status = take(pod, noon.Add(time.Duration(i)*time.Second))
	}
	return pod
}

// line is a pod in one line.
func line(pod *corev1.Pod) string {
	out := []string{string(pod.Status.Phase)}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady ||
			c.Type == corev1.PodInitialized && c.Status != corev1.ConditionTrue {
			out = append(
				out,
				strings.TrimSpace(fmt.Sprintf("%s=%s %s %s", c.Type, c.Status, c.Reason, c.Message)),
			)
		}
	}
	for _, s := range append(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses...) {
		text := s.Name
		switch state := s.State; {
		case state.Waiting != nil:
			text += " waiting " + state.Waiting.Reason
		case state.Running != nil:
			text += " running"
		case state.Terminated != nil:
			text += fmt.Sprintf(" ended %d %s", state.Terminated.ExitCode, state.Terminated.Reason)
		}
		if last := s.LastTerminationState.Terminated; last != nil {
			text += fmt.Sprintf(" last %d", last.ExitCode)
		}
		out = append(out, fmt.Sprintf("%s restarts %d ready %v", text, s.RestartCount, s.Ready))
	}
	return strings.Join(out, "; ")
}

func TestSteps(t *testing.T) {
	const unready = "Ready=False ContainersNotReady containers with unready status: [main]; "
	always, never := corev1.RestartPolicyAlways, corev1.RestartPolicyNever
	onFailure := corev1.RestartPolicyOnFailure
	tests := []struct {
		name  string
		pod   *corev1.Pod
		steps string
		want  string
	}{
		{
			"created",
			newPod(always),
			"created",
			"Pending; " + unready + "main waiting ContainerCreating restarts 0 ready false",
		},
		{
			"started",
			newPod(always),
			"created started",
			"Running; Ready=True; main running restarts 0 ready true",
		},
		{"slow", newPod(always, "ready-after", "1s"), "created started",
			"Running; " + unready + "main running restarts 0 ready false"},
		{"slow, then ready", newPod(always, "ready-after", "1s"), "created started ready",
			"Running; Ready=True; main running restarts 0 ready true"},
		{"pull fails", newPod(always, "behaviour", "image-pull-error"), "created pullFails",
			"Pending; " + unready + "main waiting ErrImagePull restarts 0 ready false"},
		{"pull waits", newPod(always, "behaviour", "image-pull-error"), "created pullFails pullWaits",
			"Pending; " + unready + "main waiting ImagePullBackOff restarts 0 ready false"},
		{"first crash", newPod(always, "behaviour", "crash-loop"), "created started exited",
			"Running; " + unready + "main ended 1 Error restarts 0 ready false"},
		{"crash loop", newPod(always, "behaviour", "crash-loop"),
			"created started exited restarted exited backedOff",
			"Running; " + unready + "main waiting CrashLoopBackOff last 1 restarts 1 ready false"},
		{
			"crash loop continues",
			newPod(always, "behaviour", "crash-loop"),
			"created started exited restarted exited backedOff restarted exited backedOff",
			"Running; " + unready + "main waiting CrashLoopBackOff last 1 restarts 2 ready false",
		},
		{
			"crash loop, ready for a moment",
			newPod(always, "behaviour", "crash-loop"),
			"created started exited restarted",
			"Running; Ready=True; main running last 1 restarts 1 ready true",
		},
		{"exit 0, never", newPod(never, "exit-code", "0"), "created started exited",
			"Succeeded; Ready=False PodCompleted; main ended 0 Completed restarts 0 ready false"},
		{"exit 3, never", newPod(never, "exit-code", "3"), "created started exited",
			"Failed; Ready=False PodFailed; main ended 3 Error restarts 0 ready false"},
		{"exit 0, on failure", newPod(onFailure, "exit-code", "0"), "created started exited",
			"Succeeded; Ready=False PodCompleted; main ended 0 Completed restarts 0 ready false"},
		{"exit 3, on failure", newPod(onFailure, "exit-code", "3"),
			"created started exited restarted exited backedOff",
			"Running; " + unready + "main waiting CrashLoopBackOff last 3 restarts 1 ready false"},
		{"exit 0, always", newPod(always, "exit-code", "0"),
			"created started exited restarted exited backedOff",
			"Running; " + unready + "main waiting CrashLoopBackOff last 0 restarts 1 ready false"},
		{"no number", newPod(never, "exit-code", "x"), "created started exited",
			"Failed; Ready=False PodFailed; main ended 1 Error restarts 0 ready false"},
		{"init", withInit(newPod(always)), "created",
			"Pending; Initialized=False ContainersNotInitialized containers with incomplete status: " +
				"[init]; " + unready +
				"init waiting PodInitializing restarts 0 ready false; main waiting PodInitializing restarts " +
				"0 ready false"},
		{"init, started", withInit(newPod(always)), "created started",
			"Running; Ready=True; init ended 0 Completed restarts 0 ready true; main running restarts 0 " +
				"ready true"},
		{
			"init fails, never",
			withInit(newPod(never, "exit-code", "2", "container", "init")),
			"created started exited",
			"Failed; Initialized=False ContainersNotInitialized containers with incomplete status: " +
				"[init]; Ready=False PodFailed; " +
				"init ended 2 Error restarts 0 ready false; main waiting PodInitializing restarts 0 ready " +
				"false",
		},
		{"gate", withGate(newPod(always)), "created started",
			`Running; Ready=False ReadinessGatesNotReady corresponding condition of pod readiness gate ` +
				`"x/y" does not exist.; ` +
				"main running restarts 0 ready true"},
		{"deleted", newPod(always), "created started stopped",
			"Succeeded; Ready=False PodCompleted; main ended 0 Completed restarts 0 ready false"},
		{"deleted while it worked", newPod(never), "created started stopped",
			"Failed; Ready=False PodFailed; main ended 143 Error restarts 0 ready false"},
		{"deleted, and killed", graced(newPod(always, "stop-after", "6s"), 5), "created started stopped",
			"Failed; Ready=False PodFailed; main ended 137 Error restarts 0 ready false"},
		{"deleted in time", graced(newPod(always, "stop-after", "4s"), 5), "created started stopped",
			"Succeeded; Ready=False PodCompleted; main ended 0 Completed restarts 0 ready false"},
		{"evicted", newPod(always, "behaviour", "evicted"), "created started evicted",
			"Failed; Ready=False PodFailed; " +
				"main ended 137 ContainerStatusUnknown last 137 restarts 1 ready false"},
		{"deleted before it started", newPod(always), "created stopped",
			"Failed; Ready=False PodFailed; main waiting ContainerCreating restarts 0 ready false"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := line(take(t, test.pod, strings.Fields(test.steps)...)); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

func withInit(pod *corev1.Pod) *corev1.Pod {
	pod.Spec.InitContainers = []corev1.Container{{Name: "init", Image: "init:1"}}
	return pod
}

func graced(pod *corev1.Pod, seconds int64) *corev1.Pod {
	pod.DeletionGracePeriodSeconds = &seconds
	return pod
}

func withGate(pod *corev1.Pod) *corev1.Pod {
	pod.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: "x/y"}}
	return pod
}

func TestSidecarEndsWithThePod(t *testing.T) {
	pod := newPod(corev1.RestartPolicyNever, "exit-code", "0")
	pod.Spec.InitContainers = []corev1.Container{
		{Name: "side", Image: "s", RestartPolicy: new(corev1.ContainerRestartPolicyAlways)},
	}
	if got, want := line(take(t, pod, "created", "started")),
		"Running; Ready=True; side running restarts 0 ready true; main running restarts 0 ready "+
			"true"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got, want := line(take(t, pod, "created", "started", "exited")), "Succeeded; Ready=False "+
		"PodCompleted; "+
		"side ended 0 Completed restarts 0 ready false; main ended 0 Completed restarts 0 ready "+
		"false"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// The same step twice changes nothing: else a stage would play for ever.
func TestStepsSettle(t *testing.T) {
	pod := withGate(newPod(corev1.RestartPolicyAlways))
	once := take(t, pod, "created", "started", "ready")
	twice := take(t, once, "ready")
	before, _ := json.Marshal(once.Status)
	after, _ := json.Marshal(twice.Status)
	if string(before) != string(after) {
		t.Errorf("was %s\nis  %s", before, after)
	}
}

func TestBackOff(t *testing.T) {
	want := []string{"10s", "20s", "40s", "1m20s", "2m40s", "5m0s", "5m0s"}
	for i, w := range want {
		if got := backOff(int32(i + 1)).String(); got != w {
			t.Errorf("after %d restarts %s, want %s", i+1, got, w)
		}
	}
}

func TestEvents(t *testing.T) {
	pod := withInit(newPod(corev1.RestartPolicyAlways, "behaviour", "crash-loop", "container", "init"))
	event, err := Event("crashBackOff", pod, noon)
	if err != nil {
		t.Fatal(err)
	}
	if event.Message != "Back-off restarting failed container init in pod pod_ns(u1)" ||
		event.InvolvedObject.FieldPath != "spec.initContainers{init}" || event.Type != "Warning" ||
		event.Reason != "BackOff" {
		t.Errorf("%+v", event)
	}
	pod.Status = take(t, pod, "created", "started", "exited", "restarted", "exited").Status
	for name, want := range map[string]int32{"crashBackOff": 1, "start": 3, "killing": 2} {
		if event, err := Event(name, pod, noon); err != nil || event.Count != want {
			t.Errorf("event %s: %d times, want %d: %v", name, event.Count, want, err)
		}
	}
	again, err := Event("crashBackOff", pod, noon.Add(time.Hour))
	if err != nil || again.Name != event.Name {
		t.Errorf("another name for the same event: %q, %q, %v", event.Name, again.Name, err)
	}
	for name := range notices() {
		if event, err := Event(name, pod, noon); err != nil || event.Message == "" || event.Reason == "" {
			t.Errorf("event %s: %+v, %v", name, event, err)
		}
	}
	if _, err := Event("nothing", pod, noon); err == nil {
		t.Error("an event that does not exist")
	}
}
