package ready

import (
	"fmt"
	"math"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// deployment judges both strategies alike. With Recreate, too, the counters show when the old pods
// are gone and the new ones available.
func deployment(obj *unstructured.Unstructured) Status {
	if s := pausedDeployment(obj); s.State != "" {
		return s
	}
	if c := ConditionOf(obj, "Progressing"); c.Reason == "ProgressDeadlineExceeded" {
		return c.since(failed("ProgressDeadlineExceeded", "Progress deadline exceeded"))
	}
	n := replicasOf(obj)
	switch {
	case n.want > n.have:
		return inProgress("LessReplicas",
			join(fmt.Sprintf("Replicas: %d/%d", n.have, n.want), replicaFailure(obj)))
	case n.want > n.updated:
		return inProgress("LessUpdated",
			join(fmt.Sprintf("Updated: %d/%d", n.updated, n.want), replicaFailure(obj)))
	case n.have > n.want:
		return inProgress("ExtraPods", fmt.Sprintf("Pending termination: %d", n.have-n.want))
	case n.updated > n.available:
		return inProgress("LessAvailable", fmt.Sprintf("Available: %d/%d", n.available, n.updated))
	case n.want > n.ready:
		return inProgress("LessReady", fmt.Sprintf("Ready: %d/%d", n.ready, n.want))
	case !rolledOut(obj):
		return inProgress("ReplicaSetNotAvailable", "ReplicaSet not Available")
	case !ConditionOf(obj, "Available").isTrue():
		return inProgress("DeploymentNotAvailable", "Deployment not Available")
	case n.want == 0 && !isObserved(obj):
		return generationMissing(obj)
	}
	return current(fmt.Sprintf("Deployment is available. Replicas: %d", n.have))
}

// pausedDeployment judges a deployment with paused rollouts, whose pods are not updated. It is
// current when enough pods are available, old or new. A deployment that was created paused has no
// replica set, hence no revision, and is current as well. All other paused deployments are judged
// like running ones, because they may be scaled.
func pausedDeployment(obj *unstructured.Unstructured) Status {
	if field(obj, "spec", "paused") != true || !isObserved(obj) {
		return Status{}
	}
	n := replicasOf(obj)
	switch {
	case ConditionOf(obj, "Available").isTrue():
		return current(
			fmt.Sprintf("Deployment is paused. Available: %d/%d, updated: %d", n.available, n.want,
				n.updated),
		)
	case n.have == 0 && annotation(obj, "deployment.kubernetes.io/revision") == "":
		return current("Deployment is paused and was never rolled out")
	}
	return Status{}
}

// replicaFailure returns why pods of a deployment cannot be created, such as an exhausted quota.
func replicaFailure(obj *unstructured.Unstructured) string {
	if c := ConditionOf(obj, "ReplicaFailure"); c.isTrue() {
		return c.Message
	}
	return ""
}

// rolledOut reports whether the controller has declared the rollout complete. Without a progress
// deadline (none, or MaxInt32) there is no such condition.
func rolledOut(obj *unstructured.Unstructured) bool {
	deadline, ok := integer(obj, "spec", "progressDeadlineSeconds")
	if !ok || deadline == math.MaxInt32 {
		return true
	}
	progressing := ConditionOf(obj, "Progressing")
	return progressing.isTrue() && progressing.Reason == "NewReplicaSetAvailable"
}
