package main

import (
	"fmt"
	"math/rand/v2"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/muster-deploy/muster/local/kubelet"
)

// mixed makes a pod with any mixture of annotations and probes, and describes it.
func mixed(random *rand.Rand) (*corev1.Pod, string) {
	pick := func(values ...string) string { return values[random.IntN(len(values))] }
	pod := testPod(corev1.RestartPolicy(pick("Always", "OnFailure", "Never")), func(pod *corev1.Pod) {
		initContainer("side", new(corev1.ContainerRestartPolicyAlways))(pod)
		delete(pod.Annotations, kubelet.Container)
	})
	for key, value := range map[string]string{
		kubelet.Behaviour: pick("", "image-pull-error", "crash-loop", "liveness-kill",
			"start-error", "hook-error", "evicted", "never-ready", "pending"),
		kubelet.Container:  pick("", "", "init", "side", "other"),
		kubelet.ExitCode:   pick("", "", "0", "3"),
		kubelet.ReadyAfter: pick("", "", "1s"),
		kubelet.Events:     pick("", "", "normal"),
	} {
		if value != "" {
			pod.Annotations[key] = value
		}
	}
	probe, job := random.IntN(2) == 0, random.IntN(4) == 0
	if probe {
		probed(pod)
	}
	if job {
		ofJob(pod)
	}
	return pod, fmt.Sprintf("%v %s probe %v job %v",
		pod.Annotations, pod.Spec.RestartPolicy, probe, job)
}

// However a pod misbehaves, at most one stage matches, it recovers without its behaviour and exit
// code, and it stops when it is deleted.
func TestPodStagesExcludeEachOther(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 100 {
		pod, about := mixed(random)
		p := newPlayer(t)
		t.Run(about, func(t *testing.T) {
			p.play(t, pod, random.IntN(12))
			if random.IntN(2) == 0 {
				delete(pod.Annotations, kubelet.Behaviour)
				delete(pod.Annotations, kubelet.ExitCode)
				p.play(t, pod, 8)
				ready := pod.Status.Phase == corev1.PodRunning
				for _, s := range pod.Status.ContainerStatuses {
					ready = ready && s.Ready
				}
				job := len(pod.OwnerReferences) > 0
				ended := pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded
				if !ready && !ended && !job {
					t.Errorf("it does not recover: %s", kubelet.Line(pod))
				}
			}
			if phase := pod.Status.Phase; phase != corev1.PodSucceeded && phase != corev1.PodFailed {
				p.stops(t, pod)
			}
		})
	}
}
