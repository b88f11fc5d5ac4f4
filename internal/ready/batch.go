package ready

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// batch are the kinds that run to an end.
func batch() []Rule {
	return []Rule{{schema.GroupKind{Group: "batch", Kind: "Job"}, job}}
}

func job(obj *unstructured.Unstructured) Status {
	completions := count(obj, count(obj, 1, "spec", "parallelism"), "spec", "completions")
	succeeded := count(obj, 0, "status", "succeeded")
	failures := count(obj, 0, "status", "failed")
	if conditionOf(obj, "Complete").holds() {
		return current(fmt.Sprintf("Job Completed. succeeded: %d/%d", succeeded, completions))
	}
	if c := conditionOf(obj, "Failed"); c.holds() {
		return failed("JobFailed", join(fmt.Sprintf("Job Failed. failed: %d/%d", failures, completions), c.Reason, c.Message))
	}
	if field(obj, "spec", "suspend") == true && conditionOf(obj, "Suspended").holds() {
		return current("Job is suspended")
	}
	if text(obj, "status", "startTime") == "" {
		return inProgress("JobNotStarted", "Job not started")
	}
	return inProgress("JobInProgress", fmt.Sprintf("Job in progress. success:%d, active: %d, failed: %d",
		succeeded, count(obj, 0, "status", "active"), failures))
}
