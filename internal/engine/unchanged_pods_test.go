package engine_test

import (
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/record"
	"github.com/muster-deploy/muster/internal/testing/enginetest"
)

// The status of a workload that the run does not change may be that of the moment at which a
// container that crashes runs. Its pods are looked at if no probe and no condition shows that.
func TestUnchangedWorkloadsAreJudgedByTheirPods(t *testing.T) {
	const then = "1999-12-31T00:00:00Z"
	available := map[string]any{"conditions": []any{
		map[string]any{"type": "Available", "status": "True", "lastTransitionTime": then},
		map[string]any{"type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable",
			"lastTransitionTime": then}}}
	lacks := func(some string) map[string]any {
		return map[string]any{"strategy": map[string]any{
			"rollingUpdate": map[string]any{"maxUnavailable": some}}}
	}
	for _, c := range []struct {
		name   string
		kind   string
		probed bool
		status map[string]any
		spec   map[string]any
		failed bool // according to the record
		want   time.Duration
	}{
		{"StatefulSet", "StatefulSet", false, nil, nil, false, 6500 * time.Millisecond},
		{"StatefulSet with a probe", "StatefulSet", true, nil, nil, false, 0},
		{"Deployment that is available since its rollout", "Deployment", false, available,
			lacks("25%"), false, 0},
		{"Deployment of a run that failed", "Deployment", false, available, lacks("25%"), true,
			6500 * time.Millisecond},
		{"Deployment that lacks some pods", "Deployment", false, available, lacks("50%"), false,
			6500 * time.Millisecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(&enginetest.Cluster{})
				name := c.kind + "/a"
				obj := thing(name)
				obj.Object["spec"] = replayed(c.probed, 1).Object["spec"]
				for key, value := range c.spec {
					obj.Object["spec"].(map[string]any)[key] = value
				}
				go func() {
					time.Sleep(time.Second)
					w.becomeReady(name, c.status)
				}()
				o := engine.Options{DryRun: engine.DryRunNone, Pods: engine.CheckPods()}
				if _, err := w.apply(t.Context(), policy(), o, want(obj)...); err != nil {
					t.Fatal(err)
				}
				if c.failed {
					w.store.State.Members[0].Reconcile = record.TimedOut
				}
				w.Put(w.restarted(name, 3*time.Second))
				began := time.Now()
				summary, err := w.apply(t.Context(), policy(), o, want(obj)...)
				if err != nil || summary.Failures() > 0 {
					t.Fatalf("%d failures, error %v", summary.Failures(), err)
				}
				if took := time.Since(began); took != c.want {
					t.Errorf("ready after %s, want %s", took, c.want)
				}
			})
		})
	}
}

// becomeReady sets the status of a workload with one pod, besides fields of it.
func (w *world) becomeReady(name string, fields map[string]any) {
	obj := w.Object(ref(name))
	status := map[string]any{"replicas": int64(1), "readyReplicas": int64(1),
		"updatedReplicas": int64(1), "currentReplicas": int64(1), "availableReplicas": int64(1),
		"observedGeneration": obj.GetGeneration()}
	for key, value := range fields {
		status[key] = value
	}
	obj.Object["status"] = status
	w.Put(obj)
}

// restarted returns a ready pod of a workload whose container was restarted some time ago.
func (w *world) restarted(owner string, ago time.Duration) *unstructured.Unstructured {
	pod := w.runningPod(owner, time.Now().Add(-ago), 2)
	pod.SetCreationTimestamp(metav1.NewTime(time.Now().Add(-time.Hour)))
	return pod
}

// runningPod returns a ready pod of a workload that is as old as the present run of its container,
// the one after a number of restarts.
func (w *world) runningPod(
	owner string, since time.Time, restarts int64,
) *unstructured.Unstructured {
	pod := thing("Pod/a-0")
	pod.SetUID(types.UID("a-0"))
	pod.SetCreationTimestamp(metav1.NewTime(since))
	pod.SetLabels(map[string]string{"app": "a"})
	controller := w.owner(owner)
	reference := metav1.OwnerReference{Kind: controller.GetKind(), Name: "a", Controller: new(true),
		APIVersion: controller.GetAPIVersion(), UID: controller.GetUID()}
	if controller.GetKind() == "Deployment" {
		pod.SetLabels(map[string]string{"app": "a", "pod-template-hash": "h"})
		reference.Kind, reference.Name, reference.UID = "ReplicaSet", "a-h", "r"
	}
	pod.SetOwnerReferences([]metav1.OwnerReference{reference})
	started := since.UTC().Format(time.RFC3339)
	pod.Object["spec"] = map[string]any{"restartPolicy": "Always", "nodeName": "n"}
	pod.Object["status"] = map[string]any{
		"phase":      "Running",
		"conditions": []any{map[string]any{"type": "Ready", "status": "True"}},
		"containerStatuses": []any{map[string]any{"name": "web", "ready": true, "restartCount": restarts,
			"state": map[string]any{"running": map[string]any{"startedAt": started}}}},
	}
	return pod
}
