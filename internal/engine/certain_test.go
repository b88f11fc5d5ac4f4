package engine_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/base/limit"
	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/testing/enginetest"
)

// report puts a Warning event about an object that was reported count times.
func (w *world) report(about, reason, message string, count int64) {
	w.reportAs("report-"+reason, about, reason, message, count)
}

// reportAs puts such an event with a name.
func (w *world) reportAs(name, about, reason, message string, count int64) {
	obj := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Event", "type": "Warning", "reason": reason, "message": message,
		"count": count, "lastTimestamp": time.Now().Add(time.Second).UTC().Format(time.RFC3339),
		"involvedObject": map[string]any{"uid": string(w.owner(about).GetUID())},
	}}
	obj.SetName(name)
	obj.SetNamespace(ref(about).Namespace)
	w.Put(obj)
}

const insecure = `pods "a-x" is forbidden: violates PodSecurity "restricted:latest"`

// A certain cause ends the wait once the cluster has repeated it, if nothing else may change it.
func TestGiveUp(t *testing.T) {
	for _, tc := range []struct {
		name    string
		message string
		keep    bool          // the option is not set
		every   time.Duration // between two reports
		other   time.Duration // until another object is ready; 0 without one
		took    time.Duration
		want    string
	}{
		{name: "reported again", message: insecure, every: 4 * time.Second,
			took: 11 * time.Second, want: "failed"},
		{name: "rarely reported", message: insecure, every: 15 * time.Second,
			took: 31 * time.Second, want: "failed"},
		{name: "reported once", message: insecure, every: time.Hour,
			took: time.Minute, want: "timed out"},
		{name: "another object is awaited", message: insecure, every: 4 * time.Second,
			other: 30 * time.Second, took: 40 * time.Second, want: "failed"},
		{name: "without the option", message: insecure, keep: true, every: 4 * time.Second,
			took: time.Minute, want: "timed out"},
		{name: "a quota", message: `pods "a-x" is forbidden: exceeded quota: q`, every: 4 * time.Second,
			took: time.Minute, want: "timed out"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(&enginetest.Cluster{})
				objects := want(thing("Deployment/a"))
				if tc.other > 0 {
					objects = want(thing("Deployment/a"), thing("Deployment/b"))
					w.Script = map[object.Ref][]enginetest.Change{
						ref("Deployment/b"): {{After: tc.other, Status: available}},
					}
				}
				time.AfterFunc(100*time.Millisecond, func() {
					w.Put(w.child("Deployment/a", "ReplicaSet/a", map[string]any{"conditions": []any{
						map[string]any{"type": "ReplicaFailure", "status": "True",
							"reason": "FailedCreate", "message": tc.message}}}))
					w.report("ReplicaSet/a", "FailedCreate", tc.message, 1)
				})
				for i := range 14 {
					time.AfterFunc(time.Duration(i+1)*tc.every, func() {
						w.report("ReplicaSet/a", "FailedCreate", tc.message, int64(i+2))
					})
				}
				began := time.Now()
				o := engine.Options{DryRun: engine.DryRunNone,
					GiveUp: !tc.keep, Limits: engine.Limits{Apply: limit.After(time.Minute)}}
				if _, err := w.apply(t.Context(), policy(), o, objects...); err != nil {
					t.Fatal(err)
				}
				took := time.Since(began)
				if took < tc.took-time.Second || took > tc.took+time.Second {
					t.Errorf("took %s, want %s", took, tc.took)
				}
				line := fmt.Sprintf("settled create deployment.apps/a %s", tc.want)
				if !slices.ContainsFunc(w.lines, func(l string) bool { return strings.HasPrefix(l, line) }) {
					t.Errorf("no line %q in %q", line, w.lines)
				}
			})
		})
	}
}

// A missing object that a step of the run applies is no reason to stop.
func TestFailFastAwaitsOwnObjects(t *testing.T) {
	for name, took := range map[string]time.Duration{
		"ConfigMap/settings": time.Minute, "ConfigMap/other": 11 * time.Second,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(&enginetest.Cluster{})
				time.AfterFunc(100*time.Millisecond, func() {
					w.Put(w.child("Deployment/a", "ReplicaSet/a", nil))
					w.Put(w.child("ReplicaSet/a", "Pod/a", container(map[string]any{
						"waiting": map[string]any{"reason": "CreateContainerConfigError",
							"message": `configmap "settings" not found`}})))
				})
				began := time.Now()
				o := engine.Options{
					DryRun: engine.DryRunNone,
					Limits: engine.Limits{Apply: limit.After(time.Minute)}, StopOn: engine.StopOn{Stuck: true},
				}
				_, err := w.apply(t.Context(), policy(), o,
					want(thing(name), thing("Deployment/a"))...)
				if err != nil {
					t.Fatal(err)
				}
				if got := time.Since(began); got < took-time.Second || got > took+time.Second {
					t.Errorf("took %s, want %s", got, took)
				}
			})
		})
	}
}

// A claim that is not bound yet is printed as a cause only after some seconds.
func TestDoubtsMustLast(t *testing.T) {
	for _, ready := range []time.Duration{4 * time.Second, 20 * time.Second} {
		t.Run(ready.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(&enginetest.Cluster{Script: map[object.Ref][]enginetest.Change{
					ref("Deployment/a"): {{After: ready, Status: available}},
				}})
				time.AfterFunc(100*time.Millisecond, func() {
					w.Put(w.child("Deployment/a", "ReplicaSet/a", nil))
					w.Put(w.child("ReplicaSet/a", "Pod/a", map[string]any{"phase": "Pending"}))
					w.report("Pod/a", "FailedScheduling", "pod has unbound immediate PersistentVolumeClaims", 1)
				})
				at := w.times()
				if _, err := w.apply(t.Context(), policy(), realRun,
					want(thing("Deployment/a"))...); err != nil {
					t.Fatal(err)
				}
				switch {
				case ready < 5*time.Second && len(*at) > 0:
					t.Errorf("explained at %v", *at)
				case ready > 5*time.Second && (len(*at) != 1 || (*at)[0] < 5*time.Second):
					t.Errorf("explained at %v, want once, after 5s", *at)
				}
			})
		})
	}
}

// A kubelet that has refused an image waits between pulls, and reports that it does. A pull secret
// that is made meanwhile helps as soon as it pulls again.
func TestGiveUpAwaitsTheNextPull(t *testing.T) {
	const refused = `failed to pull and unpack image "x": failed to resolve image: authorization ` +
		`failed: no basic auth credentials`
	for _, tc := range []struct {
		name  string
		helps bool // the pull after the secret was made succeeds
		want  string
		took  time.Duration
	}{
		{"a secret that helps", true, "succeeded", 70 * time.Second},
		{"another secret", false, "failed", 70 * time.Second},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(&enginetest.Cluster{})
				w.Script = map[object.Ref][]enginetest.Change{
					ref("Deployment/b"): {{After: 40 * time.Second, Status: available}}, // the secret
				}
				if tc.helps {
					w.Script[ref("Deployment/a")] = []enginetest.Change{
						{After: 70 * time.Second, Status: available},
					}
				}
				at := func(seconds int, f func()) { time.AfterFunc(time.Duration(seconds)*time.Second, f) }
				time.AfterFunc(500*time.Millisecond, func() {
					w.Put(w.child("Deployment/a", "ReplicaSet/a", nil))
					w.Put(w.child("ReplicaSet/a", "Pod/a", container(map[string]any{
						"waiting": map[string]any{"reason": "ErrImagePull", "message": refused}})))
				})
				pulls := map[int]int64{1: 1, 26: 2, 70: 3} // by second
				if tc.helps {
					delete(pulls, 70)
				}
				for second, count := range pulls {
					at(second, func() {
						w.reportAs("pull", "Pod/a", "Failed", `Failed to pull image "x": `+refused, count)
						w.reportAs("pulled", "Pod/a", "Failed", "Error: ErrImagePull", count)
					})
				}
				for i, second := range []int{13, 39, 52, 64} {
					at(second, func() {
						w.reportAs("waits", "Pod/a", "Failed", "Error: ImagePullBackOff", int64(i+1))
					})
				}
				began := time.Now()
				o := engine.Options{DryRun: engine.DryRunNone, GiveUp: true,
					Limits: engine.Limits{Apply: limit.After(5 * time.Minute)}}
				_, err := w.apply(t.Context(), policy(), o,
					want(thing("Deployment/a"), thing("Deployment/b"))...)
				if err != nil {
					t.Fatal(err)
				}
				line := "settled create deployment.apps/a " + tc.want
				if !slices.ContainsFunc(w.lines, func(l string) bool { return strings.HasPrefix(l, line) }) {
					t.Errorf("no line %q in %q", line, w.lines)
				}
				if took := time.Since(began).Round(time.Second); took != tc.took {
					t.Errorf("took %s, want %s", took, tc.took)
				}
			})
		})
	}
}
