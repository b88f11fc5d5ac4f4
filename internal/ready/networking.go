package ready

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// networking are the kinds that lead traffic to pods.
func networking() []Rule {
	return []Rule{{schema.GroupKind{Kind: "Service"}, service}}
}

func service(obj *unstructured.Unstructured) Status {
	if text(obj, "spec", "type") == "LoadBalancer" {
		if text(obj, "spec", "clusterIP") == "" {
			return inProgress("NoIPAssigned", "ClusterIP not set. Service type: LoadBalancer")
		}
		if len(list(obj, "status", "loadBalancer", "ingress")) == 0 {
			return inProgress("NoLoadBalancerAddress", "Service is waiting for a load balancer address")
		}
	}
	return current("Service is ready")
}
