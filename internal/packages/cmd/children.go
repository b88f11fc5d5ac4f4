package cmd

import (
	"context"

	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/packages"
	"github.com/muster-deploy/muster/internal/ready"
	"github.com/muster-deploy/muster/internal/view"
)

// childRowsFunc returns the children of each object as the rows of a tree.
type childRowsFunc func([]object.Ref) map[object.Ref][]view.TableRow

// childRows returns a function that reads the children of objects in a cluster.
func childRows(ctx context.Context, c packages.Cluster, rules *ready.RuleSet) childRowsFunc {
	return func(refs []object.Ref) map[object.Ref][]view.TableRow {
		rows := map[object.Ref][]view.TableRow{}
		for ref, children := range packages.Children(ctx, c, refs) {
			rows[ref] = treeRows(children, rules, "")
		}
		return rows
	}
}

func treeRows(children []packages.Child, rules *ready.RuleSet, indent string) []view.TableRow {
	var rows []view.TableRow
	for i, child := range children {
		branch, further := "├─ ", "│  "
		if i == len(children)-1 {
			branch, further = "└─ ", "   "
		}
		rows = append(rows, view.TableRow{
			Ref: object.RefOf(child.Object), TreePrefix: indent + branch,
			Status: rules.Of(child.Object), Facts: ready.FactsOf(child.Object),
		})
		rows = append(rows, treeRows(child.Children, rules, indent+further)...)
	}
	return rows
}
