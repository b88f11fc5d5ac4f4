package ready

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// crashingPod returns a pod of the owner with UID r, whose container ended with a message.
func crashingPod(name, message string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{
			"name": name, "namespace": "shop", "uid": name,
			"ownerReferences": []any{map[string]any{"uid": "r", "controller": true}},
		},
		"spec": map[string]any{"restartPolicy": "Always"},
		"status": map[string]any{"phase": "Running", "containerStatuses": []any{map[string]any{
			"name": "c", "restartCount": int64(3),
			"state": map[string]any{"waiting": map[string]any{"reason": "CrashLoopBackOff"}},
			"lastState": map[string]any{"terminated": map[string]any{
				"exitCode": int64(1), "message": message,
			}},
		}}},
	}}
}

// warningEvent returns a Warning event about an object.
func warningEvent(name, about, reason, message string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Event", "type": "Warning", "reason": reason, "message": message,
		"metadata":       map[string]any{"name": name, "namespace": "shop"},
		"lastTimestamp":  "2026-01-01T10:00:00Z",
		"involvedObject": map[string]any{"uid": about},
	}}
}

// replicaSetWithPods returns a ReplicaSet with UID r that waits for its pods.
func replicaSetWithPods() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "ReplicaSet",
		"metadata": map[string]any{"name": "web", "namespace": "shop", "uid": "r"},
	}}
}

// causesOf returns the causes of an object with related ones.
func causesOf(obj *unstructured.Unstructured, related ...*unstructured.Unstructured) []Cause {
	all := NewRelatedObjects()
	for _, r := range related {
		all.Add(EvidenceOf(r, Of(r)))
	}
	return all.Causes(EvidenceOf(obj, Of(obj)), time.Time{}, time.Now())
}

// An object has a limited number of causes, however many of its pods fail in different ways.
func TestNumberOfCauses(t *testing.T) {
	var pods []*unstructured.Unstructured
	for i := range 3000 {
		pods = append(pods, crashingPod(fmt.Sprintf("p-%04d", i), fmt.Sprintf("case %d", i)))
	}
	began := time.Now()
	causes := causesOf(replicaSetWithPods(), pods...)
	t.Logf("took %s", time.Since(began))
	if len(causes) != maxCauses+1 {
		t.Fatalf("%d causes", len(causes))
	}
	last := causes[maxCauses]
	if want := "2980 other causes are not listed"; last.Message != want || last.Idle {
		t.Errorf("the last is %+v, want %q", last, want)
	}
	if more := causesOf(replicaSetWithPods(), pods[:2000]...); !more[maxCauses].Same(last) {
		t.Errorf("another number of causes is a new cause: %q", more[maxCauses].Message)
	}
}

// A limited number of events about an object is kept: the latest.
func TestNumberOfEvents(t *testing.T) {
	pod := crashingPod("p", "")
	delete(pod.Object, "status")
	events := []*unstructured.Unstructured{pod}
	for i := range 5000 {
		e := warningEvent(fmt.Sprintf("e-%d", i), "p", "Unhealthy", fmt.Sprintf("probe failed: %d", i))
		e.Object["lastTimestamp"] = time.Unix(int64(1_800_000_000-i), 0).UTC().Format(time.RFC3339)
		events = append(events, e)
	}
	related := NewRelatedObjects()
	began := time.Now()
	for _, obj := range events {
		related.Add(EvidenceOf(obj, Of(obj)))
	}
	obj := replicaSetWithPods()
	causes := related.Causes(EvidenceOf(obj, Of(obj)), time.Time{}, time.Unix(2_000_000_000, 0))
	t.Logf("took %s", time.Since(began))
	if kept := len(related.events["p"]); kept != maxEvents {
		t.Errorf("%d events are kept", kept)
	}
	if len(causes) != 1 || causes[0].Message != "Unhealthy: probe failed: 0" {
		t.Errorf("causes are %+v", causes)
	}
}

// Repetitions of an event count, but not more of them than there can be.
func TestReportsOfEvents(t *testing.T) {
	e := warningEvent("e", "r", "FailedCreate", "no")
	for count, want := range map[int64]int{-5: 0, 7: 7, 1 << 62: maxReports} {
		e.Object["count"] = count
		if got := EvidenceOf(e, Status{}).warning.count; got != want {
			t.Errorf("count %d is %d", count, got)
		}
	}
}

// What others write into statuses and events becomes one line of limited length.
func TestLengthOfCauses(t *testing.T) {
	long := "a\nb " + strings.Repeat("ü", 1<<20)
	pod := crashingPod("p", long)
	waiting := crashingPod("q\nerror: q", "")
	status := list(waiting, "status", "containerStatuses")[0]
	status["name"], status["state"] = "c\n"+long, map[string]any{
		"waiting": map[string]any{"reason": "Bad\nerror: x", "message": "m"},
	}
	evicted := crashingPod("s", "")
	evicted.Object["status"] = map[string]any{"phase": "Failed", "reason": "x\ny", "message": long}
	event := warningEvent("e", "r", "A\nB", long)
	custom := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Thing",
		"status": map[string]any{"conditions": []any{map[string]any{
			"type": "Degraded", "status": "True", "reason": "a\nb", "message": long,
		}}},
	}}
	causes := append(causesOf(replicaSetWithPods(), pod, waiting), causesOf(custom)...)
	causes = append(causes, causesOf(replicaSetWithPods(), event)...)
	causes = append(causes, causesOf(replicaSetWithPods(), evicted)...)
	if len(causes) != 5 {
		t.Fatalf("%d causes", len(causes))
	}
	for _, c := range causes {
		if len(c.Message) > maxText+10 || strings.Contains(c.Message, "\n") {
			t.Errorf("message of %d bytes, begins with %.40q", len(c.Message), c.Message)
		}
		if len(c.similarity) > 2*maxText || len(c.Container) > maxText+10 {
			t.Errorf("%d and %d bytes", len(c.similarity), len(c.Container))
		}
	}
	for _, obj := range []*unstructured.Unstructured{pod, waiting, evicted, custom} {
		if s := Of(obj); len(s.Message) > maxText+200 {
			t.Errorf("status of %d bytes: %.40q", len(s.Message), s.Message)
		}
		for _, c := range FactsOf(obj).Conditions {
			if len(c.Message) > maxText+10 {
				t.Errorf("condition of %d bytes", len(c.Message))
			}
		}
	}
}
