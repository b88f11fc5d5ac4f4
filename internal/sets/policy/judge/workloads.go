package judge

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/ready"
	"github.com/muster-deploy/muster/internal/sets/policy/resource"
)

func deployment(o live) Judgement {
	if j, waits := o.unobserved(); waits {
		return j
	}
	if c := o.condition("Progressing"); c.status == "False" {
		return c.fails("Deployment is not progressing: " + c.words())
	}
	if c := o.condition("ReplicaFailure"); c.holds() {
		return ongoing("Deployment has encountered replica failure: " + c.words())
	}
	if minimum, asked := o.GetAnnotations()[resource.AnnMinimumAvailable]; asked &&
		len(o.children) > 0 {
		return enoughAvailable(o, minimum)
	}
	if missing := o.count(0, "status", "unavailableReplicas"); missing > 0 {
		return ongoing(fmt.Sprintf("Waiting for %d unavailable replicas", missing))
	}
	want, have := o.count(1, "spec", "replicas"), o.count(0, "status", "readyReplicas")
	if have < want {
		return ongoing(fmt.Sprintf("Waiting for %d/%d replicas to be ready", want-have, want))
	}
	if j, waits := o.rollingOut(); waits {
		return j
	}
	return done("")
}

// rollingOut returns the judgement of a Deployment that has replicas of an earlier revision, or too
// many or too few of the present one, although all are available. A paused one is still scaled.
func (o live) rollingOut() (Judgement, bool) {
	want, have := o.count(1, "spec", "replicas"), o.count(0, "status", "replicas")
	updated := o.count(0, "status", "updatedReplicas")
	missing, extra := int64(0), max(0, have-want)
	if o.paused() {
		missing, extra = ready.PausedReplicas(o.Unstructured)
	}
	switch {
	case extra > 0 && (o.paused() || have == updated):
		return ongoing(fmt.Sprintf("Waiting for %d replicas to be deleted", extra)), true
	case missing > 0:
		return ongoing(fmt.Sprintf("Waiting for %d replicas to be created", missing)), true
	case o.paused():
		return Judgement{}, false
	case want > updated:
		return ongoing(fmt.Sprintf("Waiting for %d replicas to be updated", want-updated)), true
	case have > updated:
		return ongoing(fmt.Sprintf("Waiting for %d old replicas to be deleted", have-updated)), true
	}
	return Judgement{}, false
}

func (o live) paused() bool {
	paused, _, _ := unstructured.NestedBool(o.Object, "spec", "paused")
	return paused
}

func daemonSet(o live) Judgement {
	if j, waits := o.unobserved(); waits {
		return j
	}
	scheduled := o.count(0, "status", "desiredNumberScheduled")
	if n := scheduled - o.count(0, "status", "updatedNumberScheduled"); n > 0 {
		return ongoing(fmt.Sprintf("Waiting for %d updated pods to be scheduled", n))
	}
	if n := o.count(0, "status", "numberUnavailable"); n > 0 {
		return ongoing(fmt.Sprintf("Waiting for %d unavailable pods", n))
	}
	return done("")
}

func statefulSet(o live) Judgement {
	if j, waits := o.unobserved(); waits {
		return j
	}
	if j, waits := o.updatingReplicas(); waits {
		return j
	}
	want := o.count(1, "spec", "replicas")
	if n := want - o.count(0, "status", "readyReplicas"); n > 0 {
		return ongoing(fmt.Sprintf("Waiting for %d replicas to be ready", n))
	}
	if n := o.count(0, "status", "replicas") - want; n > 0 {
		return ongoing(fmt.Sprintf("Waiting for %d replicas to be deleted", n))
	}
	if n := want - o.count(0, "status", "availableReplicas"); n > 0 &&
		o.count(0, "spec", "minReadySeconds") > 0 {
		return ongoing(fmt.Sprintf("Waiting for %d replicas to be available", n))
	}
	return done("")
}

// updatingReplicas returns the judgement of a StatefulSet with too few replicas of the revision
// that it updates to. Those below the partition are not updated.
func (o live) updatingReplicas() (Judgement, bool) {
	want, words := o.count(1, "spec", "replicas"), ""
	partition := o.count(0, "spec", "updateStrategy", "rollingUpdate", "partition")
	if partition > 0 {
		words = fmt.Sprintf(" (updating only %d of %d total)", want-partition, want)
	}
	n := want - partition - o.count(0, "status", "updatedReplicas")
	if n <= 0 && o.goesBack() {
		n, words = n+partition, ""
	}
	return ongoing(fmt.Sprintf("Waiting for %d replicas to be updated%s", n, words)), n > 0
}

// goesBack reports whether a StatefulSet updates to the revision that its replicas below the
// partition have, so that these count as updated. Both counters are then of the same replicas, but
// for one that is just being deleted.
func (o live) goesBack() bool {
	current, update := o.text("status", "currentRevision"), o.text("status", "updateRevision")
	return current != "" && current == update &&
		o.count(0, "status", "currentReplicas") <= o.count(0, "status", "updatedReplicas")
}

func job(o live) Judgement {
	if o.condition("Complete").holds() {
		return done("Completed")
	}
	if c := o.condition("Failed"); c.holds() {
		return c.fails("Failed with reason " + c.reason + ": " + c.message)
	}
	return ongoing(fmt.Sprintf(
		"Waiting to complete (%d active, %d failed, %d succeeded)",
		o.count(
			0,
			"status",
			"active",
		),
		o.count(0, "status", "failed"),
		o.count(0, "status", "succeeded"),
	))
}

func pod(o live) Judgement {
	switch o.text("status", "phase") {
	case "Pending":
		if detail := o.pending(); detail != "" {
			return ongoing("Pending: " + detail)
		}
		return ongoing("Pending")
	case "Running":
		if o.ready.Reason == ready.NotObserved { // the conditions are of before an update
			j, _ := o.unobserved()
			return j
		}
		return holding("Initialized", "Ready", "PodScheduled")(o)
	case "Succeeded":
		return done("")
	case "Failed":
		return failed("Phase is failed")
	case "Unknown":
		return failed("Phase is unknown")
	}
	return ongoing("Undetermined phase")
}

// pending returns why a pod does not run: the reason of the first waiting container, or that the
// pod has no node.
func (o live) pending() string {
	for _, key := range [...]string{"initContainerStatuses", "containerStatuses"} {
		for _, container := range o.maps("status", key) {
			waiting, found, _ := unstructured.NestedStringMap(container, "state", "waiting")
			if found {
				return condition{reason: waiting["reason"], message: waiting["message"]}.words()
			}
		}
	}
	if c := o.condition("PodScheduled"); c.reason == "Unschedulable" {
		return c.words()
	}
	return ""
}
