package plan

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// clusterRoleKind is the kind of which objects may aggregate others of the kind.
var clusterRoleKind = schema.GroupKind{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole"}

// aggregationRule is the field of a ClusterRole that selects those that it aggregates.
const aggregationRule = "aggregationRule"

// maxLooks limits how often steps are looked at to find the order of roles, or of webhooks. Beyond
// that, objects have the order that they would have without.
const maxLooks = 50_000_000

// deleteAggregatesFirst lets the deletions of roles that others aggregate wait for those of the
// roles that aggregate them, and marks the latter: the controller that writes their rules whenever
// a part changes creates a role that it still remembers. Edges that would close a cycle are left
// out. Needs and After are indexes into the steps, of which it changes After, Wait and Returns.
func deleteAggregatesFirst(steps []Step) {
	looks := maxLooks
	for i := range steps {
		if !deletesRole(&steps[i]) {
			continue
		}
		selectors, aggregates := aggregated(steps[i].Have)
		if !aggregates {
			continue
		}
		steps[i].Returns, steps[i].Wait = true, true
		if looks -= (len(selectors) + 1) * len(steps); looks < 0 {
			continue
		}
		var before []bool // the steps that this one waits for; filled on demand
		for j := range steps {
			if i == j || !deletesRole(&steps[j]) || !selects(selectors, steps[j].Have) {
				continue
			}
			if before == nil {
				before = stepsBefore(steps, i)
			}
			if !before[j] {
				steps[j].After = append(slices.Clone(steps[j].After), i)
			}
		}
	}
}

// deletesRole reports whether a step deletes a ClusterRole.
func deletesRole(step *Step) bool {
	return step.Op == Delete && step.Have != nil && step.Ref.GroupKind() == clusterRoleKind
}

// aggregated returns the valid selectors of the roles that a role aggregates, and whether it
// aggregates any.
func aggregated(role *unstructured.Unstructured) ([]labels.Selector, bool) {
	rule, ok := role.Object[aggregationRule].(map[string]any)
	if !ok {
		return nil, false
	}
	var selectors []labels.Selector
	list, _ := rule["clusterRoleSelectors"].([]any)
	for _, item := range list {
		fields, _ := item.(map[string]any)
		typed := metav1.LabelSelector{}
		if runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &typed) != nil {
			continue
		}
		if selector, err := metav1.LabelSelectorAsSelector(&typed); err == nil {
			selectors = append(selectors, selector)
		}
	}
	return selectors, true
}

// selects reports whether one of the selectors selects an object.
func selects(selectors []labels.Selector, obj *unstructured.Unstructured) bool {
	return slices.ContainsFunc(selectors, func(selector labels.Selector) bool {
		return selector.Matches(labels.Set(obj.GetLabels()))
	})
}

// stepsBefore returns, by step, whether a step waits for it, directly or not, or is it.
func stepsBefore(steps []Step, i int) []bool {
	before := make([]bool, len(steps))
	var visit func(k int)
	visit = func(k int) {
		if before[k] {
			return
		}
		before[k] = true
		for _, j := range steps[k].Needs {
			visit(j)
		}
		for _, j := range steps[k].After {
			visit(j)
		}
	}
	visit(i)
	return before
}

// MayBeRemnant reports whether an object is what the controller creates that still remembers a role
// which was deleted: one with a name and rules, and nothing by which somebody would know it.
func MayBeRemnant(obj *unstructured.Unstructured) bool {
	marks := len(obj.GetLabels()) + len(obj.GetAnnotations()) + len(obj.GetOwnerReferences())
	return obj.GroupVersionKind().GroupKind() == clusterRoleKind && marks == 0 &&
		obj.Object[aggregationRule] == nil
}

// aggregationController is the field manager of the controller that writes the rules of roles.
const aggregationController = "clusterrole-aggregation-controller"

// IsRemnant reports whether an object, with its managed fields, may be a remnant and was written by
// that controller alone.
func IsRemnant(obj *unstructured.Unstructured) bool {
	managers := obj.GetManagedFields()
	return MayBeRemnant(obj) && len(managers) > 0 &&
		!slices.ContainsFunc(managers, func(m metav1.ManagedFieldsEntry) bool {
			return m.Manager != aggregationController
		})
}

// addSoftEdges does for nodes what deleteAggregatesFirst and awaitWebhooks do for steps.
func (b *builder) addSoftEdges() {
	steps := make([]Step, len(b.nodes))
	for i := range b.nodes {
		n := &b.nodes[i]
		steps[i] = Step{
			Ref: n.Ref, Op: n.Op, Want: n.Want, Have: n.Have, Wait: n.Wait, Needs: n.needs,
		}
	}
	deleteAggregatesFirst(steps)
	awaitWebhooks(steps)
	for i := range b.nodes {
		n := &b.nodes[i]
		n.Wait, n.Returns, n.after = steps[i].Wait, steps[i].Returns, steps[i].After
	}
}
