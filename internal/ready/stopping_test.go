package ready

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// The tests begin at 2000-01-01T00:00:00Z. Kinds of objects for them, with owners by UID.
const (
	stoppingPod = `
apiVersion: v1
kind: Pod
metadata:
  name: web-a
  namespace: shop
  uid: a
  deletionTimestamp: "2000-01-01T00:00:18Z"
  deletionGracePeriodSeconds: 30
  ownerReferences: [{controller: true, uid: rs}]
spec:
  nodeName: node-1
  terminationGracePeriodSeconds: 30
  containers: [{name: web}]
status:
  phase: Running
  containerStatuses: [{name: web, ready: true, state: {running: {}}}]
`
	leavingDeployment = `
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: shop
  uid: d
  deletionTimestamp: "1999-12-31T23:59:48Z"
  deletionGracePeriodSeconds: 0
  finalizers: [foregroundDeletion]
  annotations: {deployment.kubernetes.io/revision: "2"}
spec: {selector: {matchLabels: {app: web}}}
`
	leavingReplicaSet = `
apiVersion: apps/v1
kind: ReplicaSet
metadata:
  name: web-1
  namespace: shop
  uid: rs
  deletionTimestamp: "1999-12-31T23:59:48Z"
  deletionGracePeriodSeconds: 0
  finalizers: [foregroundDeletion]
  ownerReferences: [{controller: true, uid: d}]
  annotations: {deployment.kubernetes.io/revision: "1"}
`
	leavingNamespace = `
apiVersion: v1
kind: Namespace
metadata:
  name: shop
  uid: n
  deletionTimestamp: "1999-12-31T23:59:48Z"
status: {phase: Terminating}
`
	emptyOfPods = "waits for the namespace controller, which deletes what is left in the namespace " +
		"when it looks again: after up to half the longest grace period of the pods"
)

// TestStoppingPods has pods that are being deleted, and what waits for their end.
func TestStoppingPods(t *testing.T) {
	edited := func(text string, pairs ...string) string {
		return strings.NewReplacer(pairs...).Replace(text)
	}
	const grace = "web-a: stopping for 12s; grace period 30s (terminationGracePeriodSeconds)"
	for _, tc := range []struct {
		name, object string
		related      []string
		want         []string
	}{
		{name: "a pod", object: stoppingPod, want: []string{grace}},
		{name: "with another period than its own",
			object: edited(stoppingPod, "PeriodSeconds: 30\n  owner", "PeriodSeconds: 45\n  owner",
				"00:00:18", "00:00:33"),
			want: []string{"web-a: stopping for 12s; grace period 45s"}},
		{name: "with a hook",
			object: edited(stoppingPod, "{name: web}]", "{name: web, lifecycle: {preStop: {}}}]"),
			want:   []string{grace + ", with the preStop hook of container web"}},
		{name: "too long", object: edited(stoppingPod, "2000-01-01T00:00:18Z", "1999-12-31T23:59:45Z"),
			want: []string{"web-a: stopping for 45s, but its grace period was 30s: node node-1 has not " +
				"reported the end of its containers"}},
		{name: "just over", object: edited(stoppingPod, "2000-01-01T00:00:18Z", "1999-12-31T23:59:58Z"),
			want: []string{"web-a: stopping for 32s; grace period 30s (terminationGracePeriodSeconds)"}},
		{name: "with a finalizer, which counts later",
			object: edited(stoppingPod, "uid: a\n", "uid: a\n  finalizers: [example.com/hold]\n"),
			want:   []string{grace}},
		{name: "held by its finalizer",
			object: edited(stoppingPod, "uid: a\n", "uid: a\n  finalizers: [example.com/hold]\n",
				"PeriodSeconds: 30\n  owner", "PeriodSeconds: 0\n  owner"),
			want: []string{"web-a: stopped, and waits for its finalizers: example.com/hold"}},
		{name: "deleted by a clock ahead of ours",
			object: edited(stoppingPod, "2000-01-01T00:00:18Z", "2000-01-01T00:00:33Z"),
			want: []string{
				"web-a: stopping for 0s; grace period 30s (terminationGracePeriodSeconds)"}},
		{name: "pods of a deleted deployment", object: leavingDeployment,
			related: []string{leavingReplicaSet, stoppingPod,
				edited(stoppingPod, "web-a", "web-b", "uid: a", "uid: b")},
			want: []string{grace + " x2"}},
		{name: "stopped at different times", object: leavingDeployment,
			related: []string{leavingReplicaSet, stoppingPod,
				edited(stoppingPod, "web-a", "web-b", "uid: a", "uid: b", "00:00:18", "00:00:29")},
			want: []string{grace,
				"web-b: stopping for 1s; grace period 30s (terminationGracePeriodSeconds)"}},
		{name: "a deployment without pods", object: leavingDeployment,
			related: []string{leavingReplicaSet},
			want:    []string{"web-1: waits until its dependents are deleted"}},
		{name: "pods of a recreated deployment",
			object: `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop, uid: d, generation: 2}
spec: {selector: {matchLabels: {app: web}}, strategy: {type: Recreate}}
status: {observedGeneration: 2}
`,
			related: []string{`
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: web-1, namespace: shop, uid: rs, generation: 1, ownerReferences: [{controller: true, uid: d}]}
status: {observedGeneration: 1}
`, stoppingPod},
			want: []string{grace}},
		{name: "a pod of an updated stateful set",
			object: `
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: web, namespace: shop, uid: rs, generation: 2}
spec: {selector: {matchLabels: {app: web}}}
status: {observedGeneration: 2, updateRevision: web-2}
`,
			related: []string{edited(stoppingPod, "uid: a\n",
				"uid: a\n  labels: {controller-revision-hash: web-1}\n")},
			want: []string{grace}},
		{name: "pods in a deleted namespace", object: leavingNamespace, related: []string{stoppingPod,
			edited(stoppingPod, "namespace: shop", "namespace: other", "uid: a", "uid: b"),
			edited(stoppingPod, "web-a", "web-c", "uid: a", "uid: c",
				"  deletionTimestamp: \"2000-01-01T00:00:18Z\"\n", "")},
			want: []string{grace}},
		{name: "a namespace without pods", object: leavingNamespace,
			want: []string{"shop: " + emptyOfPods}},
		{name: "a namespace with other objects",
			object: edited(leavingNamespace, "Terminating", `Terminating, conditions: [{
				type: NamespaceContentRemaining, status: "True", reason: SomeResourcesRemain,
				message: "Some resources are remaining: widgets.example.com has 1 resource instances"}]`),
			want: []string{
				"shop: Some resources are remaining: widgets.example.com has 1 resource instances"}},
		{name: "a namespace with nothing but pods, by an older controller",
			object: edited(leavingNamespace, "Terminating", `Terminating, conditions: [{
				type: NamespaceContentRemaining, status: "True", reason: SomeResourcesRemain,
				message: "Some resources are remaining: pods. has 1 resource instances"}]`),
			related: []string{stoppingPod}, want: []string{grace}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				related := NewRelatedObjects()
				for _, text := range tc.related {
					obj := documents(t, text)[0]
					related.Add(EvidenceOf(obj, Of(obj)))
				}
				obj := documents(t, tc.object)[0]
				var got []string
				for _, c := range related.Causes(EvidenceOf(obj, Of(obj)), time.Time{}, time.Now()) {
					line := c.Object.Name + ": " + c.Message
					if c.Count > 1 {
						line += " x2"
					}
					got = append(got, line)
				}
				if diff := cmp.Diff(tc.want, got); diff != "" {
					t.Errorf("causes (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// The age of a cause changes all the time, but not what is said.
func TestStoppingIsTheSameCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		evidence := func(text string) *Evidence {
			obj := documents(t, text)[0]
			return EvidenceOf(obj, Of(obj))
		}
		first := NewRelatedObjects().Causes(evidence(stoppingPod), time.Time{}, time.Now())[0]
		time.Sleep(10 * time.Second)
		second := NewRelatedObjects().Causes(evidence(stoppingPod), time.Time{}, time.Now())[0]
		if first.Message == second.Message || !first.Same(second) {
			t.Errorf("%q and %q are two causes", first.Message, second.Message)
		}
		time.Sleep(time.Minute)
		late := NewRelatedObjects().Causes(evidence(stoppingPod), time.Time{}, time.Now())[0]
		if first.Same(late) {
			t.Errorf("%q and %q are one cause", first.Message, late.Message)
		}
	})
}
