package inventory

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/record"
)

// Manager is the field manager of records.
const Manager = "muster"

// resourceGroupFormat stores a record in a ResourceGroup: members in spec.resources, their
// conditions in status.resourceStatuses.
type resourceGroupFormat struct{}

func (resourceGroupFormat) kind() schema.GroupVersionKind { return ResourceGroupKind }

func (resourceGroupFormat) capacity() int { return groupCapacity }

func (resourceGroupFormat) find(
	ctx context.Context, c cluster.Writer, inv *Inventory,
) (*unstructured.Unstructured, error) {
	return findByName(ctx, c, inv, ResourceGroupKind.Version)
}

// decode reads the members in their order. An entry that names no object is an error: members may
// only be removed if all are known.
func (resourceGroupFormat) decode(group *unstructured.Unstructured) (*record.State, error) {
	resources, statuses := listAt(group, "spec", "resources"), listAt(
		group, "status", "resourceStatuses",
	)
	conditions := make(map[object.Ref]map[string]any, len(statuses))
	for _, item := range statuses {
		if entry, ok := item.(map[string]any); ok {
			conditions[refOf(entry)] = entry
		}
	}
	state := &record.State{Members: make([]record.Member, 0, len(resources))}
	seen := make(map[object.Ref]bool, len(resources))
	for i, item := range resources {
		entry, _ := item.(map[string]any)
		ref := refOf(entry)
		if ref.Kind == "" || ref.Name == "" {
			return nil, fmt.Errorf(
				"entry %d of spec.resources names no object (it needs kind and name)", i+1,
			)
		}
		if seen[ref] {
			continue
		}
		seen[ref] = true
		status := conditions[ref]
		state.Members = append(state.Members, record.Member{
			Ref:       ref,
			Strategy:  record.Strategy(text(status, "strategy")),
			Actuation: record.Progress(text(status, "actuation")),
			Reconcile: record.Progress(text(status, "reconcile")),
		})
	}
	return state, nil
}

// unwritten reports whether a member has no condition, or a pending one: a run stores members
// before it writes them, and their conditions when it ends.
func (resourceGroupFormat) unwritten(m record.Member) bool {
	return m.Actuation == "" || m.Actuation == record.Pending
}

// listAt returns a list of the object, or nil.
func listAt(group *unstructured.Unstructured, path ...string) []any {
	value, _, _ := unstructured.NestedFieldNoCopy(group.Object, path...)
	list, _ := value.([]any)
	return list
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

// setMembers writes spec.resources unless it lists the same members, in any order.
func (resourceGroupFormat) setMembers(
	group *unstructured.Unstructured, has, want *record.State, _ bool, _ int,
) (bool, error) {
	if sameMembers(has, want) {
		return false, nil
	}
	resources := make([]any, len(want.Members))
	for i, member := range want.Members {
		resources[i] = entryOf(member.Ref)
	}
	set(group, resources, "spec", "resources")
	return true, nil
}

func sameMembers(a, b *record.State) bool {
	if len(a.Members) != len(b.Members) {
		return false
	}
	known := make(map[object.Ref]bool, len(a.Members))
	for _, member := range a.Members {
		known[member.Ref] = true
	}
	return !slices.ContainsFunc(
		b.Members, func(member record.Member) bool { return !known[member.Ref] },
	)
}

// setStatuses writes status.resourceStatuses and the generation that they belong to, unless they
// are the same. Each has the status Unknown, which readers of this format expect. Members of
// unknown condition have no entry.
func (resourceGroupFormat) setStatuses(
	group *unstructured.Unstructured, has, want *record.State,
) bool {
	statuses := make([]any, 0, len(want.Members))
	for _, member := range want.Members {
		if member.Strategy == "" && member.Actuation == "" && member.Reconcile == "" {
			continue
		}
		entry := entryOf(member.Ref)
		entry["status"] = "Unknown"
		entry["strategy"] = string(member.Strategy)
		entry["actuation"] = string(member.Actuation)
		entry["reconcile"] = string(member.Reconcile)
		statuses = append(statuses, entry)
	}
	observed, _, _ := unstructured.NestedInt64(group.Object, "status", "observedGeneration")
	current := observed == group.GetGeneration() || group.Object["status"] == nil
	if current && has.Equal(want) &&
		len(listAt(group, "status", "resourceStatuses")) == len(statuses) {
		return false
	}
	set(group, statuses, "status", "resourceStatuses")
	group.Object["status"].(map[string]any)["observedGeneration"] = group.GetGeneration()
	return true
}

// set writes a list into a section of the object, or removes the list if it is empty.
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
	return map[string]any{
		"group":     ref.Group,
		"kind":      ref.Kind,
		"name":      ref.Name,
		"namespace": ref.Namespace,
	}
}
