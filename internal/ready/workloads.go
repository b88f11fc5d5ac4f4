package ready

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// workloads returns the judge of a kind that keeps a number of pods.
func workloads(kind schema.GroupKind) judge {
	switch kind {
	case schema.GroupKind{Group: "apps", Kind: "Deployment"},
		schema.GroupKind{Group: "extensions", Kind: "Deployment"}:
		return deployment
	case schema.GroupKind{Group: "apps", Kind: "ReplicaSet"},
		schema.GroupKind{Group: "extensions", Kind: "ReplicaSet"},
		schema.GroupKind{Kind: "ReplicationController"}:
		return replicaSet
	case schema.GroupKind{Group: "apps", Kind: "StatefulSet"}:
		return statefulSet
	case schema.GroupKind{Group: "apps", Kind: "DaemonSet"},
		schema.GroupKind{Group: "extensions", Kind: "DaemonSet"}:
		return daemonSet
	}
	return nil
}

// replicas are the counters in the status of a workload, and the number that its specification
// wants.
type replicas struct {
	want, have, labelled, updated, ready, available, current int64
}

func replicasOf(obj *unstructured.Unstructured) replicas {
	return replicas{
		want:      count(obj, 1, "spec", "replicas"),
		have:      count(obj, 0, "status", "replicas"),
		labelled:  count(obj, 0, "status", "fullyLabeledReplicas"),
		updated:   count(obj, 0, "status", "updatedReplicas"),
		ready:     count(obj, 0, "status", "readyReplicas"),
		available: count(obj, 0, "status", "availableReplicas"),
		current:   count(obj, 0, "status", "currentReplicas"),
	}
}

// isObserved reports whether a controller has seen the object; true if the object has no
// generation.
func isObserved(obj *unstructured.Unstructured) bool {
	_, counted := integer(obj, "metadata", "generation")
	_, ok := integer(obj, "status", "observedGeneration")
	return ok || !counted
}

// generationMissing returns the status of a workload that no controller has seen. With 0 replicas
// its empty status would look current.
func generationMissing(obj *unstructured.Unstructured) Status {
	return inProgress("NoObservedGeneration", text(obj, "kind")+" status.observedGeneration not "+
		"found")
}

// replicaSet judges a ReplicaSet or a ReplicationController; their statuses have the same fields.
func replicaSet(obj *unstructured.Unstructured) Status {
	if c := ConditionOf(obj, "ReplicaFailure"); c.isTrue() {
		return inProgress(
			"ReplicaFailure", join("Replica Failure condition. Check Pods", c.Message),
		)
	}
	n := replicasOf(obj)
	switch {
	case n.want > n.labelled:
		return inProgress("LessLabelled", fmt.Sprintf("Labelled: %d/%d", n.labelled, n.want))
	case n.want > n.available:
		return inProgress("LessAvailable", fmt.Sprintf("Available: %d/%d", n.available, n.want))
	case n.want > n.ready:
		return inProgress("LessReady", fmt.Sprintf("Ready: %d/%d", n.ready, n.want))
	case n.have > n.want:
		return inProgress("ExtraPods", fmt.Sprintf("Pending termination: %d", n.have-n.want))
	case n.want == 0 && !isObserved(obj):
		return generationMissing(obj)
	}
	return current(fmt.Sprintf("%s is available. Replicas: %d", text(obj, "kind"), n.have))
}
