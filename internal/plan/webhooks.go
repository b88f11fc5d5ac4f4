package plan

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/object"
)

// webhookKinds are the kinds of which objects name webhooks that the server calls for writes.
var webhookKinds = []schema.GroupKind{
	{Group: "admissionregistration.k8s.io", Kind: "MutatingWebhookConfiguration"},
	{Group: "admissionregistration.k8s.io", Kind: "ValidatingWebhookConfiguration"},
}

// awaitWebhooks lets the writes of custom resources whose definition is in the set wait for the
// workloads of the set that serve a webhook for them, for admission or conversion: until they are
// ready, the server refuses the writes. Nothing else waits, since the workloads may need it, and
// neither does what they wait for. Needs and After are indexes into the steps, of which it changes
// After.
func awaitWebhooks(steps []Step) {
	plurals := map[schema.GroupKind]string{}
	for i := range steps {
		if steps[i].Ref.GroupKind() == DefinitionKind && steps[i].Op.Applies() {
			if gk, ok := DefinedKind(steps[i].Want); ok {
				plurals[gk], _, _ = unstructured.NestedString(steps[i].Want.Object, "spec", "names", "plural")
			}
		}
	}
	if len(plurals) == 0 {
		return
	}
	looks := maxLooks
	for i := range steps {
		if !steps[i].Op.Applies() || steps[i].Want == nil {
			continue
		}
		for _, hook := range webhooksOf(steps[i].Want) {
			workloads := ServingWorkloads(steps, hook.service)
			if looks -= 2 * len(steps); looks < 0 {
				return
			}
			for j := range steps {
				gk := steps[j].Ref.GroupKind()
				if plural := plurals[gk]; plural != "" && hook.calls(gk, plural, steps[j].Want) {
					if looks -= len(workloads) * len(steps); looks < 0 {
						return
					}
					awaitWorkloads(steps, j, workloads)
				}
			}
		}
	}
}

// awaitWorkloads lets the write of a step wait for workloads, unless they wait for the step.
func awaitWorkloads(steps []Step, i int, workloads []int) {
	if steps[i].Op != Create && steps[i].Op != Update {
		return
	}
	for _, w := range workloads {
		if !slices.Contains(steps[i].After, w) && !slices.Contains(steps[i].Needs, w) &&
			!stepsBefore(steps, w)[i] {
			steps[i].After = append(slices.Clone(steps[i].After), w)
		}
	}
}

// webhook is a webhook behind a Service.
type webhook struct {
	service object.Ref
	rules   []any            // those of admission
	kind    schema.GroupKind // of conversion
}

// webhooksOf returns the webhooks that an object names and without which writes are refused.
func webhooksOf(obj *unstructured.Unstructured) (hooks []webhook) {
	gk := obj.GroupVersionKind().GroupKind()
	if gk == DefinitionKind {
		conversion, _, _ := unstructured.NestedMap(obj.Object, "spec", "conversion", "webhook")
		if service, ok := serviceOf(conversion); ok {
			defined, _ := DefinedKind(obj)
			hooks = append(hooks, webhook{service: service, kind: defined})
		}
	}
	if !slices.Contains(webhookKinds, gk) {
		return hooks
	}
	list, _ := obj.Object["webhooks"].([]any)
	for _, item := range list {
		fields, _ := item.(map[string]any)
		if service, ok := serviceOf(fields); ok && fields["failurePolicy"] != "Ignore" {
			rules, _ := fields["rules"].([]any)
			hooks = append(hooks, webhook{service: service, rules: rules})
		}
	}
	return hooks
}

// serviceOf returns the Service of the configuration of a client.
func serviceOf(fields map[string]any) (object.Ref, bool) {
	name, ok, _ := unstructured.NestedString(fields, "clientConfig", "service", "name")
	namespace, _, _ := unstructured.NestedString(fields, "clientConfig", "service", "namespace")
	return object.Ref{Kind: "Service", Namespace: namespace, Name: name}, ok
}

// calls reports whether the server calls the webhook for writes of an object, as far as the kind
// and the version say.
func (h webhook) calls(gk schema.GroupKind, plural string, obj *unstructured.Unstructured) bool {
	if obj == nil || gk == h.kind {
		return obj != nil
	}
	return slices.ContainsFunc(h.rules, func(item any) bool {
		rule, _ := item.(map[string]any)
		return has(rule["apiGroups"], gk.Group) && has(rule["resources"], plural) &&
			has(rule["apiVersions"], obj.GroupVersionKind().Version) &&
			(has(rule["operations"], "CREATE") || has(rule["operations"], "UPDATE"))
	})
}

// has reports whether a list of a rule has a text, or the asterisk for all.
func has(list any, text string) bool {
	items, _ := list.([]any)
	return slices.Contains(items, any(text)) || slices.Contains(items, any("*")) ||
		slices.Contains(items, any("*/*"))
}

// ServingWorkloads returns the steps of the workloads whose pods a Service of the set selects.
func ServingWorkloads(steps []Step, service object.Ref) (workloads []int) {
	at := slices.IndexFunc(steps, func(s Step) bool {
		return s.Ref == service && s.Op.Applies() && s.Want != nil
	})
	if at < 0 {
		return nil
	}
	selector, _, _ := unstructured.NestedStringMap(steps[at].Want.Object, "spec", "selector")
	if len(selector) == 0 {
		return nil
	}
	for i := range steps {
		if !steps[i].Op.Applies() || steps[i].Want == nil || steps[i].Ref.Namespace != service.Namespace {
			continue
		}
		pods, ok, _ := unstructured.NestedStringMap(
			steps[i].Want.Object, "spec", "template", "metadata", "labels")
		if ok && labels.SelectorFromSet(selector).Matches(labels.Set(pods)) {
			workloads = append(workloads, i)
		}
	}
	return workloads
}
