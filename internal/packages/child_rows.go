package packages

import (
	"context"

	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/ready"
	"github.com/muster-deploy/muster/internal/view"
)

// ChildRows returns a function that reads the children of objects in a cluster.
func ChildRows(ctx context.Context, c Cluster, rules *ready.RuleSet) view.ChildRows {
	return func(refs []object.Ref) map[object.Ref][]view.TableRow {
		rows := map[object.Ref][]view.TableRow{}
		for ref, children := range Children(ctx, c, refs) {
			rows[ref] = treeRows(children, rules, "")
		}
		return rows
	}
}

func treeRows(children []Child, rules *ready.RuleSet, indent string) []view.TableRow {
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
