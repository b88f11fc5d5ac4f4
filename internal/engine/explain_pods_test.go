package engine_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/base/limit"
	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/testing/enginetest"
)

// podEvent puts an event about container c of a pod, whose UID is its name.
func (w *world) podEvent(pod, kind, reason, message string) {
	obj := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Event", "type": kind, "reason": reason, "message": message,
		"lastTimestamp": time.Now().UTC().Format(time.RFC3339),
		"involvedObject": map[string]any{
			"uid": ref(pod).Name, "fieldPath": "spec.containers{c}",
		},
	}}
	obj.SetName(strings.ToLower("event-" + reason))
	obj.SetNamespace(ref(pod).Namespace)
	w.Put(obj)
}

// runs returns the status of a pod whose container runs again after it ended with a code; -1 if it
// runs for the first time.
func runs(code int64) map[string]any {
	container := map[string]any{"name": "c", "image": "x", "ready": false, "state": map[string]any{
		"running": map[string]any{"startedAt": time.Now().UTC().Format(time.RFC3339)},
	}}
	if code >= 0 {
		container["lastState"] = map[string]any{"terminated": map[string]any{"exitCode": code}}
	}
	return map[string]any{"phase": "Running", "containerStatuses": []any{container}}
}

// ofPods returns a workload whose pods have one container.
func ofPods(name, restartPolicy string, container map[string]any) *unstructured.Unstructured {
	obj := thing(name)
	container["name"] = "c"
	obj.Object["spec"] = map[string]any{"template": map[string]any{"spec": map[string]any{
		"restartPolicy": restartPolicy, "containers": []any{container},
	}}}
	return obj
}

// TestCausesOfPods plays what happens to a pod of a Deployment that is ready after 20 seconds.
func TestCausesOfPods(t *testing.T) {
	for _, tc := range []struct {
		name      string
		container map[string]any
		play      func(w *world, put func(status map[string]any))
		logs      []string
		queries   string
		want      string
	}{
		{
			name: "killed", container: map[string]any{"livenessProbe": map[string]any{}},
			play: func(w *world, put func(map[string]any)) {
				put(runs(-1))
				time.Sleep(3 * time.Second)
				w.podEvent("Pod/p", "Warning", "Unhealthy", "Liveness probe failed: 503")
				w.podEvent("Pod/p", "Normal", "Killing", "Container c failed liveness probe, will be restarted")
				put(runs(2))
			},
			logs:    []string{"waits for a lock"},
			queries: "ReplicaSet.apps, Pod, Event reason=Killing, Event type=Warning",
			want: "explained create deployment.apps/a: container c was killed, because its liveness " +
				"probe failed: 503 [waits for a lock]",
		},
		{
			name: "a failing probe of a slow start", container: map[string]any{},
			play: func(w *world, put func(map[string]any)) {
				put(runs(-1))
				time.Sleep(time.Second)
				w.podEvent("Pod/p", "Warning", "Unhealthy", "Readiness probe failed: connection refused")
				time.Sleep(8 * time.Second)
				put(map[string]any{"phase": "Running", "conditions": []any{
					map[string]any{"type": "Ready", "status": "True"},
				}})
			},
			queries: "ReplicaSet.apps, Pod, Event type=Warning",
		},
		{
			name: "a probe that fails for good", container: map[string]any{},
			play: func(w *world, put func(map[string]any)) {
				put(runs(-1))
				time.Sleep(time.Second)
				w.podEvent("Pod/p", "Warning", "Unhealthy", "Readiness probe failed: no database")
			},
			queries: "ReplicaSet.apps, Pod, Event type=Warning",
			want:    "explained create deployment.apps/a: Unhealthy: Readiness probe failed: no database",
		},
		{
			name: "ready again after a crash", container: map[string]any{},
			play: func(w *world, put func(map[string]any)) {
				put(starts)
				time.Sleep(3 * time.Second)
				again := runs(1)
				again["conditions"] = []any{map[string]any{"type": "Ready", "status": "True"}}
				again["containerStatuses"].([]any)[0].(map[string]any)["ready"] = true
				put(again)
			},
			logs:    []string{"no database"},
			queries: "ReplicaSet.apps, Pod, Event type=Warning",
			want: "explained create deployment.apps/a: container c crashes: it ended with exit code 1 " +
				"[no database]",
		},
		{
			name: "ready since long after a crash", container: map[string]any{},
			play: func(w *world, put func(map[string]any)) {
				again := runs(1)
				again["conditions"] = []any{map[string]any{"type": "Ready", "status": "True"}}
				again["containerStatuses"].([]any)[0].(map[string]any)["ready"] = true
				time.Sleep(11 * time.Second)
				put(again)
			},
			queries: "ReplicaSet.apps, Pod, Event type=Warning",
		},
		{
			name: "an event before the status", container: map[string]any{},
			play: func(w *world, put func(map[string]any)) {
				put(starts)
				time.Sleep(2 * time.Second)
				w.podEvent("Pod/p", "Warning", "Failed", "Error: ErrImagePull")
				time.Sleep(1500 * time.Millisecond)
				put(noImage)
			},
			queries: "ReplicaSet.apps, Pod, Event type=Warning",
			want:    `explained create deployment.apps/a: container c: image "x": no such image`,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(&enginetest.Cluster{
					Script: map[object.Ref][]enginetest.Change{
						ref("Deployment/a"): {{After: 20 * time.Second, Status: available}},
					},
					Logs: map[object.Ref][]string{ref("Pod/p"): tc.logs},
				})
				time.AfterFunc(100*time.Millisecond, func() {
					w.Put(w.child("Deployment/a", "ReplicaSet/a", nil))
					tc.play(w, func(status map[string]any) {
						pod := w.child("ReplicaSet/a", "Pod/p", status)
						pod.SetUID("p")
						w.Put(pod)
					})
				})
				o := engine.Options{DryRun: engine.DryRunNone, LogLines: 3}
				_, err := w.apply(t.Context(), policy(), o,
					want(ofPods("Deployment/a", "Always", tc.container))...)
				if err != nil {
					t.Fatal(err)
				}
				w.explained()
				w.expect(t, tc.want)
				var queries []string
				for _, q := range w.Queries {
					queries = append(queries, strings.TrimSpace(fmt.Sprintf("%s %s", q.Kind, q.Fields)))
				}
				if got := strings.Join(queries, ", "); got != tc.queries {
					t.Errorf("watches %s, want %s", got, tc.queries)
				}
			})
		})
	}
}

// The controller of a Job deletes a pod that was restarted too often, with its log.
func TestJobKeepsTheCauseOfItsFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failed := map[string]any{
			"startTime": "2000-01-01T00:00:00Z", "failed": int64(1), "conditions": []any{map[string]any{
				"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded",
				"message": "Job has reached the specified backoff limit",
			}},
		}
		w := newWorld(&enginetest.Cluster{
			Script: map[object.Ref][]enginetest.Change{ref("Job/a"): {
				{After: 50 * time.Millisecond, Status: map[string]any{"startTime": "2000-01-01T00:00:00Z"}},
				{After: 2 * time.Second, Status: failed},
			}},
			Logs: map[object.Ref][]string{ref("Pod/p"): {"no such table"}},
		})
		put := func(after time.Duration, deleted bool, status map[string]any) {
			time.AfterFunc(after, func() {
				pod := w.child("Job/a", "Pod/p", status)
				pod.SetUID("p")
				pod.Object["spec"] = map[string]any{"restartPolicy": "OnFailure"}
				owners := pod.GetOwnerReferences()
				owners[0].APIVersion, owners[0].Kind = "batch/v1", "Job"
				pod.SetOwnerReferences(owners)
				if deleted {
					now := metav1.Now()
					pod.SetDeletionTimestamp(&now)
					pod.SetFinalizers([]string{"batch.kubernetes.io/job-tracking"})
				}
				w.Put(pod)
			})
		}
		put(100*time.Millisecond, false, runs(-1))
		put(200*time.Millisecond, false, quits)
		put(600*time.Millisecond, true, quits)
		time.AfterFunc(700*time.Millisecond, func() {
			w.DropLogs()
			w.Remove(ref("Pod/p"))
		})
		o := engine.Options{
			DryRun: engine.DryRunNone, LogLines: 3, Limits: engine.Limits{Apply: limit.After(time.Minute)},
		}
		_, err := w.apply(t.Context(), policy(), o,
			want(ofPods("Job/a", "OnFailure", map[string]any{}))...)
		if err != nil {
			t.Fatal(err)
		}
		w.lines = slices.DeleteFunc(w.lines, func(line string) bool {
			return !strings.HasPrefix(line, "explained") && !strings.HasPrefix(line, "settled")
		})
		w.expect(t, `
			explained create job.batch/a: container c crashes: it ended with exit code 1 [no such table]
			settled create job.batch/a failed (Failed)
			explained create job.batch/a: container c crashes: it ended with exit code 1 [no such table]`)
	})
}
