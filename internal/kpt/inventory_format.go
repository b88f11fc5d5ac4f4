package kpt

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/record"
)

// manager is the field manager of the record itself.
const manager = "muster"

// decode reads the record that a ResourceGroup holds: members from spec.resources, their condition from
// status.resourceStatuses. Entries that name no object are passed over.
func decode(group *unstructured.Unstructured) *record.State {
	conditions := map[object.Ref]map[string]any{}
	for _, entry := range entries(group, "status", "resourceStatuses") {
		conditions[refOf(entry)] = entry
	}
	state := &record.State{}
	seen := object.NewSet()
	for _, entry := range entries(group, "spec", "resources") {
		ref := refOf(entry)
		if ref.Kind == "" || ref.Name == "" || !seen.Insert(ref) {
			continue
		}
		status := conditions[ref]
		state.Members = append(state.Members, record.Member{
			Ref:       ref,
			Strategy:  record.Strategy(text(status, "strategy")),
			Actuation: record.Progress(text(status, "actuation")),
			Reconcile: record.Progress(text(status, "reconcile")),
		})
	}
	return state
}

func entries(group *unstructured.Unstructured, path ...string) []map[string]any {
	list, _, _ := unstructured.NestedFieldNoCopy(group.Object, path...)
	items, _ := list.([]any)
	found := make([]map[string]any, 0, len(items))
	for _, item := range items {
		if entry, ok := item.(map[string]any); ok {
			found = append(found, entry)
		}
	}
	return found
}

func refOf(entry map[string]any) object.Ref {
	return object.Ref{
		Group:     text(entry, "group"),
		Kind:      text(entry, "kind"),
		Namespace: text(entry, "namespace"),
		Name:      text(entry, "name"),
	}
}

func text(entry map[string]any, key string) string {
	value, _ := entry[key].(string)
	return value
}

// sameMembers reports whether spec.resources lists exactly the members of the state, in any order.
func sameMembers(group *unstructured.Unstructured, state *record.State) bool {
	stored := object.NewSet(decode(group).Refs()...)
	if stored.Len() != len(state.Members) {
		return false
	}
	for _, member := range state.Members {
		if !stored.Has(member.Ref) {
			return false
		}
	}
	return true
}

// setMembers writes spec.resources; a record without members has none.
func setMembers(group *unstructured.Unstructured, state *record.State) {
	resources := make([]any, len(state.Members))
	for i, member := range state.Members {
		resources[i] = entryOf(member.Ref)
	}
	set(group, resources, "spec", "resources")
}

// statuses are the entries of status.resourceStatuses, with the literal status Unknown that readers of this format expect.
// Members of which nothing is known have none.
func statuses(state *record.State) []any {
	list := make([]any, 0, len(state.Members))
	for _, member := range state.Members {
		if member.Strategy == "" && member.Actuation == "" && member.Reconcile == "" {
			continue
		}
		entry := entryOf(member.Ref)
		entry["status"] = "Unknown"
		entry["strategy"] = string(member.Strategy)
		entry["actuation"] = string(member.Actuation)
		entry["reconcile"] = string(member.Reconcile)
		list = append(list, entry)
	}
	return list
}

// setStatuses writes status.resourceStatuses and the generation that they belong to.
func setStatuses(group *unstructured.Unstructured, state *record.State) {
	set(group, statuses(state), "status", "resourceStatuses")
	if status, ok := group.Object["status"].(map[string]any); ok {
		status["observedGeneration"] = group.GetGeneration()
	} else {
		group.Object["status"] = map[string]any{"observedGeneration": group.GetGeneration()}
	}
}

// set writes a list below a section of the object, or removes it when it is empty.
func set(group *unstructured.Unstructured, list []any, section, field string) {
	fields, ok := group.Object[section].(map[string]any)
	if !ok {
		fields = map[string]any{}
	}
	if len(list) == 0 {
		delete(fields, field)
	} else {
		fields[field] = list
	}
	group.Object[section] = fields
}

func entryOf(ref object.Ref) map[string]any {
	return map[string]any{"group": ref.Group, "kind": ref.Kind, "name": ref.Name, "namespace": ref.Namespace}
}
