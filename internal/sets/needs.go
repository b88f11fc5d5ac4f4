package sets

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/feature/access"
	"github.com/muster-deploy/muster/internal/feature/managed"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/sets/operation"
	"github.com/muster-deploy/muster/internal/sets/packages/inventory"
)

// Need is a permission that commands on a set use, and what for.
type Need struct {
	access.Permission
	Purpose  string `json:"purpose"`
	Optional bool   `json:"optional,omitempty"` // without it, commands do all but the purpose
}

// Uses are the permissions that commands on one kind of set use.
type Uses struct {
	Objects []string            // verbs on objects of the set
	Record  []access.Permission // in the namespace of the record
}

// The purposes of permissions.
const (
	forObjects = "apply, prune and destroy its objects"
	forRecord  = "keep its record"
	forLock    = "lock it"
	forHistory = "keep its history"
	forCauses  = "say why an object is not ready"
	forScalers = "leave replicas to autoscalers"
	forList    = "list sets"
	forOwner   = "see whether a Set owns it"
)

// Needs returns what apply, status and destroy use of a set that was opened with its files: on the
// objects that it describes and on those that it has deployed. It changes nothing. Kinds that the
// cluster does not know are returned as well: nothing is known about permissions on them.
func Needs(
	ctx context.Context, c cluster.Writer, set Set, warn func(string),
) (needs []Need, unknown []schema.GroupKind, err error) {
	op, err := set.PrepareApply(ctx, c, operation.ApplyOptions{})
	if err != nil {
		return nil, nil, err
	}
	refs := object.NewSet()
	for _, d := range op.Described {
		refs.Insert(object.RefOf(d.Object))
		if _, defines := plan.DefinedKind(d.Object); defines {
			if err := c.LearnKind(ctx, d.Object); err != nil {
				return nil, nil, err
			}
		}
	}
	switch recorded, err := set.Targets(ctx, c); {
	case apierrors.IsForbidden(err):
		warn("Warning: kinds that are deployed and not described any more are left out: " + err.Error())
	case err == nil: // else it was never deployed, or what asks for permissions says what is wrong
		for _, ref := range recorded.All.Refs() {
			refs.Insert(ref)
		}
	}
	n := neededBy{uses: set.Uses(), seen: map[access.Permission]bool{}}
	for _, ref := range refs.Refs() {
		kind, err := c.Kind(ctx, ref.GroupKind())
		if err != nil {
			if !slices.Contains(unknown, ref.GroupKind()) {
				unknown = append(unknown, ref.GroupKind())
			}
			continue
		}
		n.addObject(ref, kind.Resource.GroupResource())
	}
	_, err = c.Kind(ctx, managed.Kind.GroupKind())
	n.hasSets = err == nil
	home, _ := set.Name()
	n.addRecord(home)
	slices.SortFunc(n.needs, func(a, b Need) int { return access.Compare(a.Permission, b.Permission) })
	return n.needs, unknown, nil
}

// neededBy collects needs, each permission once: the first purpose counts.
type neededBy struct {
	uses    Uses
	hasSets bool // the cluster has Sets
	seen    map[access.Permission]bool
	needs   []Need
}

func (n *neededBy) add(p access.Permission, purpose string, optional bool) {
	if !n.seen[p] {
		n.seen[p] = true
		n.needs = append(n.needs, Need{p, purpose, optional})
	}
}

// addObject adds what an object needs. Controllers create pods for objects of some groups.
func (n *neededBy) addObject(ref object.Ref, resource schema.GroupResource) {
	permission := access.Permission{
		Group: resource.Group, Resource: resource.Resource, Namespace: ref.Namespace,
	}
	for _, verb := range n.uses.Objects {
		permission.Verb = verb
		n.add(permission, forObjects, false)
	}
	if ref.Group == "apps" {
		n.add(access.Permission{Verb: "list", Group: plan.AutoscalerKind.Group,
			Resource: "horizontalpodautoscalers", Namespace: ref.Namespace}, forScalers, true)
	}
	if ref.Group != "apps" && ref.Group != "batch" {
		return
	}
	for _, p := range []access.Permission{
		{Verb: "list", Resource: "pods"}, {Verb: "watch", Resource: "pods"},
		{Verb: "get", Resource: "pods/log"},
		{Verb: "list", Resource: "events"}, {Verb: "watch", Resource: "events"},
		{Verb: "list", Group: "apps", Resource: "replicasets"},
		{Verb: "watch", Group: "apps", Resource: "replicasets"},
	} {
		p.Namespace = ref.Namespace
		n.add(p, forCauses, true)
	}
}

// addRecord adds what the record and the lock need.
func (n *neededBy) addRecord(namespace string) {
	for _, p := range n.uses.Record {
		p.Namespace = namespace
		n.add(p, forRecord, false)
	}
	for _, verb := range []string{"get", "create", "update", "delete"} {
		n.add(access.Permission{Verb: verb, Group: "coordination.k8s.io", Resource: "leases",
			Namespace: namespace}, forLock, true)
	}
	for _, p := range each("", "secrets", "list", "create", "patch", "delete") {
		p.Namespace = namespace
		n.add(p, forHistory, true)
	}
	if n.hasSets {
		n.add(access.Permission{Verb: "list", Group: managed.Kind.Group, Resource: "sets",
			Namespace: namespace}, forOwner, true)
	}
	records := each(inventory.ResourceGroupKind.Group, "resourcegroups", "list")
	for _, p := range append(records, each("", "configmaps", "list")...) {
		p.Namespace = namespace
		n.add(p, forList, true)
	}
}

// each returns a permission on a resource for each verb.
func each(group, resource string, verbs ...string) []access.Permission {
	permissions := make([]access.Permission, len(verbs))
	for i, verb := range verbs {
		permissions[i] = access.Permission{Verb: verb, Group: group, Resource: resource}
	}
	return permissions
}

// Uses returns what commands on a package use.
func (s *packageSet) Uses() Uses {
	uses := Uses{Objects: []string{"get", "list", "watch", "create", "patch", "delete"}}
	if kind := s.inventory.Ref.GroupKind(); kind.Group == "" {
		uses.Record = each("", "configmaps", "get", "list", "create", "update", "delete")
	} else {
		uses.Record = append(each(kind.Group, "resourcegroups", "get", "create", "update", "delete"),
			each(kind.Group, "resourcegroups/status", "update")...)
	}
	return uses
}

// Uses returns what commands on an app use.
func (s *appSet) Uses() Uses {
	return Uses{
		Objects: []string{"get", "list", "watch", "create", "patch", "update", "delete"},
		Record:  each("", "configmaps", "get", "list", "create", "update", "delete"),
	}
}

// String returns the need and its purpose.
func (n Need) String() string { return fmt.Sprintf("%s, to %s", n.Permission, n.Purpose) }
