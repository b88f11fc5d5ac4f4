package engine_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-deploy/muster/internal/base/limit"
	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/testing/enginetest"
)

// withSlowPod returns a cluster with an applied Deployment and a ConfigMap. Its pod needs a time to
// stop, of a grace period of 30 seconds.
func withSlowPod(t *testing.T, stops time.Duration) *world {
	t.Helper()
	w := newWorld(&enginetest.Cluster{
		Collects: true,
		Lingers:  map[object.Ref]time.Duration{ref("Pod/web-1-a"): stops},
		Script: map[object.Ref][]enginetest.Change{
			ref("Deployment/web"): {{After: time.Millisecond, Status: available}},
		},
	})
	if _, err := w.apply(t.Context(), policy(), realRun,
		want(thing("Deployment/web"), thing("ConfigMap/settings"))...); err != nil {
		t.Fatal(err)
	}
	for _, made := range [][2]string{
		{"Deployment/web", "ReplicaSet/web-1"}, {"ReplicaSet/web-1", "Pod/web-1-a"},
	} {
		obj := w.child(made[0], made[1], map[string]any{"phase": "Running"})
		blocks, owners := true, obj.GetOwnerReferences()
		owners[0].BlockOwnerDeletion = &blocks
		obj.SetOwnerReferences(owners)
		if obj.GetKind() == "Pod" {
			obj.Object["spec"] = map[string]any{
				"nodeName": "n", "terminationGracePeriodSeconds": int64(30),
			}
		}
		w.Put(obj)
	}
	w.lines, w.Wrote, w.Watched, w.Queries, w.Asked = nil, nil, nil, nil, nil
	return w
}

// awaitingPods is the policy of runs that wait for the pods of deleted workloads.
func awaitingPods() plan.Policy {
	p := policy()
	p.AwaitPods = true
	return p
}

// A destroy waits until the pods of its workloads are gone, and says which of them stop.
func TestDestroyAwaitsPods(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := withSlowPod(t, 20*time.Second)
		began := time.Now()
		if _, err := w.apply(t.Context(), awaitingPods(), realRun); err != nil {
			t.Fatal(err)
		}
		w.forget("configmap/settings")
		w.expect(t, `
			acted delete deployment.apps/web succeeded
			waiting delete deployment.apps/web (Terminating)
			observed delete deployment.apps/web (Terminating)
			explained delete deployment.apps/web: stopping for 3s; grace period 30s (terminationGracePeriodSeconds)
			settled delete deployment.apps/web succeeded (NotFound)`)
		if took := time.Since(began).Round(time.Second); took != 20*time.Second {
			t.Errorf("it took %s", took)
		}
		if left := w.Refs().Refs(); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
	})
}

// forget removes the lines about an object, which come between those about others at any time.
func (w *world) forget(name string) {
	w.lines = slices.DeleteFunc(w.lines, func(line string) bool {
		return strings.Contains(line, name)
	})
}

// Waiting for pods costs the watch of their workloads, and those of pods and events if they stop
// slowly. A set without workloads costs as much as before.
func TestAwaitedPodsCostLittle(t *testing.T) {
	count := func(t *testing.T, policy plan.Policy, stops time.Duration, wait bool) []int {
		w := withSlowPod(t, stops)
		if !wait { // without the workload
			w.Remove(ref("Deployment/web"))
		}
		if _, err := w.apply(t.Context(), policy, realRun); err != nil {
			t.Fatal(err)
		}
		return []int{len(w.Asked), len(w.Watched), len(w.Queries)}
	}
	for _, tc := range []struct {
		name   string
		policy plan.Policy
		stops  time.Duration
		all    bool
		want   []int // reads, watches of objects, queries
	}{
		{"as before", policy(), 20 * time.Second, true, []int{1, 0, 0}},
		{"pods that stop at once", awaitingPods(), 0, true, []int{1, 1, 0}},
		{"pods that need a moment", awaitingPods(), 2 * time.Second, true, []int{1, 1, 0}},
		{"slow pods", awaitingPods(), 20 * time.Second, true, []int{1, 1, 3}},
		{"no workload", awaitingPods(), 0, false, []int{2, 0, 0}},
		{"no workload, as before", policy(), 0, false, []int{2, 0, 0}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if diff := cmp.Diff(tc.want, count(t, tc.policy, tc.stops, tc.all)); diff != "" {
					t.Errorf("requests (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// The wait for pods has the limits of deletions. A workload whose pods are not gone in time stays
// in the record, and the next run waits for them.
func TestAwaitedPodsTimeOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := withSlowPod(t, 40*time.Second)
		o := engine.Options{DryRun: engine.DryRunNone,
			Limits: engine.Limits{Delete: limit.After(10 * time.Second)}}
		if _, err := w.apply(t.Context(), awaitingPods(), o); err != nil {
			t.Fatal(err)
		}
		w.forget("configmap/settings")
		w.expect(t, `
			acted delete deployment.apps/web succeeded
			waiting delete deployment.apps/web (Terminating)
			observed delete deployment.apps/web (Terminating)
			explained delete deployment.apps/web: stopping for 3s; grace period 30s (terminationGracePeriodSeconds)
			settled delete deployment.apps/web timed out (Terminating)
			explained delete deployment.apps/web: stopping for 10s; grace period 30s (terminationGracePeriodSeconds)`)
		w.expectRecord(t, "deployment.apps/web Delete Succeeded Timeout")
		if _, err := w.apply(t.Context(), awaitingPods(), realRun); err != nil {
			t.Fatal(err)
		}
		w.expect(t, `
			acted delete deployment.apps/web succeeded
			waiting delete deployment.apps/web (Terminating)
			explained delete deployment.apps/web: stopping for 13s; grace period 30s (terminationGracePeriodSeconds)
			explained delete deployment.apps/web: stopping for 35s, but its grace period was 30s: node n has not reported the end of its containers
			settled delete deployment.apps/web succeeded (NotFound)`)
	})
}

// Nothing is waited for whose dependents stay, or if the deletion itself is not waited for.
func TestPodsAreNotAwaited(t *testing.T) {
	for _, tc := range []struct {
		name   string
		policy plan.Policy
		change func(*plan.Plan)
	}{
		{name: "without the policy", policy: policy()},
		{name: "orphans", policy: func() plan.Policy {
			p := awaitingPods()
			p.Propagation = metav1.DeletePropagationOrphan
			return p
		}()},
		{name: "no wait", policy: awaitingPods(), change: func(p *plan.Plan) {
			for i := range p.Steps {
				p.Steps[i].Wait = false
			}
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := withSlowPod(t, 20*time.Second)
				e := &engine.Engine{Cluster: w.Cluster, Records: w.store}
				tc.policy.Destroy = true
				p, err := e.Plan(t.Context(), engine.Request{Policy: tc.policy})
				if err != nil {
					t.Fatal(err)
				}
				if tc.change != nil {
					tc.change(p)
				}
				began := time.Now()
				summary, err := e.Apply(t.Context(), p, realRun, func(event.Event) {})
				if err != nil || summary.Failures() > 0 || time.Since(began) > time.Second {
					t.Errorf("%+v, %v after %s", summary, err, time.Since(began))
				}
				if w.Object(ref("Deployment/web")) != nil || w.Object(ref("Pod/web-1-a")) == nil {
					t.Errorf("left: %v", w.Refs().Refs())
				}
			})
		})
	}
}

// A deleted namespace is explained by the pods in it, and then by its controller.
func TestStoppingPodsInNamespace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(&enginetest.Cluster{Lingers: map[object.Ref]time.Duration{
			ref("Namespace/n"): 40 * time.Second, ref("Pod/a"): 20 * time.Second,
		}})
		namespace, pod := thing("Namespace/n"), thing("Pod/a")
		namespace.SetFinalizers([]string{"hold"})
		pod.SetFinalizers([]string{"test"}) // so that it is marked
		pod.Object["spec"] = map[string]any{"terminationGracePeriodSeconds": int64(30)}
		if _, err := w.apply(t.Context(), policy(), realRun, want(namespace)...); err != nil {
			t.Fatal(err)
		}
		w.Put(pod)
		w.lines = nil
		time.AfterFunc(time.Second, func() {
			if _, err := w.Delete(t.Context(), cluster.Delete{Ref: ref("Pod/a")}); err != nil {
				t.Error(err)
			}
		})
		if _, err := w.apply(t.Context(), policy(), realRun); err != nil {
			t.Fatal(err)
		}
		w.expect(t, `
			acted delete namespace/n succeeded
			waiting delete namespace/n (Terminating)
			observed delete namespace/n (Terminating)
			explained delete namespace/n: it is being deleted and waits for its finalizers: hold
			explained delete namespace/n: it is being deleted and waits for its finalizers: hold: stopping for 2s; grace period 30s (terminationGracePeriodSeconds)
			settled delete namespace/n succeeded (NotFound)`)
	})
}
