package ready

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// statefulSet waits for the number of pods under every update strategy, and for their revision if
// the controller updates them. (With OnDelete, kstatus ignores the pods.)
func statefulSet(obj *unstructured.Unstructured) Status {
	n := replicasOf(obj)
	switch {
	case n.want > n.have:
		return inProgress("LessReplicas", fmt.Sprintf("Replicas: %d/%d", n.have, n.want))
	case n.want > n.ready:
		return inProgress("LessReady", fmt.Sprintf("Ready: %d/%d", n.ready, n.want))
	case n.have > n.want:
		return inProgress("ExtraPods", fmt.Sprintf("Pending termination: %d", n.have-n.want))
	case count(obj, 0, "spec", "minReadySeconds") > 0 && n.want > n.available:
		return inProgress("LessAvailable", fmt.Sprintf("Available: %d/%d", n.available, n.want))
	case n.want == 0 && !isObserved(obj):
		return generationMissing(obj)
	}
	if isOnDelete(obj) {
		return userUpdated()
	}
	partition, ok := integer(obj, "spec", "updateStrategy", "rollingUpdate", "partition")
	if ok && partition != -1 {
		if goesBack(obj, n) {
			partition = 0
		}
		return partitionedRollout(n, partition)
	}
	return fullRollout(obj, n)
}

// isOnDelete reports whether the controller leaves updates of the pods to users.
func isOnDelete(obj *unstructured.Unstructured) bool {
	return text(obj, "spec", "updateStrategy", "type") == "OnDelete"
}

// userUpdated returns the status of a stateful set whose pods are updated by users.
func userUpdated() Status { return current("StatefulSet is using the ondelete update strategy") }

// goesBack reports whether the template was taken back to that of the pods below the partition,
// which count as updated then. Both counters are of the same pods, but for one that is just being
// deleted.
func goesBack(obj *unstructured.Unstructured, n replicas) bool {
	revision := text(obj, "status", "currentRevision")
	return revision != "" && revision == text(obj, "status", "updateRevision") &&
		n.current <= n.updated
}

// partitionedRollout judges a stateful set that updates the pods from the partition's ordinal on.
func partitionedRollout(n replicas, partition int64) Status {
	if n.updated < n.want-partition {
		return inProgress(
			"PartitionRollout", fmt.Sprintf("updated: %d/%d", n.updated, n.want-partition),
		)
	}
	return current(fmt.Sprintf("Partition rollout complete. updated: %d", n.updated))
}

// fullRollout judges a stateful set that updates all pods.
func fullRollout(obj *unstructured.Unstructured, n replicas) Status {
	if n.want > n.current {
		return inProgress("LessCurrent", fmt.Sprintf("current: %d/%d", n.current, n.want))
	}
	if text(obj, "status", "currentRevision") != text(obj, "status", "updateRevision") {
		return inProgress("RevisionMismatch", "Waiting for updated revision to match current")
	}
	return current(fmt.Sprintf("All replicas scheduled as expected. Replicas: %d", n.have))
}
