package ready

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// byGeneration holds back an object whose controller has not yet seen the specification that the status should be about.
// Some controllers (Argo Rollouts) write the observed generation as a decimal string.
func byGeneration(obj *unstructured.Unstructured) Status {
	generation, ok := integer(obj, "metadata", "generation")
	if !ok {
		return Status{}
	}
	observed, ok := integerOrDecimal(obj, "status", "observedGeneration")
	if !ok || observed == generation {
		return Status{}
	}
	return inProgress("LatestGenerationNotObserved", fmt.Sprintf(
		"%s generation is %d, but latest observed generation is %d", obj.GetKind(), generation, observed))
}

// byProgress reads the two conditions that say something only while they are true. The first in the list decides.
func byProgress(obj *unstructured.Unstructured) Status {
	for _, c := range conditions(obj) {
		switch {
		case c.Type == "Reconciling" && c.Status == "True":
			return inProgress(c.Reason, c.Message)
		case c.Type == "Stalled" && c.Status == "True":
			return failed(c.Reason, c.Message)
		}
	}
	return Status{}
}

// byReady reads the condition Ready, which most custom resources keep.
func byReady(obj *unstructured.Unstructured) Status {
	for _, c := range conditions(obj) {
		if c.Type != "Ready" {
			continue
		}
		switch c.Status {
		case "True":
			return current("Resource is Ready")
		case "False", "Unknown":
			return inProgress(c.Reason, c.Message)
		}
	}
	return Status{}
}
