package podlogs

import (
	"context"
	"strconv"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/object"
)

// podState is the last known state of a pod whose logs are read.
type podState struct {
	ref object.Ref
	uid types.UID
	// late is set if the pod was not among those that Run listed.
	late bool

	mu      sync.Mutex
	pod     *unstructured.Unstructured // nil when it is gone
	changed chan struct{}              // closed by the next update
}

// update sets the state of the pod; nil if it is gone.
func (p *podState) update(pod *unstructured.Unstructured) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pod = pod
	close(p.changed)
	p.changed = make(chan struct{})
}

// state returns the pod, and a channel that the next update closes.
func (p *podState) state() (*unstructured.Unstructured, <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.pod, p.changed
}

// rereadTimeout limits the last read of a pod.
const rereadTimeout = 2 * time.Second

// reread reads a pod. If that fails, its state stays.
func (t *Tail) reread(ctx context.Context, p *podState) {
	ctx, cancel := context.WithTimeout(ctx, rereadTimeout)
	defer cancel()
	found, err := t.Cluster.Read(ctx, []cluster.Target{{Ref: p.ref, Version: "v1"}})
	if err != nil {
		return
	}
	if pod := found.Objects[p.ref]; pod != nil && pod.GetUID() == p.uid {
		p.update(pod)
	}
}

// containerNames returns the names of a pod's containers, init containers first.
func containerNames(pod *unstructured.Unstructured) []string {
	var names []string
	for _, field := range []string{"initContainers", "containers"} {
		for _, fields := range mapsAt(pod, "spec", field) {
			if name, ok := fields["name"].(string); ok {
				names = append(names, name)
			}
		}
	}
	return names
}

// containerRun returns an identifier of the present or last run of a container, empty if it has not
// started, and whether it is running. With last, a run that a restart will follow counts.
func containerRun(
	pod *unstructured.Unstructured, container string, last bool,
) (run string, running bool) {
	status := containerStatus(pod, container)
	_, running, _ = unstructured.NestedMap(status, "state", "running")
	_, terminated, _ := unstructured.NestedMap(status, "state", "terminated")
	restarts, _, _ := unstructured.NestedInt64(status, "restartCount")
	if running || terminated || last && wasRestarted(pod, container) {
		run = strconv.FormatInt(restarts, 10)
	}
	return run, running
}

// wasRestarted reports whether a container has a run before the present one, as the kubelet does.
func wasRestarted(pod *unstructured.Unstructured, container string) bool {
	_, ended, _ := unstructured.NestedMap(containerStatus(pod, container), "lastState", "terminated")
	return ended
}

// containerStatus returns the status of a container; nil if there is none.
func containerStatus(pod *unstructured.Unstructured, container string) map[string]any {
	for _, field := range []string{"initContainerStatuses", "containerStatuses"} {
		for _, status := range mapsAt(pod, "status", field) {
			if status["name"] == container {
				return status
			}
		}
	}
	return nil
}

// mapsAt returns the maps of a list field.
func mapsAt(obj *unstructured.Unstructured, path ...string) []map[string]any {
	value, _, _ := unstructured.NestedFieldNoCopy(obj.Object, path...)
	items, _ := value.([]any)
	var all []map[string]any
	for _, item := range items {
		if fields, ok := item.(map[string]any); ok {
			all = append(all, fields)
		}
	}
	return all
}
