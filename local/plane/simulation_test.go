package plane_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

const space = "default"

// simulation tries on one plane what a plane simulates.
func simulation(t *testing.T, client kubernetes.Interface) {
	parts := map[string]func(*testing.T, kubernetes.Interface){
		"volumes":          volumes,
		"load balancers":   loadBalancers,
		"image pull error": imagePullError,
		"crash loop":       crashLoop,
		"never ready":      neverReady,
		"pending":          pending,
		"ready after":      readyAfter,
		"init container":   initContainer,
		"jobs":             jobs,
		"logs":             logs,
		"new image":        newImage,
		"finalizer":        finalizer,
		"foreign node":     foreignNode,
		"liveness kill":    livenessKill,
		"start error":      startError,
		"evicted":          evicted,
		"slow stop":        slowStop,
	}
	for name, part := range parts {
		t.Run(name, func(t *testing.T) { t.Parallel(); part(t, client) })
	}
}

// newPod makes a pod of one container with annotations, given as key, value, … without their
// prefix.
func newPod(t *testing.T, client kubernetes.Interface, name string, notes ...string) {
	t.Helper()
	newPodOf(t, client, name, corev1.Container{Name: "main", Image: "example/app:1"}, notes...)
}

// newPodOf does the same with a given container.
func newPodOf(
	t *testing.T,
	client kubernetes.Interface,
	name string,
	container corev1.Container,
	notes ...string,
) {
	t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: annotations(notes...)},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{container}},
	}
	if _, err := client.CoreV1().Pods(space).Create(t.Context(), pod,
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func annotations(notes ...string) map[string]string {
	out := map[string]string{}
	for i := 0; i < len(notes); i += 2 {
		out["local.muster.dev/"+notes[i]] = notes[i+1]
	}
	return out
}

// podUntil waits until the description of a pod is the wanted one.
func podUntil(t *testing.T, client kubernetes.Interface, name, want string) *corev1.Pod {
	t.Helper()
	var pod *corev1.Pod
	eventually(t, "pod "+name, func(ctx context.Context) (err error) {
		pod, err = client.CoreV1().Pods(space).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if got := describe(pod); got != want {
			return fmt.Errorf("got  %s\nwant %s", got, want)
		}
		return nil
	})
	return pod
}

// describe is a pod in one line: phase, readiness, and each container.
func describe(pod *corev1.Pod) string {
	out := []string{string(pod.Status.Phase)}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			out = append(out, strings.TrimSpace("Ready="+string(c.Status)+" "+c.Reason))
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
			text += fmt.Sprintf(" terminated %d %s", state.Terminated.ExitCode, state.Terminated.Reason)
		}
		if last := s.LastTerminationState.Terminated; last != nil {
			text += fmt.Sprintf(" last %d %s", last.ExitCode, last.Reason)
		}
		out = append(out, fmt.Sprintf("%s restarts %d", text, s.RestartCount))
	}
	return strings.Join(out, ", ")
}

// eventUntil waits for an event about a pod.
func eventUntil(t *testing.T, client kubernetes.Interface, pod, kind, reason, message string) {
	t.Helper()
	eventually(t, "event "+reason, func(ctx context.Context) error {
		list, err := client.CoreV1().
			Events(space).
			List(ctx, metav1.ListOptions{FieldSelector: "involvedObject.name=" + pod})
		if err != nil {
			return err
		}
		var seen []string
		for _, e := range list.Items {
			if e.Type == kind && e.Reason == reason && strings.HasPrefix(e.Message, message) {
				return nil
			}
			seen = append(seen, e.Type+" "+e.Reason+" "+e.Message)
		}
		return fmt.Errorf("saw %q", seen)
	})
}

func pending(t *testing.T, client kubernetes.Interface) {
	newPod(t, client, "stuck", "behaviour", "pending")
	podUntil(
		t,
		client,
		"stuck",
		"Pending, Ready=False ContainersNotReady, main waiting ContainerCreating restarts 0",
	)
	if err := client.CoreV1().Pods(space).Delete(t.Context(), "stuck",
		metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	podGone(t, client, "stuck")
}

func podGone(t *testing.T, client kubernetes.Interface, name string) {
	t.Helper()
	eventually(t, "deletion of pod "+name, func(ctx context.Context) error {
		_, err := client.CoreV1().Pods(space).Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("it is still there: %w", err)
	})
}

func readyAfter(t *testing.T, client kubernetes.Interface) {
	newPod(t, client, "slow", "ready-after", "1s")
	podUntil(t, client, "slow", "Running, Ready=False ContainersNotReady, main running restarts 0")
	podUntil(t, client, "slow", "Running, Ready=True, main running restarts 0")
}

func initContainer(t *testing.T, client kubernetes.Interface) {
	for name, notes := range map[string]map[string]string{
		"init-good": nil,
		"init-bad":  annotations("behaviour", "crash-loop", "container", "second"),
	} {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: notes},
			Spec: corev1.PodSpec{
				InitContainers: []corev1.Container{{Name: "first", Image: "a"}, {Name: "second", Image: "b"}},
				Containers:     []corev1.Container{{Name: "main", Image: "c"}},
			},
		}
		if _, err := client.CoreV1().Pods(space).Create(t.Context(), pod,
			metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	podUntil(t, client, "init-good", "Running, Ready=True, first terminated 0 Completed restarts 0, "+
		"second terminated 0 Completed restarts 0, main running restarts 0")
	podUntil(
		t,
		client,
		"init-bad",
		"Pending, Ready=False ContainersNotReady, first terminated 0 Completed restarts 0, "+
			"second terminated 1 Error last 1 Error restarts 2, main waiting PodInitializing restarts 0",
	)
}

func jobs(t *testing.T, client kubernetes.Interface) {
	for name, notes := range map[string]struct{ job, template map[string]string }{
		"good":      {},
		"bad":       {template: annotations("exit-code", "3")},
		"annotated": {job: annotations("exit-code", "4")},
	} {
		job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: notes.job}}
		job.Spec.BackoffLimit = new(int32)
		job.Spec.Template.Annotations = notes.template
		job.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
		job.Spec.Template.Spec.Containers = []corev1.Container{{Name: "main", Image: "example/job:1"}}
		if _, err := client.BatchV1().Jobs(space).Create(t.Context(), job,
			metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]batchv1.JobConditionType{"good": batchv1.JobComplete,
		"bad": batchv1.JobFailed, "annotated": batchv1.JobFailed} {
		eventually(t, "job "+name, func(ctx context.Context) error {
			job, err := client.BatchV1().Jobs(space).Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			for _, c := range job.Status.Conditions {
				if c.Type == want && c.Status == corev1.ConditionTrue {
					return nil
				}
			}
			return fmt.Errorf("%+v", job.Status)
		})
	}
	pods, err := client.CoreV1().
		Pods(space).
		List(t.Context(), metav1.ListOptions{LabelSelector: "job-name=bad"})
	if err != nil || len(pods.Items) != 1 {
		t.Fatal(len(pods.Items), err)
	}
	if got := describe(&pods.Items[0]); got != "Failed, Ready=False PodFailed, main terminated 3 "+
		"Error restarts 0" {
		t.Error(got)
	}
}

func logs(t *testing.T, client kubernetes.Interface) {
	newPod(t, client, "talk", "logs", "one\ntwo\nthree", "logs.other", "not this")
	podUntil(t, client, "talk", "Running, Ready=True, main running restarts 0")
	if got := logText(t, client, "talk", &corev1.PodLogOptions{}); got != "one\ntwo\nthree\n" {
		t.Errorf("got %q", got)
	}
	if got := logText(t, client, "talk",
		&corev1.PodLogOptions{TailLines: new(int64(1))}); got != "three\n" {
		t.Errorf("got %q", got)
	}
	_, err := client.CoreV1().
		Pods(space).
		GetLogs("talk", &corev1.PodLogOptions{Previous: true}).
		Stream(t.Context())
	if err == nil ||
		!strings.Contains(err.Error(), `previous terminated container "main" in pod "talk" not found`) {
		t.Errorf("log of a run that was not: %v", err)
	}
	// Following ends when the pod does.
	stream, err := client.CoreV1().
		Pods(space).
		GetLogs("talk", &corev1.PodLogOptions{Follow: true}).
		Stream(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	if err := client.CoreV1().Pods(space).Delete(t.Context(), "talk",
		metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(stream)
	if err != nil || string(data) != "one\ntwo\nthree\n" {
		t.Errorf("followed %q, %v", data, err)
	}
}

func logText(
	t *testing.T,
	client kubernetes.Interface,
	pod string,
	o *corev1.PodLogOptions,
) string {
	t.Helper()
	data, err := client.CoreV1().Pods(space).GetLogs(pod, o).DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func newImage(t *testing.T, client kubernetes.Interface) {
	newPod(t, client, "image")
	podUntil(t, client, "image", "Running, Ready=True, main running restarts 0")
	patch := []byte(`{"spec":{"containers":[{"name":"main","image":"example/app:2"}]}}`)
	_, err := client.CoreV1().
		Pods(space).
		Patch(t.Context(), "image", "application/strategic-merge-patch+json", patch,
			metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	pod := podUntil(
		t,
		client,
		"image",
		"Running, Ready=True, main running last 0 Completed restarts 1",
	)
	if got := pod.Status.ContainerStatuses[0].Image; got != "example/app:2" {
		t.Error(got)
	}
}

func finalizer(t *testing.T, client kubernetes.Interface) {
	newPod(t, client, "kept")
	patch := []byte(`{"metadata":{"finalizers":["example.com/keep"]}}`)
	pods := client.CoreV1().Pods(space)
	if _, err := pods.Patch(t.Context(), "kept", "application/merge-patch+json", patch,
		metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	podUntil(t, client, "kept", "Running, Ready=True, main running restarts 0")
	if err := pods.Delete(t.Context(), "kept", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	podUntil(
		t,
		client,
		"kept",
		"Succeeded, Ready=False PodCompleted, main terminated 0 Completed restarts 0",
	)
	patch = []byte(`{"metadata":{"finalizers":null}}`)
	if _, err := pods.Patch(t.Context(), "kept", "application/merge-patch+json", patch,
		metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	podGone(t, client, "kept")
}
