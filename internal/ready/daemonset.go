package ready

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// daemonSet waits for a pod on every node that should have one. With OnDelete the controller
// updates no pods, so old ones count.
func daemonSet(obj *unstructured.Unstructured) Status {
	if _, ok := integer(obj, "metadata", "generation"); !ok {
		return inProgress("NoGeneration", "DaemonSet metadata.generation not found")
	}
	if !isObserved(obj) {
		return generationMissing(obj)
	}
	want, ok := integer(obj, "status", "desiredNumberScheduled")
	if !ok {
		return inProgress("NoDesiredNumber", "Missing .status.desiredNumberScheduled")
	}
	onDelete := isOnDelete(obj)
	for _, counter := range [...]struct {
		field, name string
		ignored     bool
	}{
		{"currentNumberScheduled", "Current", false},
		{"updatedNumberScheduled", "Updated", onDelete},
		{"numberAvailable", "Available", false},
		{"numberReady", "Ready", false},
	} {
		if have := count(obj, 0, "status", counter.field); want > have && !counter.ignored {
			return inProgress(
				"Less"+counter.name, fmt.Sprintf("%s: %d/%d", counter.name, have, want),
			)
		}
	}
	return current(fmt.Sprintf("All replicas scheduled as expected. Replicas: %d", want))
}
