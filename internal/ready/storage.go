package ready

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// storage are the kinds that keep data: volumes, and the two that keep it in the API server and are ready at once.
func storage() []Rule {
	return []Rule{
		{schema.GroupKind{Kind: "PersistentVolumeClaim"}, volumeClaim},
		{schema.GroupKind{Kind: "ConfigMap"}, alwaysReady},
		{schema.GroupKind{Kind: "Secret"}, alwaysReady},
	}
}

func volumeClaim(obj *unstructured.Unstructured) Status {
	phase := text(obj, "status", "phase")
	if phase == "" {
		phase = "unknown"
	}
	if phase != "Bound" {
		return inProgress("NotBound", "PVC is not Bound. phase: "+phase)
	}
	return current("PVC is Bound")
}

func alwaysReady(*unstructured.Unstructured) Status {
	return current("Resource is always ready")
}
