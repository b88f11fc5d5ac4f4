package ready

import (
	"testing"
	"time"
)

// A pod belongs to its controller alone. Anybody may add owner references that name other objects.
func TestOtherOwners(t *testing.T) {
	for _, controls := range []any{nil, false} {
		pod := crashingPod("p", "forged")
		reference := map[string]any{"uid": "r", "kind": "ReplicaSet", "name": "web-h"}
		if controls != nil {
			reference["controller"] = controls
		}
		metadata := pod.Object["metadata"].(map[string]any)
		metadata["ownerReferences"] = []any{reference}
		metadata["labels"] = map[string]any{"pod-template-hash": "h"}
		set := replicaSetWithPods()
		if causes := causesOf(set, pod); len(causes) > 0 {
			t.Errorf("causes are %+v", causes)
		}
		pods := NewPodSet()
		pods.Add(RunsOf(pod))
		if w := WorkloadOf(set); w.Owns(RunsOf(pod)) || w.Trial(pods, time.Now()) != nil {
			t.Errorf("a pod with controller %v belongs to a ReplicaSet", controls)
		}
		deployment := replicaSetWithPods()
		deployment.SetKind("Deployment")
		if WorkloadOf(deployment).Owns(RunsOf(pod)) {
			t.Errorf("a pod with controller %v belongs to a Deployment", controls)
		}
	}
}
