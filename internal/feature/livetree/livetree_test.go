package livetree

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/testing/enginetest"
)

// shop is a Deployment with a ReplicaSet of this and one of an earlier revision, and a pod of which
// one container crashes. A stranger owns a pod of its own.
const shop = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop, uid: d}
---
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: web-1, namespace: shop, uid: r1, ownerReferences: [{uid: d}]}
spec: {replicas: 0}
---
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: web-2, namespace: shop, uid: r2, ownerReferences: [{uid: d}]}
spec: {replicas: 1}
status: {replicas: 1}
---
apiVersion: v1
kind: Pod
metadata: {name: web-2-x, namespace: shop, uid: p, ownerReferences: [{uid: r2}]}
status:
  phase: Running
  initContainerStatuses:
  - {name: copy, state: {terminated: {exitCode: 0, reason: Completed}}}
  containerStatuses:
  - {name: app, restartCount: 3, state: {waiting: {reason: CrashLoopBackOff}}}
  - {name: side, ready: true, state: {running: {}}}
  - {name: last, state: {terminated: {exitCode: 2, reason: Error}}}
---
apiVersion: v1
kind: Pod
metadata: {name: other, namespace: shop, uid: o, ownerReferences: [{uid: unknown}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: shop, uid: c}
`

// objectsOf parses documents.
func objectsOf(t *testing.T, documents string) []*unstructured.Unstructured {
	var found []*unstructured.Unstructured
	for text := range strings.SplitSeq(documents, "---\n") {
		obj := &unstructured.Unstructured{}
		data, err := yaml.YAMLToJSON([]byte(text))
		if err == nil {
			err = obj.UnmarshalJSON(data) // numbers are as a client reads them
		}
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, obj)
	}
	return found
}

// newCluster returns a cluster that has objects.
func newCluster(t *testing.T, documents string) *enginetest.Cluster {
	c := &enginetest.Cluster{}
	for _, obj := range objectsOf(t, documents) {
		c.Put(obj)
	}
	return c
}

var (
	web      = object.Ref{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "web"}
	settings = object.Ref{Kind: "ConfigMap", Namespace: "shop", Name: "settings"}
	missing  = object.Ref{Kind: "ConfigMap", Namespace: "shop", Name: "missing"}
)

// text formats a tree, a line for each object and container.
func text(nodes []*Node, indent string) string {
	var b strings.Builder
	for _, n := range nodes {
		former := ""
		if n.Former {
			former = " former"
		}
		fmt.Fprintf(&b, "%s%s %s%s\n", indent, n.Ref.Short(), n.Status.State, former)
		for _, c := range n.Containers {
			fmt.Fprintf(&b, "%s  %s %s %q restarts=%d healthy=%v\n", indent, c.Name, c.State, c.Reason,
				c.Restarts, c.Healthy())
		}
		b.WriteString(text(n.Children, indent+"  "))
	}
	return b.String()
}

func TestReadFindsWhatControllersCreated(t *testing.T) {
	nodes, err := Read(t.Context(), newCluster(t, shop), Options{
		Roots: []object.Ref{web, settings, missing},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := `configmap/missing NotFound
configmap/settings Current
deployment.apps/web InProgress
  replicaset.apps/web-1 Current former
  replicaset.apps/web-2 InProgress
    pod/web-2-x Failed
      copy terminated "Completed" restarts=0 healthy=true
      app waiting "CrashLoopBackOff" restarts=3 healthy=false
      side running "" restarts=0 healthy=true
      last terminated "Error, exit code 2" restarts=0 healthy=false
`
	if got := text(nodes, ""); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	if nodes[2].Healthy() || !nodes[1].Healthy() {
		t.Error("an object whose pods are not ready is healthy, or one without objects is not")
	}
}

// TestAFewRequestsForManyObjects reads 2,000 objects of nine namespaces: the lists are those of two
// kinds, in all namespaces at once.
func TestAFewRequestsForManyObjects(t *testing.T) {
	c := &counting{Cluster: &enginetest.Cluster{}}
	var roots []object.Ref
	for i := range 2000 {
		ref := object.Ref{
			Group: "apps", Kind: "Deployment", Namespace: fmt.Sprint("n", i%9), Name: fmt.Sprint("d", i),
		}
		roots = append(roots, ref)
		c.Put(objectsOf(t, fmt.Sprintf(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: %s, namespace: %s, uid: u%d}`, ref.Name, ref.Namespace, i))[0])
		c.Put(objectsOf(t, fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata: {name: %s, namespace: %s, uid: p%d, ownerReferences: [{uid: u%d}]}`,
			ref.Name, ref.Namespace, i, i))[0])
	}
	nodes, err := Read(t.Context(), c, Options{Roots: roots})
	if err != nil || len(nodes) != 2000 || len(nodes[1234].Children) != 1 {
		t.Fatalf("got %d objects, %v", len(nodes), err)
	}
	if want := 2; len(c.queries) != want {
		t.Errorf("got %d queries, want %d: %v", len(c.queries), want, c.queries)
	}
}

// counting is a cluster that keeps the queries, and refuses some.
type counting struct {
	*enginetest.Cluster
	queries []cluster.Query
	refuse  func(cluster.Query) bool
}

func (c *counting) WatchQuery(
	ctx context.Context, q cluster.Query, see func(cluster.ObjectEvent),
) {
	c.queries = append(c.queries, q)
	if c.refuse != nil && c.refuse(q) {
		go see(cluster.ObjectEvent{Listed: true, Err: apierrors.NewForbidden(
			schema.GroupResource{Resource: strings.ToLower(q.Kind.Kind) + "s"}, "", nil)})
		return
	}
	c.Cluster.WatchQuery(ctx, q, see)
}

// TestForbiddenLists reads a set whose user may list kinds in its namespaces alone, and no pods.
func TestForbiddenLists(t *testing.T) {
	c := &counting{Cluster: newCluster(t, shop), refuse: func(q cluster.Query) bool {
		return q.Namespace == "" || q.Kind == podKind
	}}
	operator := object.Ref{Group: "example.com", Kind: "Operator", Name: "all"} // in no namespace
	var unseen []string
	nodes, err := Read(t.Context(), c, Options{
		Roots:  []object.Ref{web, operator},
		Unseen: func(err error) { unseen = append(unseen, err.Error()) },
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := text(nodes, ""); !strings.Contains(got, "replicaset.apps/web-2") {
		t.Errorf("got:\n%s", got)
	}
	want := "the tree has no objects of the kind Pod in namespace shop"
	if len(unseen) != 1 || !strings.HasPrefix(unseen[0], want) {
		t.Errorf("got errors %q, want one: %s", unseen, want)
	}
}

func TestWatchPassesChangesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		c := newCluster(t, shop)
		var seen []string
		done := make(chan error)
		go func() {
			done <- Watch(ctx, c, Options{Roots: []object.Ref{web, settings}}, func(nodes []*Node) {
				seen = append(seen, text(nodes, ""))
			})
		}()
		synctest.Wait()
		c.Remove(object.Ref{Kind: "Pod", Namespace: "shop", Name: "web-2-x"})
		c.Remove(settings)
		time.Sleep(10 * time.Second)
		stop()
		if err := <-done; err != context.Canceled {
			t.Errorf("got error %v", err)
		}
		if len(seen) < 2 || !strings.Contains(seen[0], "pod/web-2-x") {
			t.Fatalf("got trees %q", seen)
		}
		last := seen[len(seen)-1]
		if strings.Contains(last, "pod/") || !strings.Contains(last, "configmap/settings NotFound") {
			t.Errorf("got:\n%s", last)
		}
	})
}

func TestOwnedKinds(t *testing.T) {
	served := []cluster.ListableKind{
		{GroupKind: schema.GroupKind{Group: "acme.cert.io", Kind: "Order"}, Namespaced: true},
		{GroupKind: schema.GroupKind{Group: "other.io", Kind: "Order"}, Namespaced: true},
		{GroupKind: schema.GroupKind{Group: "cert.io", Kind: "Issuer"}},
	}
	for kind, want := range map[schema.GroupKind]int{
		{Kind: "ConfigMap"}:                   0,
		{Group: "apps", Kind: "Deployment"}:   2,
		{Group: "batch", Kind: "CronJob"}:     2,
		{Group: "cert.io", Kind: "Cert"}:      len(operated) + 1,
		{Group: "storage.k8s.io", Kind: "SC"}: 0,
	} {
		if got := OwnedKinds(kind, served); len(got) != want {
			t.Errorf("%s: got %d kinds, want %d: %v", kind, len(got), want, got)
		}
	}
}

func TestWarningsAreThoseOfTheTree(t *testing.T) {
	c := newCluster(t, shop+`
---
apiVersion: v1
kind: Event
metadata: {name: a, namespace: shop}
type: Warning
reason: BackOff
message: Back-off restarting
count: 3
lastTimestamp: "2026-01-02T03:04:05Z"
involvedObject: {apiVersion: v1, kind: Pod, namespace: shop, name: web-2-x}
---
apiVersion: v1
kind: Event
metadata: {name: b, namespace: shop}
type: Warning
reason: Late
message: later
series: {count: 2, lastObservedTime: "2026-01-02T03:05:05Z"}
involvedObject: {apiVersion: apps/v1, kind: Deployment, namespace: shop, name: web}
---
apiVersion: v1
kind: Event
metadata: {name: c, namespace: shop}
type: Warning
message: of others
involvedObject: {apiVersion: v1, kind: Pod, namespace: shop, name: other}
---
apiVersion: v1
kind: Event
metadata: {name: d, namespace: shop}
type: Normal
message: well
involvedObject: {apiVersion: apps/v1, kind: Deployment, namespace: shop, name: web}
`)
	nodes, err := Read(t.Context(), c, Options{Roots: []object.Ref{web, settings}})
	if err != nil {
		t.Fatal(err)
	}
	found := Warnings(t.Context(), c, nodes)
	var got []string
	for _, w := range found[web] {
		got = append(got, fmt.Sprintf("%s %s %s %d", w.Object.Short(), w.Reason, w.Message, w.Count))
	}
	want := "deployment.apps/web Late later 2\npod/web-2-x BackOff Back-off restarting 3"
	if strings.Join(got, "\n") != want || len(found) != 1 {
		t.Errorf("got %v, want %q", found, want)
	}
}
