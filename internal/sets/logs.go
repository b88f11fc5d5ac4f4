package sets

import (
	"context"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/podlogs"
)

// LogsRequest asks for the logs of a set's pods: pods of the set, and those that controllers
// created for its objects.
type LogsRequest struct {
	Objects    []object.Ref // of the set
	Labels     string       // a selector of pods; empty for all
	Pod        func(name string) bool
	Container  func(name string) bool
	Log        cluster.LogOptions
	Printer    podlogs.Printer
	Now        func() time.Time
	Unreadable func(error) // receives what prevents that pods are listed
}

// manyNamespaces is how many namespaces are watched each for itself, rather than all at once.
const manyNamespaces = 8

// Logs prints the logs of a set's pods, and returns how many pods of the set it found. With Follow
// it prints those of new pods too, until the context ends.
func Logs(ctx context.Context, c podlogs.Cluster, r LogsRequest) int {
	members := &members{cluster: c, owned: map[object.Ref]bool{}, pods: map[object.Ref]bool{}}
	for _, ref := range r.Objects {
		members.owned[ref] = true
	}
	tail := &podlogs.Tail{
		Cluster: c, Printer: r.Printer, Now: r.Now, Log: r.Log, Complete: true,
		Choose: func(ctx context.Context, pod *unstructured.Unstructured) (func(string) bool, bool) {
			return r.Container, r.Pod(pod.GetName()) && members.hasPod(ctx, pod)
		},
	}
	namespaces := namespacesOf(r.Objects)
	tail.Run(ctx, podlogs.Selection{
		Labels: r.Labels, Namespaces: namespaces, Everywhere: len(namespaces) > manyNamespaces,
	}, r.Unreadable)
	return len(members.pods)
}

// namespacesOf returns the namespaces of objects, sorted.
func namespacesOf(refs []object.Ref) []string {
	var all []string
	for _, ref := range refs {
		if ref.Namespace != "" {
			all = append(all, ref.Namespace)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// members finds out which pods belong to a set. Several goroutines may use it.
type members struct {
	cluster podlogs.Cluster

	mu    sync.Mutex
	owned map[object.Ref]bool // whether an object belongs to the set, as far as known
	pods  map[object.Ref]bool // of the set
}

// hasPod reports whether a pod belongs to the set, and counts it if it does.
func (m *members) hasPod(ctx context.Context, pod *unstructured.Unstructured) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	has := m.has(ctx, pod)
	if has {
		m.pods[object.RefOf(pod)] = true
	}
	return has
}

// has reports whether an object is one of the set, or a controller created it for one.
func (m *members) has(ctx context.Context, obj *unstructured.Unstructured) bool {
	ref := object.RefOf(obj)
	if m.owned[ref] {
		return true
	}
	controller := metav1.GetControllerOf(obj)
	if controller == nil {
		return false
	}
	gv, err := schema.ParseGroupVersion(controller.APIVersion)
	if err != nil {
		return false
	}
	parent := object.Ref{
		Group: gv.Group, Kind: controller.Kind, Namespace: ref.Namespace, Name: controller.Name,
	}
	shared := parent // by objects of all namespaces
	shared.Namespace = ""
	if m.owned[shared] {
		return true
	}
	if owned, known := m.owned[parent]; known {
		return owned
	}
	m.owned[parent] = false // until it is known, so that a circle ends
	found, err := m.cluster.Read(ctx, []cluster.Target{{Ref: parent, Version: gv.Version}})
	if err != nil {
		delete(m.owned, parent) // the next state of the pod asks again
		return false
	}
	if owner := found.Objects[parent]; owner != nil {
		m.owned[parent] = m.has(ctx, owner)
	}
	return m.owned[parent]
}
