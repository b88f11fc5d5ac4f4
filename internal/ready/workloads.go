package ready

import (
	"fmt"
	"math"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// workloads are the kinds that keep a number of pods.
func workloads() []Rule {
	return []Rule{
		{schema.GroupKind{Group: "apps", Kind: "Deployment"}, deployment},
		{schema.GroupKind{Group: "extensions", Kind: "Deployment"}, deployment},
		{schema.GroupKind{Group: "apps", Kind: "StatefulSet"}, statefulSet},
	}
}

// replicas are the counters that a workload's status keeps beside the number that its specification wants.
type replicas struct {
	want, have, updated, ready, available, current int64
}

func replicasOf(obj *unstructured.Unstructured) replicas {
	return replicas{
		want:      count(obj, 1, "spec", "replicas"),
		have:      count(obj, 0, "status", "replicas"),
		updated:   count(obj, 0, "status", "updatedReplicas"),
		ready:     count(obj, 0, "status", "readyReplicas"),
		available: count(obj, 0, "status", "availableReplicas"),
		current:   count(obj, 0, "status", "currentReplicas"),
	}
}

func deployment(obj *unstructured.Unstructured) Status {
	if conditionOf(obj, "Progressing").Reason == "ProgressDeadlineExceeded" {
		return failed("ProgressDeadlineExceeded", "Progress deadline exceeded")
	}
	n := replicasOf(obj)
	switch {
	case n.want > n.have:
		return inProgress("LessReplicas", fmt.Sprintf("Replicas: %d/%d", n.have, n.want))
	case n.want > n.updated:
		return inProgress("LessUpdated", fmt.Sprintf("Updated: %d/%d", n.updated, n.want))
	case n.have > n.want:
		return inProgress("ExtraPods", fmt.Sprintf("Pending termination: %d", n.have-n.want))
	case n.updated > n.available:
		return inProgress("LessAvailable", fmt.Sprintf("Available: %d/%d", n.available, n.updated))
	case n.want > n.ready:
		return inProgress("LessReady", fmt.Sprintf("Ready: %d/%d", n.ready, n.want))
	case !rolledOut(obj):
		return inProgress("ReplicaSetNotAvailable", "ReplicaSet not Available")
	case !conditionOf(obj, "Available").holds():
		return inProgress("DeploymentNotAvailable", "Deployment not Available")
	}
	return current(fmt.Sprintf("Deployment is available. Replicas: %d", n.have))
}

// rolledOut says whether the deployment's controller has declared the rollout complete. It keeps no such condition when
// progress has no deadline, which is written as none or as the greatest 32-bit number.
func rolledOut(obj *unstructured.Unstructured) bool {
	deadline, ok := integer(obj, "spec", "progressDeadlineSeconds")
	if !ok || deadline == math.MaxInt32 {
		return true
	}
	progressing := conditionOf(obj, "Progressing")
	return progressing.holds() && progressing.Reason == "NewReplicaSetAvailable"
}

func statefulSet(obj *unstructured.Unstructured) Status {
	if text(obj, "spec", "updateStrategy", "type") == "OnDelete" {
		return current("StatefulSet is using the ondelete update strategy")
	}
	n := replicasOf(obj)
	switch {
	case n.want > n.have:
		return inProgress("LessReplicas", fmt.Sprintf("Replicas: %d/%d", n.have, n.want))
	case n.want > n.ready:
		return inProgress("LessReady", fmt.Sprintf("Ready: %d/%d", n.ready, n.want))
	case n.have > n.want:
		return inProgress("ExtraPods", fmt.Sprintf("Pending termination: %d", n.have-n.want))
	}
	partition, ok := integer(obj, "spec", "updateStrategy", "rollingUpdate", "partition")
	if ok && partition != -1 {
		return partitionedRollout(n, partition)
	}
	return fullRollout(obj, n)
}

// partitionedRollout judges a stateful set whose pods from the partition's ordinal on are to be updated.
func partitionedRollout(n replicas, partition int64) Status {
	if n.updated < n.want-partition {
		return inProgress("PartitionRollout", fmt.Sprintf("updated: %d/%d", n.updated, n.want-partition))
	}
	return current(fmt.Sprintf("Partition rollout complete. updated: %d", n.updated))
}

// fullRollout judges a stateful set all of whose pods are to be updated.
func fullRollout(obj *unstructured.Unstructured, n replicas) Status {
	if n.want > n.current {
		return inProgress("LessCurrent", fmt.Sprintf("current: %d/%d", n.current, n.want))
	}
	if text(obj, "status", "currentRevision") != text(obj, "status", "updateRevision") {
		return inProgress("RevisionMismatch", "Waiting for updated revision to match current")
	}
	return current(fmt.Sprintf("All replicas scheduled as expected. Replicas: %d", n.have))
}
