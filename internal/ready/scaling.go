package ready

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// scaling are the kinds that say how many pods there may be.
func scaling(kind schema.GroupKind) judge {
	switch kind {
	case schema.GroupKind{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"}:
		return autoscaler
	case schema.GroupKind{Group: "policy", Kind: "PodDisruptionBudget"}:
		return disruptionBudget
	case schema.GroupKind{Kind: "ResourceQuota"}:
		return resourceQuota
	}
	return nil
}

// autoscaler waits until the autoscaler can scale its target. Metrics that it cannot read hold nobody up for long: a cluster
// without a metrics server never has them, and the target runs all the same. Nor does an autoscaler that was not looked at
// yet, which its controller does every 15 seconds only. A target scaled to zero is not scaled, by intention.
func autoscaler(obj *unstructured.Unstructured) Status {
	if c := ConditionOf(obj, "AbleToScale"); c.isFalse() {
		return c.pending()
	}
	switch c := ConditionOf(obj, "ScalingActive"); {
	case c.isTrue():
		return current("HorizontalPodAutoscaler is scaling")
	case c.isFalse() && c.Reason == "ScalingDisabled":
		return current("HorizontalPodAutoscaler is disabled, its target has no replicas")
	case c.isFalse() && (c.Reason == "InvalidMetricSourceType" || c.Reason == "InvalidSelector"):
		return c.fatal()
	case c.Type != "":
		return notReported(join("HorizontalPodAutoscaler does not scale yet", c.text()))
	}
	if field(obj, "status", "conditions") == nil && field(obj, "status", "observedGeneration") != nil {
		return current("HorizontalPodAutoscaler has been observed")
	}
	return notReported("HorizontalPodAutoscaler has not been evaluated yet")
}

// disruptionBudget is never waited for: without pods, or with pods that nothing controls, it only allows no disruption.
func disruptionBudget(obj *unstructured.Unstructured) Status {
	if c := ConditionOf(obj, "DisruptionAllowed"); c.isFalse() && c.Reason == "SyncFailed" {
		return current(join("AllowedDisruptions cannot be computed", c.Message))
	}
	return current("AllowedDisruptions has been computed.")
}

// resourceQuota waits until the limits are those in effect, which the status repeats. A quota has no generation.
func resourceQuota(obj *unstructured.Unstructured) Status {
	limits, _ := field(obj, "spec", "hard").(map[string]any)
	for name, limit := range limits {
		if !sameQuantity(limit, field(obj, "status", "hard", name)) {
			return inProgress("NotEnforced", "ResourceQuota is not in effect yet")
		}
	}
	return current("ResourceQuota is in effect")
}

// sameQuantity compares two amounts, which may be written differently.
func sameQuantity(a, b any) bool {
	x, err := resource.ParseQuantity(fmt.Sprint(a))
	if err != nil {
		return false
	}
	y, err := resource.ParseQuantity(fmt.Sprint(b))
	return err == nil && x.Cmp(y) == 0
}
