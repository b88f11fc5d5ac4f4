package ready

import (
	"fmt"
	"iter"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// gateways returns the judge of a kind of the Gateway API. Its conditions start as Unknown with the
// reason Pending, and have an observed generation. A rejection because of another object is not a
// failure, since that object may still be created.
func gateways(kind schema.GroupKind) judge {
	if kind.Group != "gateway.networking.k8s.io" && kind.Group != "gateway.networking.x-k8s.io" {
		return nil
	}
	switch kind.Kind {
	case "Gateway", "ListenerSet", "XListenerSet":
		return gateway
	case "HTTPRoute", "GRPCRoute", "TLSRoute", "TCPRoute", "UDPRoute":
		return route
	case "BackendTLSPolicy", "XBackendTrafficPolicy", "BackendLBPolicy":
		return attachedPolicy
	case "ReferenceGrant":
		return alwaysReady
	}
	return nil
}

// gateway reads the conditions of the gateway and of its listeners. A gateway is programmed as soon
// as one listener works.
func gateway(obj *unstructured.Unstructured) Status {
	if s := unmetCondition(conditions(obj), ""); s.State != "" {
		return s
	}
	for _, listener := range list(obj, "status", "listeners") {
		where := "listener " + str(listener, "name")
		found := conditionsIn(listener, field(obj, "metadata", "generation"))
		if s := unmetCondition(found, where); s.State != "" {
			return s
		}
	}
	if ConditionOf(obj, "Programmed").isTrue() {
		return current(text(obj, "kind") + " is programmed")
	}
	if field(obj, "status", "conditions") == nil {
		return inProgress("Pending", text(obj, "kind")+" is waiting for a controller")
	}
	return Status{}
}

// unmetCondition returns the status for the first condition that is not met. where names the part
// of the object with these conditions, if any.
func unmetCondition(conditions iter.Seq[Condition], where string) Status {
	for c := range conditions {
		switch c.Type {
		case "Accepted", "Programmed", "ResolvedRefs":
			if c.Status != "False" && c.Status != "Unknown" {
				continue
			}
		case "Conflicted":
			if !c.isTrue() {
				continue
			}
		default:
			continue
		}
		if c.isFalse() && isPermanent(c.Reason) {
			return failed(c.Reason, join(where, c.text()))
		}
		return inProgress(c.Reason, join(where, c.text()))
	}
	return Status{}
}

// isPermanent reports whether only a change of the object itself resolves the reason.
func isPermanent(reason string) bool {
	switch reason {
	case "UnsupportedValue",
		"IncompatibleFilters",
		"InvalidKind",
		"UnsupportedProtocol",
		"UnsupportedAddress":
		return true
	}
	return false
}

// route reads what each parent in the specification reports. Reports of other parents are outdated.
func route(obj *unstructured.Unstructured) Status {
	generation := field(obj, "metadata", "generation")
	reports := list(obj, "status", "parents")
	for _, parent := range list(obj, "spec", "parentRefs") {
		found := false
		for _, report := range reports {
			if !sameParent(obj, parent, member(report, "parentRef")) {
				continue
			}
			found = true
			s := unmetCondition(conditionsIn(report, generation), parentName(parent))
			if s.State != "" {
				return s
			}
		}
		if !found {
			return inProgress(
				"Pending", fmt.Sprintf("%s: no controller has reported", parentName(parent)),
			)
		}
	}
	return current(text(obj, "kind") + " is accepted by its parents")
}

// sameParent compares a parent in the specification with one in the status. The defaults are those
// of the API: a Gateway in the route's namespace.
func sameParent(obj *unstructured.Unstructured, a, b any) bool {
	for _, key := range [...]struct{ name, fallback string }{
		{"group", "gateway.networking.k8s.io"},
		{"kind", "Gateway"},
		{"namespace", text(obj, "metadata", "namespace")},
		{"name", ""},
		{"sectionName", ""},
	} {
		if textOr(member(a, key.name), key.fallback) != textOr(member(b, key.name), key.fallback) {
			return false
		}
	}
	portA, _ := wholeNumber(member(a, "port"))
	portB, _ := wholeNumber(member(b, "port"))
	return portA == portB
}

func textOr(value any, fallback string) string {
	if s, ok := value.(string); ok {
		return s
	}
	return fallback
}

func parentName(parent any) string {
	name := fmt.Sprintf("%s %s", textOr(member(parent, "kind"), "Gateway"), str(parent, "name"))
	if section := str(parent, "sectionName"); section != "" {
		return name + "/" + section
	}
	return name
}

// attachedPolicy reads the conditions of all ancestors of the policy.
func attachedPolicy(obj *unstructured.Unstructured) Status {
	ancestors := list(obj, "status", "ancestors")
	for _, ancestor := range ancestors {
		where := parentName(member(ancestor, "ancestorRef"))
		found := conditionsIn(ancestor, field(obj, "metadata", "generation"))
		if s := unmetCondition(found, where); s.State != "" {
			return s
		}
	}
	if len(ancestors) == 0 {
		return notReported(text(obj, "kind") + " is not attached to anything yet")
	}
	return current(text(obj, "kind") + " is accepted")
}
