package main

import (
	"os"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-deploy/muster/local/kubelet"
)

// recorded returns the statuses of a pod that a real kubelet wrote, without times and names.
func recorded(t *testing.T, name string) []string {
	t.Helper()
	data, err := os.ReadFile("../../kubelet/testdata/real/" + name + ".txt")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for line := range strings.Lines(string(data)) {
		out = append(out, strings.TrimSpace(strings.SplitN(line, " ", 3)[2]))
	}
	return out
}

// realPod makes a pod of one container, as the recorded ones were.
func realPod(change ...func(*corev1.Pod)) *corev1.Pod {
	pod := testPod(corev1.RestartPolicyAlways, change...)
	pod.Spec.Containers = pod.Spec.Containers[:1]
	pod.Spec.Containers[0].Name = "web"
	inits := slices.DeleteFunc(pod.Spec.InitContainers, func(c corev1.Container) bool {
		return c.Name == "init"
	})
	pod.Spec.InitContainers = inits
	return pod
}

func probed(pod *corev1.Pod) {
	pod.Spec.Containers[0].ReadinessProbe = &corev1.Probe{}
}

func startupProbed(pod *corev1.Pod) {
	pod.Spec.Containers[0].StartupProbe = &corev1.Probe{}
}

// initContainer adds an init container, which misbehaves instead of the others.
func initContainer(name string, policy *corev1.ContainerRestartPolicy) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Annotations[kubelet.Container] = name
		pod.Spec.InitContainers = append(pod.Spec.InitContainers,
			corev1.Container{Name: name, Image: "i", RestartPolicy: policy})
	}
}

func deletedAfter(stop string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Annotations[kubelet.StopAfter] = stop }
}

// The statuses of misbehaving pods are those that a real kubelet wrote, in the same order. What the
// simulation leaves out is listed.
func TestPodStagesPlayRecordedSequences(t *testing.T) {
	sidecar := new(corev1.ContainerRestartPolicyAlways)
	crash := note("behaviour", "crash-loop")
	tests := []struct {
		name   string
		pod    *corev1.Pod
		absent []string
	}{
		{name: "normal-start", pod: realPod()},
		{name: "crash", pod: realPod(crash)},
		{name: "crash-probe", pod: realPod(crash, probed)},
		{name: "crash-exit-0", pod: realPod(crash, note("exit-code", "0"))},
		{
			name: "crash-init",
			pod:  realPod(crash, note("exit-code", "3"), initContainer("migrate", nil)),
		},
		{
			name: "crash-sidecar",
			pod:  realPod(crash, note("exit-code", "3"), initContainer("proxy", sidecar)),
			absent: []string{
				"Pending  proxy:running/ r0+ | web:waiting/PodInitializing r0-",
			},
		},
		{name: "image-pull", pod: realPod(note("behaviour", "image-pull-error"))},
		{
			name: "image-pull-init",
			pod:  realPod(note("behaviour", "image-pull-error"), initContainer("migrate", nil)),
		},
		{name: "liveness-kill", pod: realPod(note("behaviour", "liveness-kill"))},
		{name: "liveness-kill-probe", pod: realPod(note("behaviour", "liveness-kill"), probed)},
		{name: "startup-kill", pod: realPod(note("behaviour", "liveness-kill"), startupProbed)},
		{name: "start-error", pod: realPod(note("behaviour", "start-error"))},
		{name: "hook-error", pod: realPod(note("behaviour", "hook-error"))},
		{
			name: "evicted",
			pod:  realPod(note("behaviour", "evicted"), note("ready-after", "1h"), probed),
			absent: []string{"Failed Evicted web:waiting/ContainerCreating r1- " +
				"last=ContainerStatusUnknown(137)"},
		},
		{name: "never-ready", pod: realPod(note("behaviour", "never-ready"))},
		{name: "slow-start", pod: realPod(note("ready-after", "5s"), probed)},
		{name: "slow-stop", pod: realPod(deletedAfter("20s"))},
		{name: "stubborn", pod: realPod(deletedAfter("1m"))},
		{
			name: "job-fails",
			pod: realPod(ofJob, note("exit-code", "3"), func(pod *corev1.Pod) {
				pod.Spec.RestartPolicy = corev1.RestartPolicyNever
			}),
			absent: []string{"Running  web:terminated/Error(3) r0-"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			want := slices.DeleteFunc(recorded(t, test.name),
				func(line string) bool { return slices.Contains(test.absent, line) })
			p := newPlayer(t)
			p.record(test.pod)
			for len(p.lines) < len(want) {
				if played := p.play(t, test.pod, 1); played != "" {
					continue
				}
				if !strings.HasSuffix(want[len(want)-1], "DELETING") || test.pod.DeletionTimestamp != nil {
					break
				}
				test.pod.DeletionTimestamp = &metav1.Time{Time: p.now}
				test.pod.DeletionGracePeriodSeconds = new(int64(30))
				p.record(test.pod)
			}
			if !slices.Equal(p.lines, want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(p.lines, "\n"), strings.Join(want, "\n"))
			}
		})
	}
}
