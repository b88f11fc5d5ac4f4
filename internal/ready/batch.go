package ready

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var jobKind = schema.GroupKind{Group: "batch", Kind: "Job"}

// batch returns the judge of a kind that runs to completion or starts such objects.
func batch(kind schema.GroupKind) judge {
	switch kind {
	case jobKind:
		return job
	case schema.GroupKind{Group: "batch", Kind: "CronJob"}:
		return alwaysReady
	}
	return nil
}

// job waits for completion, except of a job that is suspended, or paused by a parallelism of 0.
func job(obj *unstructured.Unstructured) Status {
	parallelism := count(obj, 1, "spec", "parallelism")
	completions := count(obj, parallelism, "spec", "completions")
	succeeded, failures := count(obj, 0, "status", "succeeded"), count(obj, 0, "status", "failed")
	if ConditionOf(obj, "Complete").isTrue() {
		return current(fmt.Sprintf("Job Completed. succeeded: %d/%d", succeeded, completions))
	}
	if c := ConditionOf(obj, "Failed"); c.isTrue() {
		return failed(
			"JobFailed",
			join(
				fmt.Sprintf("Job Failed. failed: %d/%d", failures, completions), c.Reason,
				c.Message,
			),
		)
	}
	switch {
	case field(obj, "spec", "suspend") == true && ConditionOf(obj, "Suspended").isTrue():
		return current("Job is suspended")
	case text(obj, "status", "startTime") == "":
		return inProgress("JobNotStarted", "Job not started")
	case parallelism == 0 && completions > 0:
		return current("Job is paused, its parallelism is 0")
	}
	if c := ConditionOf(obj, "FailureTarget"); c.isTrue() {
		return inProgress("JobFailing",
			join("Job is failing, its pods are being ended", c.Reason, c.Message))
	}
	return inProgress("JobInProgress", fmt.Sprintf("Job in progress. success:%d, active: %d, "+
		"failed: %d",
		succeeded, count(obj, 0, "status", "active"), failures))
}
