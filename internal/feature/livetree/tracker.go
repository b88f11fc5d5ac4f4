package livetree

import (
	"cmp"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/diff"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/ready"
)

// tracker holds the objects that were reported, by their owners. It belongs to one goroutine.
type tracker struct {
	roots   []object.Ref
	isRoot  map[object.Ref]bool
	judge   func(*unstructured.Unstructured) ready.Status
	entries map[object.Ref]*entry
	byOwner map[types.UID]map[object.Ref]*entry
	secrets map[object.Ref]*unstructured.Unstructured // of the set
	mask    *diff.Masker                              // hides their values in messages
}

func newTracker(o Options) *tracker {
	t := &tracker{
		judge: o.Judge, isRoot: map[object.Ref]bool{}, entries: map[object.Ref]*entry{},
		byOwner: map[types.UID]map[object.Ref]*entry{},
		secrets: map[object.Ref]*unstructured.Unstructured{}, mask: diff.SecretTexts(),
	}
	if t.judge == nil {
		t.judge = func(obj *unstructured.Unstructured) ready.Status { return ready.Of(obj) }
	}
	t.roots = slices.SortedFunc(slices.Values(o.Roots), byPlace)
	for _, ref := range t.roots {
		t.isRoot[ref] = true
	}
	return t
}

// byPlace compares objects of a set: by namespace, kind and name.
func byPlace(a, b object.Ref) int {
	return cmp.Or(
		cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Kind, b.Kind),
		cmp.Compare(a.Group, b.Group), cmp.Compare(a.Name, b.Name),
	)
}

// set stores the state of an object; nil if it does not exist.
func (t *tracker) set(ref object.Ref, obj *unstructured.Unstructured) {
	if before := t.entries[ref]; before != nil {
		for _, owner := range before.owners {
			if delete(t.byOwner[owner], ref); len(t.byOwner[owner]) == 0 {
				delete(t.byOwner, owner)
			}
		}
		delete(t.entries, ref)
	}
	t.keepSecret(ref, obj)
	if obj == nil {
		return
	}
	e := newEntry(obj, t.judge(obj))
	if len(e.owners) == 0 && !t.isRoot[ref] {
		return // an object of somebody else
	}
	e.node.Ref = ref
	t.entries[ref] = e
	for _, owner := range e.owners {
		if t.byOwner[owner] == nil {
			t.byOwner[owner] = map[object.Ref]*entry{}
		}
		t.byOwner[owner][ref] = e
	}
}

// keepSecret keeps the state of a Secret of the set, to hide its values.
func (t *tracker) keepSecret(ref object.Ref, obj *unstructured.Unstructured) {
	_, kept := t.secrets[ref]
	switch {
	case t.isRoot[ref] && object.IsSecret(obj):
		t.secrets[ref] = obj
	case kept:
		delete(t.secrets, ref)
	default:
		return
	}
	t.mask = diff.SecretTexts(slices.Collect(maps.Values(t.secrets))...)
}

// tree returns the tree of all roots, by namespace, kind and name. Objects that do not exist have
// the state of that.
func (t *tracker) tree(snapshot *cluster.Snapshot) []*Node {
	nodes := make([]*Node, len(t.roots))
	for i, ref := range t.roots {
		e := t.entries[ref]
		switch {
		case e != nil:
			nodes[i] = t.branch(e, map[types.UID]bool{})
		case snapshot.Unserved.Has(ref):
			nodes[i] = &Node{Ref: ref, Status: ready.Status{
				State:   ready.Unknown,
				Message: "the cluster does not know the kind " + ref.GroupKind().String(),
			}}
		default:
			nodes[i] = &Node{Ref: ref, Status: ready.Of(nil)}
		}
	}
	return nodes
}

// branch returns an object with all that it owns. Owner references may form a cycle, so that above
// holds the owners of the object. An object of the set is not shown as a child of another.
func (t *tracker) branch(e *entry, above map[types.UID]bool) *Node {
	node := e.node
	node.Status.Message = t.mask.Replace(node.Status.Message)
	above[e.uid] = true
	defer delete(above, e.uid)
	for ref, child := range t.byOwner[e.uid] {
		if !t.isRoot[ref] && !above[child.uid] {
			node.Children = append(node.Children, t.branch(child, above))
		}
	}
	slices.SortFunc(node.Children, byKindAndAge)
	return &node
}
