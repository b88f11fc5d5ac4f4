package kapp

import (
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-deploy/muster/internal/kapp/resource"
	"github.com/muster-deploy/muster/internal/kapp/ui"
)

// treeTable shows every object below the one that it was made for, as owner references and the label of association tell.
func treeTable(title string, objects []live) ui.Table {
	table := ui.Table{
		Title: title, Content: "resources", Notes: resourceNotes(), FillFirst: true,
		Header: append([]ui.Column{{Key: "group", Title: "Group", Hidden: true}}, resourceColumns()...),
		SortBy: ui.By(0),
	}
	byUID := make(map[types.UID]live, len(objects))
	for _, obj := range objects {
		byUID[obj.GetUID()] = obj
	}
	for _, obj := range objects {
		path := pathOf(obj, byUID)
		depth := len(path) - 1
		name := ui.Cell{Text: obj.GetName()}
		if depth > 0 {
			name.Faint = " L" + strings.Repeat("..", depth-1) + " "
		}
		table.Rows = append(table.Rows, append([]ui.Cell{{Text: strings.Join(path, "@")}}, resourceRow(obj, name)...))
	}
	return table
}

// pathOf are the groups of an object, from the outermost: what was deployed first, then what each made. Paths sort as a tree.
func pathOf(obj live, byUID map[types.UID]live) []string {
	own := obj.GetNamespace() + "/" + obj.GetName() + "/" + obj.GetKind()
	for _, ref := range obj.GetOwnerReferences() {
		if owner := byUID[ref.UID]; owner != nil && owner.GetUID() != obj.GetUID() && !ownedBy(owner, obj) {
			return append(pathOf(owner, byUID), own)
		}
	}
	association, ok := obj.GetLabels()[resource.LabelAssociation]
	switch {
	case !ok:
		return []string{own}
	case !resource.Transient(obj):
		return []string{"lbl-" + association + "-1"}
	}
	for _, other := range byUID {
		if other.GetLabels()[resource.LabelAssociation] == association && !resource.Transient(other) {
			return append(pathOf(other, byUID), own)
		}
	}
	return []string{own}
}

// ownedBy reports whether an object names another one as its owner.
func ownedBy(obj, owner live) bool {
	for _, ref := range obj.GetOwnerReferences() {
		if ref.UID == owner.GetUID() {
			return true
		}
	}
	return false
}
