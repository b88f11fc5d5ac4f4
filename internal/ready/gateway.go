package ready

import (
	"fmt"
	"iter"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// gateways are the kinds of the Gateway API. Its conditions begin as Unknown, for the reason Pending, and each says which
// generation it is about. A refusal is no failure where it depends on other objects, which may still come.
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

// gateway asks the gateway itself and then its listeners: a gateway is programmed as soon as one of them works.
func gateway(obj *unstructured.Unstructured) Status {
	if s := unaccepted(conditions(obj), ""); s.State != "" {
		return s
	}
	for _, listener := range list(obj, "status", "listeners") {
		where := "listener " + str(listener, "name")
		if s := unaccepted(conditionsIn(listener, field(obj, "metadata", "generation")), where); s.State != "" {
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

// unaccepted gives the first of the conditions that is not met. where names the part that they are about, if any.
func unaccepted(conditions iter.Seq[Condition], where string) Status {
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
		if c.isFalse() && lasting(c.Reason) {
			return failed(c.Reason, join(where, c.text()))
		}
		return inProgress(c.Reason, join(where, c.text()))
	}
	return Status{}
}

// lasting are the reasons for which only a change of the object itself helps.
func lasting(reason string) bool {
	switch reason {
	case "UnsupportedValue", "IncompatibleFilters", "InvalidKind", "UnsupportedProtocol", "UnsupportedAddress":
		return true
	}
	return false
}

// route asks every parent that the route names. What other parents once said does not count.
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
			if s := unaccepted(conditionsIn(report, generation), parentName(parent)); s.State != "" {
				return s
			}
		}
		if !found {
			return inProgress("Pending", fmt.Sprintf("%s: no controller has reported", parentName(parent)))
		}
	}
	return current(text(obj, "kind") + " is accepted by its parents")
}

// sameParent compares a parent that the specification names with one that the status reports on. What is not said has a
// default: a Gateway, in the route's namespace.
func sameParent(obj *unstructured.Unstructured, a, b any) bool {
	for _, key := range [...]struct{ name, fallback string }{
		{"group", "gateway.networking.k8s.io"},
		{"kind", "Gateway"},
		{"namespace", text(obj, "metadata", "namespace")},
		{"name", ""},
		{"sectionName", ""},
	} {
		if orElse(member(a, key.name), key.fallback) != orElse(member(b, key.name), key.fallback) {
			return false
		}
	}
	portA, _ := wholeNumber(member(a, "port"))
	portB, _ := wholeNumber(member(b, "port"))
	return portA == portB
}

func orElse(value any, fallback string) string {
	if s, ok := value.(string); ok {
		return s
	}
	return fallback
}

func parentName(parent any) string {
	name := fmt.Sprintf("%s %s", orElse(member(parent, "kind"), "Gateway"), str(parent, "name"))
	if section := str(parent, "sectionName"); section != "" {
		return name + "/" + section
	}
	return name
}

// attachedPolicy asks all that the policy acts on through.
func attachedPolicy(obj *unstructured.Unstructured) Status {
	ancestors := list(obj, "status", "ancestors")
	for _, ancestor := range ancestors {
		where := parentName(member(ancestor, "ancestorRef"))
		if s := unaccepted(conditionsIn(ancestor, field(obj, "metadata", "generation")), where); s.State != "" {
			return s
		}
	}
	if len(ancestors) == 0 {
		return notReported(text(obj, "kind") + " is not attached to anything yet")
	}
	return current(text(obj, "kind") + " is accepted")
}
