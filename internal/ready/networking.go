package ready

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// networking returns the judge of a kind that routes or restricts traffic to pods.
func networking(kind schema.GroupKind) judge {
	switch kind {
	case schema.GroupKind{Kind: "Service"}:
		return service
	case schema.GroupKind{Group: "networking.k8s.io", Kind: "Ingress"},
		schema.GroupKind{Group: "extensions", Kind: "Ingress"}:
		return ingress
	case schema.GroupKind{Group: "networking.k8s.io", Kind: "NetworkPolicy"}:
		return alwaysReady
	}
	return nil
}

func service(obj *unstructured.Unstructured) Status {
	if text(obj, "spec", "type") == "LoadBalancer" {
		if text(obj, "spec", "clusterIP") == "" {
			return inProgress("NoIPAssigned", "ClusterIP not set. Service type: LoadBalancer")
		}
		if len(list(obj, "status", "loadBalancer", "ingress")) == 0 {
			return inProgress("NoLoadBalancerAddress", "Service is waiting for a load balancer "+
				"address")
		}
	}
	return current("Service is ready")
}

// ingress reports the address. Many controllers never write one, so an ingress without an address
// is current, with the reason NotReported.
func ingress(obj *unstructured.Unstructured) Status {
	for _, point := range list(obj, "status", "loadBalancer", "ingress") {
		for _, key := range [...]string{"hostname", "ip"} {
			if address := str(point, key); address != "" {
				return current(fmt.Sprintf("Ingress has the address %s", address))
			}
		}
	}
	return notReported("Ingress has no address yet")
}
