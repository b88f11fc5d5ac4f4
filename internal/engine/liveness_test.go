package engine_test

import (
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/base/limit"
	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/testing/enginetest"
)

// A container that has a liveness probe alone is ready while the probe fails, until the kubelet
// kills it. Its workload waits until the probe should have failed again, or the container ended.
func TestFailingLivenessProbesDelayReadiness(t *testing.T) {
	for _, c := range []struct {
		name     string
		failures []time.Duration // since the pod is ready
		restart  time.Duration   // 0: never
		want     time.Duration   // since the pod is ready; 0: not within a minute
	}{
		{"never", nil, 0, 2500 * time.Millisecond},
		{"once", []time.Duration{time.Second}, 0, 8 * time.Second},
		{"killed after a while", []time.Duration{time.Second, 6 * time.Second}, 10 * time.Second,
			20 * time.Second},
		{"killed late", []time.Duration{time.Second, 6 * time.Second}, 14 * time.Second,
			24 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(&enginetest.Cluster{})
				obj := replayed(false, 1)
				template := obj.Object["spec"].(map[string]any)["template"].(map[string]any)
				template["spec"] = map[string]any{
					"terminationGracePeriodSeconds": int64(6), "containers": []any{map[string]any{
						"name": "web", "livenessProbe": map[string]any{
							"periodSeconds": int64(5), "failureThreshold": int64(2)}}}}
				const first = time.Second
				go func() {
					began := time.Now()
					time.Sleep(first)
					w.becomeReady("Deployment/a", map[string]any{"conditions": []any{
						map[string]any{"type": "Available", "status": "True"},
						map[string]any{"type": "Progressing", "status": "True",
							"reason": "NewReplicaSetAvailable"}}})
					pod := w.runningPod("Deployment/a", time.Now(), 0)
					w.Put(pod)
					for n, after := range c.failures {
						time.Sleep(time.Until(began.Add(first + after)))
						w.Put(livenessFailure(pod, int64(n+1)))
					}
					if c.restart > 0 {
						time.Sleep(time.Until(began.Add(first + c.restart)))
						again := w.runningPod("Deployment/a", time.Now(), 1)
						again.SetCreationTimestamp(pod.GetCreationTimestamp())
						w.Put(again)
					}
				}()
				o := engine.Options{DryRun: engine.DryRunNone, Pods: engine.CheckPods()}
				o.Limits.Apply = limit.After(time.Minute)
				began := time.Now()
				summary, err := w.apply(t.Context(), policy(), o, want(obj)...)
				if err != nil || (summary.Failures() == 0) != (c.want > 0) {
					t.Fatalf("%d failures, error %v", summary.Failures(), err)
				}
				if took := time.Since(began) - first; c.want > 0 && took != c.want {
					t.Errorf("ready after %s, want %s", took, c.want)
				}
			})
		})
	}
}

// livenessFailure returns the event that the liveness probe of a pod has failed so many times.
func livenessFailure(pod *unstructured.Unstructured, count int64) *unstructured.Unstructured {
	event := thing("Event/unhealthy")
	event.Object["type"], event.Object["reason"] = "Warning", "Unhealthy"
	event.Object["message"] = "Liveness probe failed: HTTP probe failed with statuscode: 503"
	event.Object["count"], event.Object["lastTimestamp"] = count, time.Now().UTC().Format(time.RFC3339)
	event.Object["involvedObject"] = map[string]any{
		"uid": string(pod.GetUID()), "fieldPath": "spec.containers{web}",
	}
	return event
}
