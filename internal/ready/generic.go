package ready

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// ByGeneration returns InProgress if the status is about an earlier generation. Some controllers
// (Flux) observe a generation when they are done with it: until then conditions about it say what
// they wait for, or that they have given up. Some (Argo Rollouts) write the observed generation as
// a decimal string.
func ByGeneration(obj *unstructured.Unstructured) Status {
	generation, ok := integer(obj, "metadata", "generation")
	if !ok {
		return Status{}
	}
	observed, ok := wholeOrDecimal(field(obj, "status", "observedGeneration"))
	if !ok || observed == generation {
		return Status{}
	}
	if c := ConditionOf(obj, "Stalled"); c.observed && c.isTrue() {
		return c.fatal()
	}
	if c := ConditionOf(obj, "Ready"); c.observed && c.isFalse() {
		return c.pending()
	}
	return inProgress(NotObserved, fmt.Sprintf(
		"%s generation is %d, but latest observed generation is %d",
		text(obj, "kind"),
		generation,
		observed,
	))
}

// byProgress reads the conditions Reconciling and Stalled, which matter only while they are true.
// The first in the list decides.
func byProgress(obj *unstructured.Unstructured) Status {
	for c := range conditions(obj) {
		switch {
		case c.Type == "Reconciling" && c.isTrue():
			return c.pending()
		case c.Type == "Stalled" && c.isTrue():
			return c.fatal()
		}
	}
	return Status{}
}

// byReady reads the condition Ready, which most custom resources have.
func byReady(obj *unstructured.Unstructured) Status {
	for c := range conditions(obj) {
		if c.Type != "Ready" {
			continue
		}
		switch c.Status {
		case "True":
			return current("Resource is Ready")
		case "False", "Unknown":
			return c.pending()
		}
	}
	return Status{}
}
