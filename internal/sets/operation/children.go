package operation

import (
	"context"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/ready"
	"github.com/muster-deploy/muster/internal/show/view"
)

// childrenTimeout limits how long children are read.
const childrenTimeout = 10 * time.Second

// liveParents are the kinds whose children kpt live shows.
var liveParents = []schema.GroupKind{
	{Group: "apps", Kind: "Deployment"},
	{Group: "apps", Kind: "ReplicaSet"},
	{Group: "apps", Kind: "StatefulSet"},
}

// Child is an object that a controller created for another.
type Child struct {
	Object   *unstructured.Unstructured
	Children []Child // by name
}

// childrenOfAll returns the children of those objects that has reports true for, even if ctx has
// ended. Those that cannot be read are left out.
func childrenOfAll(
	ctx context.Context, c cluster.Writer, refs []object.Ref, has func(schema.GroupKind) bool,
) map[object.Ref][]Child {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), childrenTimeout)
	defer cancel()
	var targets []cluster.Target
	lists := map[object.Ref]bool{} // a kind in a namespace, without a name
	for _, ref := range refs {
		if !has(ref.GroupKind()) {
			continue
		}
		targets = append(targets, cluster.Target{Ref: ref})
		for _, gk := range ready.ChildKinds(ref.GroupKind()) {
			lists[object.Ref{Group: gk.Group, Kind: gk.Kind, Namespace: ref.Namespace}] = true
		}
	}
	if len(targets) == 0 {
		return nil
	}
	live, err := c.Read(ctx, targets)
	if err != nil {
		return nil
	}
	owned := map[types.UID][]*unstructured.Unstructured{} // by the UID of their owner
	for list := range lists {
		objects, _ := c.List(ctx, list.GroupKind(), list.Namespace, nil)
		for _, obj := range objects {
			for _, owner := range obj.GetOwnerReferences() {
				owned[owner.UID] = append(owned[owner.UID], obj)
			}
		}
	}
	found := map[object.Ref][]Child{}
	for ref, obj := range live.Objects {
		found[ref] = childrenOf(obj, owned)
	}
	return found
}

func childrenOf(
	obj *unstructured.Unstructured, owned map[types.UID][]*unstructured.Unstructured,
) []Child {
	objects := owned[obj.GetUID()]
	slices.SortFunc(objects, func(a, b *unstructured.Unstructured) int {
		return strings.Compare(a.GetName(), b.GetName())
	})
	var children []Child
	for _, child := range objects {
		children = append(children, Child{Object: child, Children: childrenOf(child, owned)})
	}
	return children
}

// ChildRows returns a function that reads the children of Deployments, ReplicaSets and StatefulSets
// in a cluster.
func ChildRows(ctx context.Context, c cluster.Writer, rules *ready.RuleSet) view.ChildRows {
	return childRows(ctx, c, rules, func(gk schema.GroupKind) bool {
		return slices.Contains(liveParents, gk)
	})
}

// AllChildRows returns a function that reads the children of all objects whose kind is known to
// have some.
func AllChildRows(ctx context.Context, c cluster.Writer, rules *ready.RuleSet) view.ChildRows {
	return childRows(ctx, c, rules, func(gk schema.GroupKind) bool {
		return len(ready.ChildKinds(gk)) > 0
	})
}

func childRows(
	ctx context.Context, c cluster.Writer, rules *ready.RuleSet, has func(schema.GroupKind) bool,
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
