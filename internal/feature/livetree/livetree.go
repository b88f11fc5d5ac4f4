// Package livetree finds the objects that controllers created for those of a set, and keeps a tree
// of them up to date: objects, what they own, pods and their containers.
//
// Owners are found by owner references. Nothing says which kinds an object may own, so that the
// kinds that controllers usually create are listed, once in each namespace of the set: those of
// OwnedKinds. A set of thousands of objects costs as many requests as one with a few. This package
// decides nothing about how a tree is printed.
package livetree

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/ready"
)

// Node is an object of a tree. Nodes belong to the caller.
type Node struct {
	Ref        object.Ref
	Status     ready.Status
	Created    time.Time   // zero for an object that does not exist
	Former     bool        // a ReplicaSet of an earlier revision that has no pods
	Containers []Container // of a pod: those that prepare it first
	Children   []*Node     // by kind, then by age
}

// Healthy reports whether an object and all that it owns are ready.
func (n *Node) Healthy() bool {
	unhealthy := func(child *Node) bool { return !child.Healthy() }
	return n.Status.State == ready.Current && !slices.ContainsFunc(n.Children, unhealthy)
}

// Container is the state of a container of a pod.
type Container struct {
	Name     string `json:"name"`
	State    string `json:"state"`            // running, waiting or terminated
	Reason   string `json:"reason,omitempty"` // as CrashLoopBackOff, or of the exit code
	Ready    bool   `json:"ready"`
	Restarts int64  `json:"restarts,omitempty"`
	Init     bool   `json:"init,omitempty"` // it runs before the others
}

// Healthy reports whether a container does what it should: it runs and is ready, or has ended well.
func (c Container) Healthy() bool {
	return c.Ready || c.State == "terminated" && c.Reason == "Completed"
}

// entry is what is kept of an object. Objects are large, and thousands are kept.
type entry struct {
	node   Node
	uid    types.UID
	owners []types.UID
}

// newEntry returns the part of an object that a tree needs.
func newEntry(obj *unstructured.Unstructured, s ready.Status) *entry {
	e := &entry{uid: obj.GetUID(), node: Node{
		Ref: object.RefOf(obj), Status: s, Created: obj.GetCreationTimestamp().Time,
		Former: isFormer(obj), Containers: containersOf(obj),
	}}
	for _, owner := range obj.GetOwnerReferences() {
		e.owners = append(e.owners, owner.UID)
	}
	return e
}

// isFormer reports whether an object is a ReplicaSet that neither has nor wants pods.
func isFormer(obj *unstructured.Unstructured) bool {
	if obj.GroupVersionKind().GroupKind() != replicaSetKind {
		return false
	}
	wanted, found, _ := unstructured.NestedInt64(obj.Object, "spec", "replicas")
	present, _, _ := unstructured.NestedInt64(obj.Object, "status", "replicas")
	return found && wanted == 0 && present == 0
}

// containersOf returns the containers that the status of a pod reports.
func containersOf(obj *unstructured.Unstructured) []Container {
	if obj.GroupVersionKind().GroupKind() != podKind {
		return nil
	}
	var found []Container
	for _, field := range []string{"initContainerStatuses", "containerStatuses"} {
		statuses, _, _ := unstructured.NestedSlice(obj.Object, "status", field)
		for _, status := range statuses {
			if status, ok := status.(map[string]any); ok {
				c := containerOf(status)
				c.Init = field != "containerStatuses"
				found = append(found, c)
			}
		}
	}
	return found
}

// containerOf returns the state that a container status reports.
func containerOf(status map[string]any) Container {
	c := Container{State: "waiting"}
	c.Name, _, _ = unstructured.NestedString(status, "name")
	c.Ready, _, _ = unstructured.NestedBool(status, "ready")
	c.Restarts, _, _ = unstructured.NestedInt64(status, "restartCount")
	for _, state := range []string{"running", "waiting", "terminated"} {
		detail, found, _ := unstructured.NestedMap(status, "state", state)
		if !found {
			continue
		}
		c.State = state
		c.Reason, _ = detail["reason"].(string)
		if code, ok := detail["exitCode"].(int64); ok && code != 0 {
			c.Reason = strings.TrimPrefix(c.Reason+", exit code "+strconv.FormatInt(code, 10), ", ")
		}
	}
	return c
}

// byKindAndAge compares children: by kind, then the oldest first, then by name.
func byKindAndAge(a, b *Node) int {
	return cmp.Or(
		strings.Compare(a.Ref.Kind, b.Ref.Kind), strings.Compare(a.Ref.Group, b.Ref.Group),
		a.Created.Compare(b.Created), strings.Compare(a.Ref.Name, b.Ref.Name),
	)
}
