package ready

import (
	"fmt"
	"math"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// deployment judges either strategy alike: with Recreate, too, the counters say when the old pods are gone and the new
// ones available.
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
		return inProgress("LessReplicas", join(fmt.Sprintf("Replicas: %d/%d", n.have, n.want), refusal(obj)))
	case n.want > n.updated:
		return inProgress("LessUpdated", join(fmt.Sprintf("Updated: %d/%d", n.updated, n.want), refusal(obj)))
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
	case n.want == 0 && !observed(obj):
		return unseen(obj)
	}
	return current(fmt.Sprintf("Deployment is available. Replicas: %d", n.have))
}

// pausedDeployment judges a deployment whose rollouts are paused, on which one must not wait for updated pods. It is
// current when enough pods, old or new, are available. One that was paused when it was created never gets any: its
// controller numbers revisions when it makes the first replica set, and has not done so. All others are judged as if
// they were not paused, because they may be scaled.
func pausedDeployment(obj *unstructured.Unstructured) Status {
	if field(obj, "spec", "paused") != true || !observed(obj) {
		return Status{}
	}
	n := replicasOf(obj)
	switch {
	case ConditionOf(obj, "Available").isTrue():
		return current(fmt.Sprintf("Deployment is paused. Available: %d/%d, updated: %d", n.available, n.want, n.updated))
	case n.have == 0 && annotation(obj, "deployment.kubernetes.io/revision") == "":
		return current("Deployment is paused and was never rolled out")
	}
	return Status{}
}

// refusal says why pods of a deployment cannot be created, as for a quota that is used up.
func refusal(obj *unstructured.Unstructured) string {
	if c := ConditionOf(obj, "ReplicaFailure"); c.isTrue() {
		return c.Message
	}
	return ""
}

// rolledOut says whether the deployment's controller has declared the rollout complete. It keeps no such condition when
// progress has no deadline, which is written as none or as the greatest 32-bit number.
func rolledOut(obj *unstructured.Unstructured) bool {
	deadline, ok := integer(obj, "spec", "progressDeadlineSeconds")
	if !ok || deadline == math.MaxInt32 {
		return true
	}
	progressing := ConditionOf(obj, "Progressing")
	return progressing.isTrue() && progressing.Reason == "NewReplicaSetAvailable"
}
