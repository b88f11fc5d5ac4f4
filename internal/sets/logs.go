package sets

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/feature/podlogs"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
)

// LogsRequest asks for the logs of a set's pods: pods of the set, and those that controllers
// created for its objects.
type LogsRequest struct {
	Objects   []object.Ref // of the set
	Labels    string       // a selector of pods; empty for all
	Pod       func(name string) bool
	Container func(name string) bool
	Log       cluster.LogOptions
	Printer   podlogs.Printer
	Now       func() time.Time
	// Failed receives what prevents that pods are listed, or that it is known whose pods they are.
	Failed func(error)
}

// manyNamespaces is how many namespaces are watched each for itself, rather than all at once.
const manyNamespaces = 8

// Logs prints the logs of a set's pods, and returns how many containers it chose. With Follow it
// prints those of new pods too, until the context ends.
func Logs(ctx context.Context, c cluster.Reader, r LogsRequest) int {
	members := &members{
		cluster: c, failed: r.Failed, owned: map[object.Ref]bool{}, denied: map[string]bool{},
	}
	shared := false // an object of no namespace may own pods of any
	for _, ref := range r.Objects {
		members.owned[ref] = true
		shared = shared || ref.Namespace == "" && ref.GroupKind() != plan.NamespaceKind
	}
	var chosen atomic.Int64
	tail := &podlogs.Tail{
		Cluster: c, Printer: r.Printer, Now: r.Now, Log: r.Log, Complete: true,
		Choose: func(ctx context.Context, pod *unstructured.Unstructured) (func(string) bool, bool) {
			choose := func(name string) bool {
				chooses := r.Container(name)
				if chooses {
					chosen.Add(1)
				}
				return chooses
			}
			return choose, r.Pod(pod.GetName()) && members.hasPod(ctx, pod)
		},
	}
	namespaces := namespacesOf(r.Objects)
	tail.Run(ctx, podlogs.Selection{
		Labels: r.Labels, Namespaces: namespaces,
		Everywhere: shared || len(namespaces) > manyNamespaces,
	}, r.Failed)
	return int(chosen.Load())
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
	cluster cluster.Reader
	failed  func(error)

	mu     sync.Mutex
	owned  map[object.Ref]bool // whether an object belongs to the set, as far as known
	denied map[string]bool     // errors that were reported
}

// hasPod reports whether a pod belongs to the set.
func (m *members) hasPod(ctx context.Context, pod *unstructured.Unstructured) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.has(ctx, pod)
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
	if err == nil {
		err = found.Broken
	}
	if err != nil {
		delete(m.owned, parent) // the next state of the pod asks again
		m.report(ctx, parent, err)
		return false
	}
	owner := found.Objects[parent]
	if owner == nil {
		delete(m.owned, parent)
		return false
	}
	m.owned[parent] = m.has(ctx, owner)
	return m.owned[parent]
}

// report reports an error of reading an owner of pods, once for each kind and namespace.
func (m *members) report(ctx context.Context, ref object.Ref, err error) {
	kind := ref
	kind.Name = ""
	if m.denied[kind.String()] || ctx.Err() != nil {
		return
	}
	m.denied[kind.String()] = true
	m.failed(fmt.Errorf("find out whose the pods of %s are: %w", ref, err))
}
