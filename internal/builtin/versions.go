package builtin

import "k8s.io/apimachinery/pkg/runtime"

// Version 1 of autoscalers has one of the metrics of version 2 in a field, and all else in
// annotations.
const (
	cpuTarget     = "targetCPUUtilizationPercentage"
	annotationFor = "autoscaling.alpha.kubernetes.io/"
)

// InVersionOf returns what was applied to a live object, with the names that its fields have in the
// version of that. It returns what was applied itself where no names differ: among the kinds that
// clients apply in several versions only autoscalers have such fields.
func InVersionOf(live, applied map[string]any) map[string]any {
	from, to := applied["apiVersion"], live["apiVersion"]
	_, isMap := applied["spec"].(map[string]any)
	if kindOf(live) != "HorizontalPodAutoscaler.autoscaling" || from == to || !isMap {
		return applied
	}
	applied = runtime.DeepCopyJSON(applied)
	spec := applied["spec"].(map[string]any)
	switch to {
	case "autoscaling/v2":
		if target, has := spec[cpuTarget]; has {
			spec["metrics"] = []any{map[string]any{"type": "Resource", "resource": map[string]any{
				"name":   "cpu",
				"target": map[string]any{"type": "Utilization", "averageUtilization": target},
			}}}
		}
	case "autoscaling/v1":
		if live, _ := live["spec"].(map[string]any); spec["metrics"] != nil && live[cpuTarget] != nil {
			spec[cpuTarget] = live[cpuTarget]
		}
		for _, field := range []string{"metrics", "behavior"} {
			if spec[field] != nil {
				annotateAs(applied, live, annotationFor+field)
			}
		}
	}
	return applied
}

// annotateAs sets an annotation to the value that another object has, if it has one.
func annotateAs(object, other map[string]any, key string) {
	metadata, _ := object["metadata"].(map[string]any)
	theirs, _ := other["metadata"].(map[string]any)
	annotations, _ := theirs["annotations"].(map[string]any)
	value, has := annotations[key]
	if metadata == nil || !has {
		return
	}
	annotations, isMap := metadata["annotations"].(map[string]any)
	if !isMap {
		annotations = map[string]any{}
		metadata["annotations"] = annotations
	}
	annotations[key] = value
}
