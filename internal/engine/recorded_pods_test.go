package engine_test

import (
	"bufio"
	"cmp"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-deploy/muster/internal/base/limit"
	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/testing/enginetest"
)

// recordedLine is a status of a pod, some time after the first one of its namespace.
type recordedLine struct {
	after time.Duration
	pod   string
	phase string
	rest  string
}

// recordedPods returns the statuses that a kubelet 1.36 reported, by namespace, in the form in
// which local/kubelet/record prints them.
func recordedPods(t *testing.T) map[string][]recordedLine {
	t.Helper()
	file, err := os.Open("testdata/pod-statuses.log")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	found, first := map[string][]recordedLine{}, map[string]time.Time{}
	over := map[string]bool{} // the namespace was deleted
	for lines := bufio.NewScanner(file); lines.Scan(); {
		fields := strings.SplitN(lines.Text(), " ", 4)
		at, err := time.Parse(time.TimeOnly, fields[0])
		if err != nil {
			t.Fatal(err)
		}
		namespace, pod, _ := strings.Cut(fields[1], "/")
		namespace = strings.TrimPrefix(namespace, "c-")
		if first[namespace].IsZero() {
			first[namespace] = at
		}
		if strings.HasSuffix(lines.Text(), "DELETING") {
			over[namespace] = true
		}
		if over[namespace] {
			continue
		}
		found[namespace] = append(found[namespace],
			recordedLine{at.Sub(first[namespace]), pod, fields[2], strings.Join(fields[3:], " ")})
	}
	return found
}

// recordedContainer matches NAME:STATE/REASON(CODE) rRESTARTS± last=REASON(CODE).
var recordedContainer = regexp.MustCompile(
	`(\w+):(\w+)/(\w*)(?:\((\d+)\))? r(\d+)([+-])(?: last=(\w+)\((\d+)\))?`)

// replay is a Deployment whose pods are played.
type replay struct {
	*world
	pods    map[string]*unstructured.Unstructured
	started map[string]string // of the containers of pods
}

// replayed returns the Deployment; a pod of it has a probe or not.
func replayed(probed bool, replicas int64) *unstructured.Unstructured {
	obj := thing("Deployment/a")
	container := map[string]any{"name": "web"}
	if probed {
		container["readinessProbe"] = map[string]any{}
	}
	labels := map[string]any{"app": "a"}
	obj.Object["spec"] = map[string]any{
		"selector": map[string]any{"matchLabels": labels}, "replicas": replicas,
		"template": map[string]any{
			"metadata": map[string]any{"labels": labels},
			"spec":     map[string]any{"containers": []any{container}},
		},
	}
	return obj
}

// play sets a pod to a recorded status, and then the status of the Deployment.
func (r *replay) play(line recordedLine) {
	now := time.Now().UTC().Format(time.RFC3339)
	pod := r.pods[line.pod]
	if pod == nil {
		pod = thing("Pod/a-h-" + line.pod)
		pod.SetUID(types.UID(line.pod))
		pod.SetCreationTimestamp(metav1.Now())
		pod.SetLabels(map[string]string{"app": "a", "pod-template-hash": "h"})
		owner := metav1.OwnerReference{
			Kind: "ReplicaSet", APIVersion: "apps/v1", Name: "a-h", Controller: new(true),
		}
		if set := r.owner("ReplicaSet/a-h"); set != nil {
			owner.UID = set.GetUID()
		}
		pod.SetOwnerReferences([]metav1.OwnerReference{owner})
		pod.Object["spec"] = map[string]any{"restartPolicy": "Always", "nodeName": "n"}
		r.pods[line.pod] = pod
	}
	ready := line.phase == "Running"
	var statuses []any
	for _, m := range recordedContainer.FindAllStringSubmatch(line.rest, -1) {
		id := line.pod + "/" + m[1] + "/" + m[5]
		r.started[id] = cmp.Or(r.started[id], now)
		detail := map[string]any{}
		switch m[2] {
		case "running":
			detail["startedAt"] = r.started[id]
		case "terminated":
			code, _ := strconv.ParseInt(m[4], 10, 64)
			detail["exitCode"], detail["reason"] = code, m[3]
			detail["startedAt"], detail["finishedAt"] = r.started[id], now
		default:
			detail["reason"], detail["message"] = m[3], "it waits"
		}
		restarts, _ := strconv.ParseInt(m[5], 10, 64)
		status := map[string]any{"name": m[1], "image": "x", "restartCount": restarts,
			"ready": m[6] == "+", "state": map[string]any{m[2]: detail}}
		if m[7] != "" {
			code, _ := strconv.ParseInt(m[8], 10, 64)
			before := r.started[line.pod+"/"+m[1]+"/"+strconv.FormatInt(restarts-1, 10)]
			status["lastState"] = map[string]any{"terminated": map[string]any{
				"exitCode": code, "reason": m[7], "finishedAt": now, "startedAt": before}}
		}
		statuses = append(statuses, status)
		ready = ready && m[6] == "+"
	}
	condition := map[string]any{"type": "Ready", "status": "False", "lastTransitionTime": now}
	if ready {
		condition["status"] = "True"
	}
	pod.Object["status"] = map[string]any{"phase": line.phase, "startTime": now,
		"containerStatuses": statuses, "conditions": []any{condition}}
	r.Put(pod)
	r.control()
}

// control sets the status of the Deployment as its controller does.
func (r *replay) control() {
	obj := r.Object(ref("Deployment/a"))
	if obj == nil {
		return
	}
	if r.owner("ReplicaSet/a-h") == nil {
		set := r.child("Deployment/a", "ReplicaSet/a-h", nil)
		set.SetLabels(map[string]string{"app": "a"})
		r.Put(set)
		for _, pod := range r.pods {
			pod.SetOwnerReferences([]metav1.OwnerReference{{Kind: "ReplicaSet", APIVersion: "apps/v1",
				Name: "a-h", UID: r.owner("ReplicaSet/a-h").GetUID(), Controller: new(true)}})
			r.Put(pod)
		}
	}
	var have, ready int64
	for _, pod := range r.pods {
		phase, _, _ := unstructured.NestedString(pod.Object, "status", "phase")
		if phase == "Failed" || phase == "Succeeded" {
			continue
		}
		have++
		list, _, _ := unstructured.NestedSlice(pod.Object, "status", "conditions")
		if list[0].(map[string]any)["status"] == "True" {
			ready++
		}
	}
	status := map[string]any{"replicas": have, "updatedReplicas": have, "readyReplicas": ready,
		"availableReplicas": ready, "observedGeneration": obj.GetGeneration(),
		"conditions": []any{
			map[string]any{"type": "Available", "status": "True"},
			map[string]any{"type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable"},
		}}
	obj.Object["status"] = status
	r.Put(obj)
}

// outcome applies a Deployment whose pods are played, and returns how the run ended and when.
func outcome(
	t *testing.T, workload *unstructured.Unstructured, lines []recordedLine, o engine.Options,
) (word string, after time.Duration) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := &replay{
			world: newWorld(&enginetest.Cluster{}), pods: map[string]*unstructured.Unstructured{},
			started: map[string]string{},
		}
		const first = time.Second
		stop := make(chan struct{})
		go func() {
			began := time.Now()
			for _, line := range lines {
				select {
				case <-time.After(time.Until(began.Add(first + line.after))):
					r.play(line)
				case <-stop:
					return
				}
			}
		}()
		last := lines[len(lines)-1].after
		o.Limits.Apply = limit.After(last + first + 15*time.Second)
		began := time.Now()
		summary, err := r.apply(t.Context(), policy(), o, want(workload)...)
		close(stop)
		if err != nil {
			t.Fatal(err)
		}
		after = time.Since(began) - first
		switch word = "ready"; {
		case summary.Failures() == 0:
		case after >= last+15*time.Second:
			word = "timed out"
		default:
			word = "stuck"
		}
	})
	return word, after
}

// recordedReady are the recorded workloads that become ready, and when. The programs of two of them
// crash later than it is waited for, and those of evict are evicted after a minute.
var recordedReady = map[string]time.Duration{
	"ok": 2500 * time.Millisecond, "slowstart": 17 * time.Second, "initslow": 12 * time.Second,
	"claim": 6500 * time.Millisecond, "downregistry": 3500 * time.Millisecond,
	"evict": 8500 * time.Millisecond, "prestop": 2500 * time.Millisecond,
	"slowstop": 3500 * time.Millisecond, "stopafter": 2500 * time.Millisecond,
	"stubborn":  4500 * time.Millisecond,
	"crashlate": 2500 * time.Millisecond, "dscrash": 6500 * time.Millisecond,
	"flaky": 24 * time.Second,
}

// crashTwice are the recorded workloads that end with --fail-fast, and the second until which: a
// container has ended again after a restart.
var crashTwice = map[string]time.Duration{
	"command": 5, "crash": 5, "crashlateprobe": 12, "crashprobe": 15, "exit0": 5, "exit0probe": 20,
	"flaky": 5, "initcrash": 6, "liveness": 12, "livenessready": 12, "message": 5,
	"messageprobe": 16, "oom": 5, "oomprobe": 13, "panic": 5, "panicprobe": 18, "port": 5,
	"poststart": 5, "sidecar": 8, "startup": 12, "stscrash": 13, "subpath": 5,
}

// No recorded workload whose containers crash is ready at any time, and --fail-fast ends soon.
func TestRecordedPods(t *testing.T) {
	probes := regexp.MustCompile("probe|flaky|ready|slowstart|startup|initslow")
	for name, lines := range recordedPods(t) {
		if strings.HasPrefix(name, "job") || strings.HasPrefix(name, "bare") || name == "roll" ||
			name == "mixed" || name == "minready" {
			continue // not the pods of one Deployment, or its status is not played
		}
		t.Run(name, func(t *testing.T) {
			probed := probes.MatchString(name)
			replicas := int64(1)
			if name == "ok" || name == "hostport" || name == "stscrash" {
				replicas = 2
			}
			o := engine.Options{DryRun: engine.DryRunNone, Pods: engine.CheckPods()}
			word, after := outcome(t, replayed(probed, replicas), lines, o)
			if at, ready := recordedReady[name]; ready != (word == "ready") || ready && after != at {
				t.Errorf("%s after %s, want %s (0s is never)", word, after, at)
			}
			o.StopOn.Stuck = true
			word, after = outcome(t, replayed(probed, replicas), lines, o)
			if limit, stuck := crashTwice[name]; stuck &&
				(word != "stuck" || after > limit*time.Second) {
				t.Errorf("with --fail-fast %s after %s, want stuck within %ds", word, after, limit)
			}
		})
	}
}
