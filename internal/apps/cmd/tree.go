package cmd

import (
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-deploy/muster/internal/apps/resource"
	"github.com/muster-deploy/muster/internal/apps/ui"
)

// treeTable shows every object below the one that it was made for, as the label of association and owner references tell.
func treeTable(title string, objects []live) ui.Table {
	table := ui.Table{
		Title: title, Content: "resources", Notes: resourceNotes(), FillFirst: true,
		Header: append([]ui.Column{{Key: "group", Title: "Group", Hidden: true}}, resourceColumns()...),
		SortBy: ui.SortBy(0, 5, 1), // group, owner, namespace
	}
	byUID := make(map[types.UID]live, len(objects))
	for _, obj := range objects {
		byUID[obj.GetUID()] = obj
	}
	for _, obj := range objects {
		group, depth := groupOf(obj, byUID)
		name := ui.Cell{Text: obj.GetName()}
		if depth > 0 {
			name.Faint = " L" + strings.Repeat("..", depth-1) + " "
		}
		table.Rows = append(table.Rows, append([]ui.Cell{{Text: group}}, resourceRow(obj, name)...))
	}
	return table
}

// groupOf is the text by which an object is sorted, and how deep it stands: what has the same label of association stands
// together, first what was deployed, and of that, what was made for it below its owners.
func groupOf(obj live, byUID map[types.UID]live) (group string, depth int) {
	owners, depth := ownersOf(obj, byUID)
	group = "ref-" + owners
	association := obj.GetLabels()[resource.LabelAssociation]
	switch {
	case association == "":
		return group, depth
	case resource.IsTransient(obj):
		return "lbl-" + association + "-2/child@" + group, max(depth, 1)
	default:
		return "lbl-" + association + "-1@" + group, depth
	}
}

// ownersOf names an object behind those that own it, as far as they are known, and says how many these are.
func ownersOf(obj live, byUID map[types.UID]live) (names string, count int) {
	names = groupName(obj)
	for seen := map[types.UID]bool{}; !seen[obj.GetUID()]; {
		seen[obj.GetUID()] = true
		for _, ref := range obj.GetOwnerReferences() {
			if owner := byUID[ref.UID]; owner != nil && !seen[ref.UID] {
				obj, names = owner, groupName(owner)+"/"+names
				count++
				break
			}
		}
	}
	return names, count
}

func groupName(obj live) string {
	gvk := obj.GroupVersionKind()
	return strings.Join([]string{obj.GetNamespace(), gvk.Group, gvk.Kind, obj.GetName()}, "$")
}
