package cmd

import (
	"context"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/packages"
	"github.com/muster-deploy/muster/internal/ready"
	"github.com/muster-deploy/muster/internal/view"
)

// childrenTimeout limits the search for child objects.
const childrenTimeout = 10 * time.Second

// makers are the kinds whose child objects tables show, with the kinds of these.
var makers = map[schema.GroupKind][]schema.GroupKind{
	{Group: "apps", Kind: "Deployment"}:  {{Group: "apps", Kind: "ReplicaSet"}, {Kind: "Pod"}},
	{Group: "apps", Kind: "ReplicaSet"}:  {{Kind: "Pod"}},
	{Group: "apps", Kind: "StatefulSet"}: {{Kind: "Pod"}},
}

// childFinder finds child objects. Those that cannot be read are left out: a table is no reason to
// fail.
type childFinder struct {
	client packages.Cluster
	rules  *ready.RuleSet
}

// childRowsFunc returns the children of each object as the rows of a tree.
type childRowsFunc func([]object.Ref) map[object.Ref][]view.TableRow

// inContext returns a function that reads the cluster.
func (f childFinder) inContext(ctx context.Context) childRowsFunc {
	return func(refs []object.Ref) map[object.Ref][]view.TableRow {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), childrenTimeout)
		defer cancel()
		var targets []cluster.Target
		kinds := map[schema.GroupKind]map[string]bool{} // to their namespaces
		for _, ref := range refs {
			for _, gk := range makers[ref.GroupKind()] {
				if kinds[gk] == nil {
					kinds[gk] = map[string]bool{}
				}
				kinds[gk][ref.Namespace] = true
			}
			if makers[ref.GroupKind()] != nil {
				targets = append(targets, cluster.Target{Ref: ref})
			}
		}
		if len(targets) == 0 {
			return nil
		}
		live, err := f.client.Read(ctx, targets)
		if err != nil {
			return nil
		}
		children := map[string][]*unstructured.Unstructured{} // by the UID of their controller
		for gk, namespaces := range kinds {
			for namespace := range namespaces {
				objects, _ := f.client.List(ctx, gk, namespace, nil)
				for _, obj := range objects {
					for _, owner := range obj.GetOwnerReferences() {
						children[string(owner.UID)] = append(children[string(owner.UID)], obj)
					}
				}
			}
		}
		made := map[object.Ref][]view.TableRow{}
		for ref, obj := range live.Objects {
			made[ref] = f.rows(obj, children, "")
		}
		return made
	}
}

// rows returns the children of an object, each followed by its own.
func (f childFinder) rows(
	obj *unstructured.Unstructured,
	children map[string][]*unstructured.Unstructured,
	indent string,
) []view.TableRow {
	below := children[string(obj.GetUID())]
	slices.SortFunc(
		below,
		func(a, b *unstructured.Unstructured) int { return strings.Compare(a.GetName(), b.GetName()) },
	)
	var rows []view.TableRow
	for i, child := range below {
		branch, further := "├─ ", "│  "
		if i == len(below)-1 {
			branch, further = "└─ ", "   "
		}
		rows = append(rows, view.TableRow{
			Ref: object.RefOf(
				child,
			), Status: f.rules.Of(child), Facts: ready.FactsOf(child), TreePrefix: indent + branch,
		})
		rows = append(rows, f.rows(child, children, indent+further)...)
	}
	return rows
}
