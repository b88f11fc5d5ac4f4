package ready

import (
	"reflect"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var apiServiceKind = schema.GroupKind{Group: "apiregistration.k8s.io", Kind: "APIService"}

// clusterKinds returns the judge of a kind that contains or defines other objects.
func clusterKinds(kind schema.GroupKind) judge {
	switch kind {
	case schema.GroupKind{Kind: "Namespace"}:
		return namespace
	case schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}:
		return customResourceDefinition
	case apiServiceKind:
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

// customResourceDefinition judges a definition. An established one whose kind is served is ready
// although the server refuses another of its names, such as a short name that is in use.
func customResourceDefinition(obj *unstructured.Unstructured) Status {
	established, names := ConditionOf(obj, "Established"), ConditionOf(obj, "NamesAccepted")
	switch {
	case names.isFalse() && !(established.isTrue() && servesKind(obj)):
		return names.fatal()
	case established.isFalse() && established.Reason != "Installing":
		return established.fatal()
	case names.isTrue() && !hasNames(obj):
		return inProgress("NamesNotChecked", "the server has not checked its names yet")
	case established.isTrue() && names.isFalse():
		return currentWith("CRD is established without some of its names: " + names.text())
	case established.isTrue():
		return current("CRD is established")
	}
	return inProgress("Installing", "Install in progress")
}

// servesKind reports whether the server has accepted the names of a definition that are needed to
// read and write its objects.
func servesKind(obj *unstructured.Unstructured) bool {
	for _, name := range []string{"kind", "plural"} {
		if text(obj, "status", "acceptedNames", name) != text(obj, "spec", "names", name) {
			return false
		}
	}
	return true
}

// hasNames reports whether the accepted names of a definition, if there are any, are those that it
// has: after an update, the conditions are still about the earlier ones.
func hasNames(obj *unstructured.Unstructured) bool {
	accepted, _ := field(obj, "status", "acceptedNames").(map[string]any)
	names, _ := field(obj, "spec", "names").(map[string]any)
	for name, value := range names {
		if len(accepted) > 0 && !reflect.DeepEqual(value, accepted[name]) {
			return false
		}
	}
	return true
}

// apiService waits for its service, which may be deployed together with it. A server calls one
// without a service available for the reason Local, which says nothing of a service that it got
// since.
func apiService(obj *unstructured.Unstructured) Status {
	c := ConditionOf(obj, "Available")
	switch {
	case c.isTrue() && !(c.Reason == "Local" && field(obj, "spec", "service") != nil):
		return current("APIService is available")
	case c.Type != "" && !c.isTrue():
		return inProgress(c.Reason, join("APIService is not available", c.Message))
	}
	return inProgress("NotChecked", "APIService has not been checked")
}

// AvailableSince returns since when an API service is available; zero for one that is not, and for
// other objects.
func AvailableSince(obj *unstructured.Unstructured) time.Time {
	c := ConditionOf(obj, "Available")
	if kindOf(obj) != apiServiceKind || apiService(obj).State != Current {
		return time.Time{}
	}
	return c.since(Status{}).Since
}
