package ready

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// scaling returns the judge of a kind that limits or sets the number of pods.
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

// autoscaler waits until the autoscaler can scale its target. Missing metrics only delay it
// briefly, by the reason NotReported: a cluster without a metrics server never has them. The same
// holds before the first evaluation, which may take 15 seconds. A target with 0 replicas is not
// scaled on purpose.
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
	if field(obj, "status", "conditions") == nil && field(
		obj, "status", "observedGeneration",
	) != nil {
		return current("HorizontalPodAutoscaler has been observed")
	}
	return notReported("HorizontalPodAutoscaler has not been evaluated yet")
}

// disruptionBudget never waits: a budget without pods, or with unmanaged pods, only permits no
// disruption.
func disruptionBudget(obj *unstructured.Unstructured) Status {
	if c := ConditionOf(obj, "DisruptionAllowed"); c.isFalse() && c.Reason == "SyncFailed" {
		return current(join("AllowedDisruptions cannot be computed", c.Message))
	}
	return current("AllowedDisruptions has been computed.")
}

// resourceQuota waits until the status repeats the limits. A quota has no generation.
func resourceQuota(obj *unstructured.Unstructured) Status {
	limits, _ := field(obj, "spec", "hard").(map[string]any)
	for name, limit := range limits {
		if !sameQuantity(limit, field(obj, "status", "hard", name)) {
			return inProgress("NotEnforced", "ResourceQuota is not in effect yet")
		}
	}
	return current("ResourceQuota is in effect")
}

// sameQuantity reports whether two quantities are equal, in whatever format.
func sameQuantity(a, b any) bool {
	x, err := resource.ParseQuantity(fmt.Sprint(a))
	if err != nil {
		return false
	}
	y, err := resource.ParseQuantity(fmt.Sprint(b))
	return err == nil && x.Cmp(y) == 0
}
