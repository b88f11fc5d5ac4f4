package ready

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// foundations are the kinds that other objects live in or are instances of.
func foundations() []Rule {
	return []Rule{
		{schema.GroupKind{Kind: "Namespace"}, namespace},
		{schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}, customResourceDefinition},
	}
}

// namespace has nothing to say about one that is not going away.
func namespace(obj *unstructured.Unstructured) Status {
	if text(obj, "status", "phase") == "Terminating" {
		return terminating()
	}
	return Status{}
}

func customResourceDefinition(obj *unstructured.Unstructured) Status {
	for _, c := range conditions(obj) {
		switch {
		case c.Type == "NamesAccepted" && c.Status == "False":
			return failed(c.Reason, c.Message)
		case c.Type == "Established" && c.Status == "False" && c.Reason != "Installing":
			return failed(c.Reason, c.Message)
		case c.Type == "Established" && c.holds():
			return current("CRD is established")
		}
	}
	return inProgress("Installing", "Install in progress")
}
