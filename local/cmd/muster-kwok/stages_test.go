package main

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"text/template"
	"time"

	jsonpatch "github.com/evanphx/json-patch/v5"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/kwok/pkg/apis/internalversion"
	"sigs.k8s.io/kwok/pkg/utils/gotpl"
	"sigs.k8s.io/kwok/pkg/utils/lifecycle"

	"github.com/muster-deploy/muster/local/kubelet"
)

// player plays the stages of pods without a plane.
type player struct {
	life     lifecycle.Lifecycle
	renderer gotpl.Renderer
	now      time.Time
	lines    []string // the statuses of the pod
	writes   int      // of statuses and events
}

// record adds the status of a pod to the lines, if it has changed.
func (p *player) record(pod *corev1.Pod) {
	line := strings.TrimSpace(kubelet.Line(pod))
	if len(p.lines) == 0 || p.lines[len(p.lines)-1] != line {
		p.lines = append(p.lines, line)
	}
}

func newPlayer(t *testing.T) *player {
	t.Helper()
	all, err := loadStages()
	if err != nil {
		t.Fatal(err)
	}
	life, err := lifecycle.NewLifecycle(
		all[internalversion.StageResourceRef{APIGroup: "v1", Kind: "Pod"}],
	)
	if err != nil {
		t.Fatal(err)
	}
	p := &player{life: life, now: time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)}
	functions := template.FuncMap{"PodIPWith": func(...any) string { return "10.0.0.1" }}
	for name, f := range kubelet.Functions(func() time.Time { return p.now }) {
		functions[name] = f
	}
	p.renderer = gotpl.NewRenderer(functions)
	return p
}

// play plays stages until none matches, or as many as most, and names them with their delays. It
// fails when several match.
func (p *player) play(t *testing.T, pod *corev1.Pod, most int) string {
	t.Helper()
	var out []string
	for range most {
		event := &lifecycle.Event{Labels: pod.Labels, Annotations: pod.Annotations, Data: pod.DeepCopy()}
		possible, err := p.life.ListAllPossible(context.Background(), event)
		if err != nil {
			t.Fatal(err)
		}
		if len(possible) == 0 {
			break
		}
		if len(possible) > 1 {
			t.Fatalf(
				"after %v %d stages match: %s, %s",
				out,
				len(possible),
				possible[0].Name(),
				possible[1].Name(),
			)
		}
		delay, _, err := possible[0].Delay(context.Background(), event, p.now)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimPrefix(possible[0].Name(), "pod-")
		if delay > 0 {
			name += "@" + delay.String()
		}
		out = append(out, name)
		p.now = p.now.Add(delay)
		if !p.step(t, pod, possible[0]) {
			break
		}
	}
	return strings.Join(out, " ")
}

// step takes the steps of a stage, and reports whether they changed the pod.
func (p *player) step(t *testing.T, pod *corev1.Pod, stage *lifecycle.Stage) bool {
	t.Helper()
	changed := false
	none := func() error { return nil }
	_, err := stage.DoSteps(0, nil, pod.DeepCopy(), p.renderer,
		func(*internalversion.StageEvent) error { return nil }, none,
		func(patch *lifecycle.Patch) error {
			p.writes++
			before, err := json.Marshal(pod)
			if err != nil {
				return err
			}
			after, err := jsonpatch.MergePatch(before, patch.Data)
			if err != nil {
				return err
			}
			*pod = corev1.Pod{}
			if err := json.Unmarshal(after, pod); err != nil {
				return err
			}
			again, err := json.Marshal(pod)
			changed = string(again) != string(before)
			p.record(pod)
			return err
		},
		func(*lifecycle.Apply) error { p.writes++; return nil })
	if err != nil {
		t.Fatal(err)
	}
	return changed
}

func testPod(policy corev1.RestartPolicy, change ...func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:   "ns",
			Name:        "pod",
			UID:         "u",
			Generation:  1,
			Annotations: map[string]string{},
		},
		Spec: corev1.PodSpec{
			NodeName: "node-0", RestartPolicy: policy,
			InitContainers: []corev1.Container{{Name: "init", Image: "i"}},
			Containers:     []corev1.Container{{Name: "main", Image: "m"}, {Name: "other", Image: "o"}},
		},
		Status: corev1.PodStatus{Phase: corev1.PodPending},
	}
	for _, f := range change {
		f(pod)
	}
	return pod
}

func note(key, value string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Annotations[kubelet.Prefix+key] = value }
}

func ofJob(pod *corev1.Pod) {
	pod.OwnerReferences = []metav1.OwnerReference{{Kind: "Job", Name: "job", Controller: new(true)}}
}

func gated(pod *corev1.Pod) {
	pod.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: "x/y"}}
}

// crashes are the stages of a crash loop without a probe.
const crashes = "created started exited@300ms restarted@100ms exited-again@300ms backed-off@1s " +
	"resumed@20ms exited-again@300ms"

// In every state of every kind of pod at most one stage matches, and a pod that is done is left
// alone.
func TestPodStages(t *testing.T) {
	always, never := corev1.RestartPolicyAlways, corev1.RestartPolicyNever
	onFailure := corev1.RestartPolicyOnFailure
	tests := []struct {
		name string
		pod  *corev1.Pod
		want string
	}{
		{"plain", testPod(always), "created started"},
		{"slow", testPod(always, note("ready-after", "5s")), "created started ready@5s"},
		{
			"slow, one of two",
			testPod(always, note("ready-after", "5s"), note("container", "other")),
			"created started ready@5s",
		},
		{"gated", testPod(always, gated), "created started ready"},
		{
			"pull error",
			testPod(always, note("behaviour", "image-pull-error")),
			"created pull-fails pull-waits@1.2s pull-fails-again@1.4s pull-waits@1.2s",
		},
		{
			"pull error of one",
			testPod(always, note("behaviour", "image-pull-error"), note("container", "other")),
			"created pull-fails pull-waits@1.2s pull-fails-again@1.4s pull-waits@1.2s",
		},
		{
			"pull error of init",
			testPod(always, note("behaviour", "image-pull-error"), note("container", "init")),
			"created pull-fails pull-waits@1.2s pull-fails-again@1.4s pull-waits@1.2s",
		},
		{"crash loop", testPod(always, note("behaviour", "crash-loop")), crashes},
		{
			"crash loop of one",
			testPod(always, note("behaviour", "crash-loop"), note("container", "other")),
			crashes,
		},
		{
			"crash loop of init",
			testPod(always, note("behaviour", "crash-loop"), note("container", "init")),
			crashes,
		},
		{
			"crash loop, never",
			testPod(never, note("behaviour", "crash-loop")),
			"created started exited@300ms",
		},
		{
			"crash loop with a probe",
			testPod(always, note("behaviour", "crash-loop"), probed),
			"created started exited@300ms restarted@100ms exited-again@300ms backed-off@100ms " +
				"resumed@1s exited-again@300ms backed-off@100ms resumed@2s",
		},
		{
			"liveness kill",
			testPod(always, note("behaviour", "liveness-kill"), note("exit-after", "1s")),
			"created started killed@1s killed@1s killed-again@1s resumed@2s killed-again@1s resumed@4s",
		},
		{
			"liveness kill of one",
			testPod(always, note("behaviour", "liveness-kill"), note("container", "other")),
			"created started killed@300ms killed@300ms killed-again@300ms resumed@2s",
		},
		{
			"start error",
			testPod(always, note("behaviour", "start-error")),
			"created start-fails start-fails-again@100ms start-backed-off@1s start-fails-again@100ms " +
				"start-backed-off@2s",
		},
		{
			"start error of init",
			testPod(always, note("behaviour", "start-error"), note("container", "init")),
			"created start-fails start-fails-again@100ms start-backed-off@1s start-fails-again@100ms",
		},
		{
			"hook error of one",
			testPod(always, note("behaviour", "hook-error"), note("container", "other")),
			"created hook-fails hook-fails-again@100ms start-backed-off@1s hook-fails-again@100ms",
		},
		{"evicted", testPod(always, note("behaviour", "evicted")), "created started evicted@2s"},
		{
			"evicted later",
			testPod(always, note("behaviour", "evicted"), note("exit-after", "9s")),
			"created started evicted@9s",
		},
		{
			"slow, with a probe",
			testPod(always, note("ready-after", "5s"), probed),
			"created probe-fails ready@5s",
		},
		{
			"exits, slow, with a probe",
			testPod(always, note("ready-after", "5s"), note("exit-code", "1"), probed),
			"created started exited@300ms restarted@100ms exited-again@300ms backed-off@100ms resumed@1s",
		},
		{"events", testPod(always, note("events", "normal")), "created sandbox-ready started"},
		{
			"events of a pull error",
			testPod(always, note("events", "normal"), note("behaviour", "image-pull-error")),
			"created sandbox-ready pull-fails pull-waits@1.2s pull-fails-again@1.4s",
		},
		{"never ready", testPod(always, note("behaviour", "never-ready")), "created probe-fails"},
		{
			"never ready, slow",
			testPod(always, note("behaviour", "never-ready"), note("ready-after", "1s")),
			"created probe-fails",
		},
		{
			"never ready of one",
			testPod(always, note("behaviour", "never-ready"), note("container", "other")),
			"created probe-fails",
		},
		{"pending", testPod(always, note("behaviour", "pending")), "created"},
		{
			"exits",
			testPod(never, note("exit-code", "3"), note("exit-after", "2s")),
			"created started exited@2s",
		},
		{"exits, on failure", testPod(onFailure, note("exit-code", "0")), "created started exited@300ms"},
		{"exits again", testPod(onFailure, note("exit-code", "3")), crashes},
		{
			"one exits",
			testPod(never, note("exit-code", "3"), note("container", "other")),
			"created started exited@300ms",
		},
		{
			"init fails",
			testPod(never, note("exit-code", "3"), note("container", "init")),
			"created started exited@300ms",
		},
		{"job", testPod(never, ofJob), "created started exited@300ms"},
		{"job, on failure", testPod(onFailure, ofJob), "created started exited@300ms"},
		{"job, fails", testPod(never, ofJob, note("exit-code", "1")), "created started exited@300ms"},
		{
			"job, never ready",
			testPod(never, ofJob, note("behaviour", "never-ready")),
			"created probe-fails",
		},
		{
			"job, pull error",
			testPod(never, ofJob, note("behaviour", "image-pull-error")),
			"created pull-fails pull-waits@1.2s pull-fails-again@1.4s pull-waits@1.2s",
		},
		{"job, crashes", testPod(onFailure, ofJob, note("behaviour", "crash-loop")),
			crashes},
		{"job, slow", testPod(never, ofJob, note("ready-after", "1s")), "created started exited@300ms"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := newPlayer(t)
			if got := p.play(t, test.pod, max(5, len(strings.Fields(test.want)))); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
			if phase := test.pod.Status.Phase; phase != corev1.PodSucceeded && phase != corev1.PodFailed {
				p.stops(t, test.pod)
			}
		})
	}
}

// stops checks that a pod stops and is removed from the state that it is in.
func (p *player) stops(t *testing.T, pod *corev1.Pod) {
	t.Helper()
	pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = &metav1.Time{Time: p.now}, new(int64(30))
	pod.Annotations = map[string]string{kubelet.StopAfter: "1s"}
	if got := p.play(t, pod, 8); got != "stopped@1s removed" {
		t.Errorf("deleted in phase %s: got %s", pod.Status.Phase, got)
	}
}

// A pod that is well costs two writes, and no events unless it asks for them.
func TestWritesOfAHealthyPod(t *testing.T) {
	for events, want := range map[string]int{"": 2, "normal": 6} {
		pod := testPod(corev1.RestartPolicyAlways)
		if events != "" {
			pod.Annotations[kubelet.Events] = events
		}
		p := newPlayer(t)
		p.play(t, pod, 8)
		if p.writes != want {
			t.Errorf("events %q: %d writes, want %d", events, p.writes, want)
		}
	}
}

// A deleted pod stops within its grace period.
func TestPodStopsInTime(t *testing.T) {
	for after, want := range map[string]string{
		"": "stopped removed", "500ms": "stopped@500ms removed", "4s": "stopped@4s removed",
		"1m": "stopped@5s removed", "1m30s": "stopped@1m30s removed",
	} {
		p, pod := newPlayer(t), testPod(corev1.RestartPolicyAlways)
		p.play(t, pod, 8)
		if after != "" {
			pod.Annotations = map[string]string{kubelet.StopAfter: after}
		}
		pod.DeletionTimestamp = &metav1.Time{Time: p.now.Add(5 * time.Second)}
		pod.DeletionGracePeriodSeconds = new(int64(5))
		if got := p.play(t, pod, 8); got != want {
			t.Errorf("stop-after %q: got %s, want %s", after, got, want)
		}
	}
}

// A pod that no longer misbehaves recovers, and one that begins to does.
func TestPodStagesFollowTheAnnotations(t *testing.T) {
	for _, behaviour := range []string{
		"image-pull-error", "crash-loop", "liveness-kill", "start-error", "hook-error", "never-ready",
		"pending",
	} {
		p, pod := newPlayer(t), testPod(corev1.RestartPolicyAlways, note("behaviour", behaviour))
		p.play(t, pod, 4)
		delete(pod.Annotations, kubelet.Behaviour)
		p.play(t, pod, 8)
		if pod.Status.Phase != corev1.PodRunning ||
			pod.Status.ContainerStatuses[0].State.Running == nil ||
			!pod.Status.ContainerStatuses[0].Ready {
			t.Errorf("%s: it does not recover: %+v", behaviour, pod.Status)
		}
	}
	p, pod := newPlayer(t), testPod(corev1.RestartPolicyAlways)
	p.play(t, pod, 8)
	pod.Annotations = map[string]string{kubelet.Behaviour: kubelet.NeverReady}
	if got := p.play(t, pod, 8); got != "probe-fails" {
		t.Errorf("got %s", got)
	}
	delete(pod.Annotations, kubelet.Behaviour)
	if got := p.play(t, pod, 8); got != "ready" {
		t.Errorf("got %s", got)
	}
	pod.Generation, pod.Spec.Containers[0].Image = 2, "m:2"
	if got := p.play(t, pod, 8); got != "updated" ||
		pod.Status.ContainerStatuses[0].RestartCount != 1 {
		t.Errorf("got %s, %+v", got, pod.Status)
	}
}
