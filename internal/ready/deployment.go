package ready

import (
	"fmt"
	"math"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
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

// pausedDeployment judges a deployment with paused rollouts, whose pods are not updated: it is
// current when enough pods are available, old or new. In the middle of a rollout, fewer than all
// are enough, since the new ones may be why it is paused. A deployment that was created paused has
// no replica set, hence no revision, and is current as well.
func pausedDeployment(obj *unstructured.Unstructured) Status {
	if field(obj, "spec", "paused") != true || !isObserved(obj) {
		return Status{}
	}
	n := replicasOf(obj)
	available := ConditionOf(obj, "Available").isTrue()
	missing, extra := PausedReplicas(obj)
	inRollout := n.inRollout()
	if most := n.want + surge(obj, n.want); n.isBroken() && n.have <= most {
		inRollout, extra = true, 0
	}
	switch {
	case !available && n.have == 0 && annotation(obj, "deployment.kubernetes.io/revision") == "":
		return current("Deployment is paused and was never rolled out")
	case !available && ConditionOf(obj, "Progressing").Reason == "ProgressDeadlineExceeded":
		return Status{}
	case missing > 0:
		return inProgress("LessReplicas",
			join(fmt.Sprintf("Replicas: %d/%d", n.have, n.have+missing), replicaFailure(obj)))
	case extra > 0:
		return inProgress("ExtraPods", fmt.Sprintf("Pending termination: %d", extra))
	case !available, !inRollout && n.available < n.want:
		return inProgress("LessAvailable", fmt.Sprintf("Available: %d/%d", n.available, n.want))
	}
	return current(fmt.Sprintf("Deployment is paused. Available: %d/%d, updated: %d", n.available,
		n.want, n.updated))
}

// inRollout reports whether a deployment has pods of its template and earlier ones, and not all of
// the former.
func (n replicas) inRollout() bool {
	return 0 < n.updated && n.updated < n.want && n.updated < n.have
}

// isBroken reports whether a deployment has all pods of its template, and earlier ones, which its
// controller does not remove while not all of the former are available.
func (n replicas) isBroken() bool {
	return n.updated >= n.want && n.updated < n.have && n.available < n.have
}

// PausedReplicas returns how many pods a paused Deployment still gets, and how many it has too
// many. Its controller scales it nevertheless: to the wanted number if all pods are of one
// revision, and else to as many as a rolling update may have. Whether pods of earlier revisions are
// of one or of several does not show, so that both numbers are good for them.
func PausedReplicas(obj *unstructured.Unstructured) (missing, extra int64) {
	n := replicasOf(obj)
	want, most := n.want, n.want+surge(obj, n.want)
	switch {
	case n.inRollout() && text(obj, "spec", "strategy", "type") == "Recreate":
		return 0, 0
	case n.inRollout(), n.updated == 0 && n.have == most:
		want = most
	}
	return max(0, want-n.have), max(0, n.have-want)
}

// surge returns how many pods a deployment may have beside the wanted number during an update.
func surge(obj *unstructured.Unstructured, want int64) int64 {
	if want == 0 || text(obj, "spec", "strategy", "type") == "Recreate" {
		return 0
	}
	most := intstr.FromString("25%") // the default
	switch value := field(obj, "spec", "strategy", "rollingUpdate", "maxSurge").(type) {
	case string:
		most = intstr.Parse(value)
	case int64:
		return value
	}
	n, err := intstr.GetScaledValueFromIntOrPercent(&most, int(want), true)
	if err != nil {
		return 0
	}
	return int64(n)
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
