package cmd

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

// tailedPod is a pod whose logs are read, as it was seen last.
type tailedPod struct {
	ref object.Ref
	uid types.UID

	mu   sync.Mutex
	pod  live          // nil when it is gone
	news chan struct{} // closed when it is seen anew
}

// see takes in how the pod is now; nil if it is gone.
func (p *tailedPod) see(pod live) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pod = pod
	close(p.news)
	p.news = make(chan struct{})
}

// look gives the pod, and what is closed when it is seen anew.
func (p *tailedPod) look() (live, <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.pod, p.news
}

// lookTime bounds the last look at a pod.
const lookTime = 2 * time.Second

// lookAnew reads a pod. Where that is not possible it stays as it was seen.
func (t *logTail) lookAnew(ctx context.Context, p *tailedPod) {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	found, err := t.client.Read(ctx, []cluster.Target{{Ref: p.ref, Version: "v1"}})
	if err != nil {
		return
	}
	if pod := found.Objects[p.ref]; pod != nil && pod.GetUID() == p.uid {
		p.see(pod)
	}
}

// containersOf are the names of a pod's containers, those that run first first.
func containersOf(pod live) []string {
	var names []string
	for _, field := range []string{"initContainers", "containers"} {
		list, _, _ := unstructured.NestedFieldNoCopy(pod.Object, "spec", field)
		items, _ := list.([]any)
		for _, item := range items {
			fields, _ := item.(map[string]any)
			if name, ok := fields["name"].(string); ok {
				names = append(names, name)
			}
		}
	}
	return names
}

// runOf gives a name to the run of a container that a pod tells of, and whether it goes on; empty if it has none or has not begun.
func runOf(pod live, container string) (run string, runs bool) {
	for _, field := range []string{"initContainerStatuses", "containerStatuses"} {
		list, _, _ := unstructured.NestedFieldNoCopy(pod.Object, "status", field)
		items, _ := list.([]any)
		for _, item := range items {
			status, _ := item.(map[string]any)
			if status["name"] != container {
				continue
			}
			_, runs, _ = unstructured.NestedMap(status, "state", "running")
			_, over, _ := unstructured.NestedMap(status, "state", "terminated")
			restarts, _, _ := unstructured.NestedInt64(status, "restartCount")
			if runs || over {
				run = strconv.FormatInt(restarts, 10)
			}
			return run, runs
		}
	}
	return "", false
}
