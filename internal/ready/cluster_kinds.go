package ready

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// clusterKinds returns the judge of a kind that contains or defines other objects.
func clusterKinds(kind schema.GroupKind) judge {
	switch kind {
	case schema.GroupKind{Kind: "Namespace"}:
		return namespace
	case schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}:
		return customResourceDefinition
	case schema.GroupKind{Group: "apiregistration.k8s.io", Kind: "APIService"}:
		return apiService
	}
	return nil
}

// namespace judges only a namespace in deletion; conventions apply to all others.
func namespace(obj *unstructured.Unstructured) Status {
	if text(obj, "status", "phase") == "Terminating" {
		return terminating()
	}
	return Status{}
}

func customResourceDefinition(obj *unstructured.Unstructured) Status {
	for c := range conditions(obj) {
		switch {
		case c.Type == "NamesAccepted" && c.isFalse():
			return c.fatal()
		case c.Type == "Established" && c.isFalse() && c.Reason != "Installing":
			return c.fatal()
		case c.Type == "Established" && c.isTrue():
			return current("CRD is established")
		}
	}
	return inProgress("Installing", "Install in progress")
}

// apiService waits for its service, which may be deployed together with it.
func apiService(obj *unstructured.Unstructured) Status {
	switch c := ConditionOf(obj, "Available"); {
	case c.isTrue():
		return current("APIService is available")
	case c.Type != "":
		return inProgress(c.Reason, join("APIService is not available", c.Message))
	}
	return inProgress("NotChecked", "APIService has not been checked")
}
