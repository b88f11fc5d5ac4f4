package packages

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/ready"
	"github.com/muster-deploy/muster/internal/view"
)

// ChildRows returns a function that reads the children of Deployments, ReplicaSets and StatefulSets
// in a cluster.
func ChildRows(ctx context.Context, c Cluster, rules *ready.RuleSet) view.ChildRows {
	return childRows(ctx, c, rules, func(gk schema.GroupKind) bool {
		return slices.Contains(liveParents, gk)
	})
}

// AllChildRows returns a function that reads the children of all objects whose kind is known to
// have some.
func AllChildRows(ctx context.Context, c Cluster, rules *ready.RuleSet) view.ChildRows {
	return childRows(ctx, c, rules, func(gk schema.GroupKind) bool {
		return len(ready.ChildKinds(gk)) > 0
	})
}

func childRows(
	ctx context.Context, c Cluster, rules *ready.RuleSet, has func(schema.GroupKind) bool,
) view.ChildRows {
	return func(refs []object.Ref) map[object.Ref][]view.TableRow {
		rows := map[object.Ref][]view.TableRow{}
		for ref, children := range childrenOfAll(ctx, c, refs, has) {
			rows[ref] = treeRows(ref, children, rules, "")
		}
		return rows
	}
}

func treeRows(
	parent object.Ref, children []Child, rules *ready.RuleSet, indent string,
) []view.TableRow {
	var rows []view.TableRow
	for i, child := range children {
		branch, further := "├─ ", "│  "
		if i == len(children)-1 {
			branch, further = "└─ ", "   "
		}
		ref := object.RefOf(child.Object)
		rows = append(rows, view.TableRow{
			Ref: ref, Parent: parent, TreePrefix: indent + branch,
			Status: rules.Of(child.Object), Facts: ready.FactsOf(child.Object),
		})
		rows = append(rows, treeRows(ref, child.Children, rules, indent+further)...)
	}
	return rows
}
