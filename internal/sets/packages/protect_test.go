package packages

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/record"
	"github.com/muster-deploy/muster/internal/sets/operation"
	"github.com/muster-deploy/muster/internal/sets/packages/inventory"
	"github.com/muster-deploy/muster/internal/sets/policy"
)

// put stores an object that has an owner, if it is not empty, and a label.
func put(c testCluster, ref object.Ref, owner, label string) {
	obj := &unstructured.Unstructured{Object: map[string]any{}}
	obj.SetGroupVersionKind(schema.GroupVersionKind{Group: ref.Group, Version: "v1", Kind: ref.Kind})
	obj.SetNamespace(ref.Namespace)
	obj.SetName(ref.Name)
	if owner != "" {
		obj.SetAnnotations(map[string]string{ownerKey: owner})
	}
	if label != "" {
		obj.SetLabels(map[string]string{label: ""})
	}
	c.Put(obj)
}

// putRecord stores the record of an inventory with members that exist and belong to it.
func putRecord(t *testing.T, c testCluster, inv *inventory.Inventory, members ...object.Ref) {
	t.Helper()
	state := &record.State{}
	for _, ref := range members {
		put(c, ref, inv.ID, "")
		state.Members = append(state.Members, record.Member{Ref: ref, Strategy: record.Apply})
	}
	s := inventory.NewStore(c, inv, true)
	if _, err := s.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Save(t.Context(), state); err != nil {
		t.Fatal(err)
	}
}

// decisions returns what the plan of a destroy does to its objects, and why.
func decisions(t *testing.T, c testCluster, inv *inventory.Inventory) []string {
	t.Helper()
	op, err := PrepareDestroy(c, inv, operation.DestroyOptions{Notice: func(string) {}})
	if err == nil {
		err = op.MakePlan(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, step := range op.Plan().Steps {
		if step.Op.IsObject() {
			line := string(step.Op) + " " + step.Ref.Short() + " " + step.Reason
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	for _, ref := range op.Plan().Forgotten {
		lines = append(lines, "forgets "+ref.Short())
	}
	return lines
}

// A namespace in which others have their record is kept, and so is the definition of records while
// there are any.
func TestRecordsOfOthersAreKept(t *testing.T) {
	namespace := func(name string) object.Ref { return object.Ref{Kind: "Namespace", Name: name} }
	groups := inventory.ResourceGroupKind
	definitionRef := object.Ref{
		Group: plan.DefinitionKind.Group, Kind: plan.DefinitionKind.Kind, Name: "resourcegroups.kpt.dev",
	}
	theirs := object.Ref{Group: groups.Group, Kind: groups.Kind, Namespace: "shared", Name: "theirs"}
	app := object.Ref{Kind: "ConfigMap", Namespace: "shared", Name: "app"}
	mapped := object.Ref{Kind: "ConfigMap", Namespace: "shared", Name: "mapped"}
	ofPackages := "it stays in the cluster, because records of packages are stored in it: "
	for _, tc := range []struct {
		name    string
		mapped  bool // our record is a ConfigMap
		members []object.Ref
		others  []object.Ref
		want    []string
	}{
		{"nothing of others", false, []object.Ref{namespace("shared"), namespace("n")}, nil,
			[]string{"delete namespace/shared", "delete namespace/n"}},
		{"a package", false, []object.Ref{namespace("shared"), namespace("other")},
			[]object.Ref{theirs}, []string{"keep namespace/shared it holds a record of others: " +
				"shared/resourcegroup.kpt.dev/theirs", "delete namespace/other"}},
		{"an app", false, []object.Ref{namespace("shared")}, []object.Ref{app},
			[]string{"keep namespace/shared it holds a record of others: shared/configmap/app"}},
		{"a package with an inventory of the old format", false, []object.Ref{namespace("shared")},
			[]object.Ref{mapped}, []string{"keep namespace/shared it holds a record of others: " +
				"shared/configmap/mapped"}},
		{"a record of our own", false, []object.Ref{namespace("shared"), theirs}, nil,
			[]string{"delete resourcegroup.kpt.dev/theirs", "delete namespace/shared"}},
		{"the definition of our record", false, []object.Ref{definitionRef}, nil, []string{
			"orphan customresourcedefinition.apiextensions.k8s.io/resourcegroups.kpt.dev " +
				ofPackages + "that of this package is"}},
		{"the definition of others' records", true, []object.Ref{definitionRef},
			[]object.Ref{theirs}, []string{
				"orphan customresourcedefinition.apiextensions.k8s.io/resourcegroups.kpt.dev " +
					ofPackages + "shared/resourcegroup.kpt.dev/theirs"}},
		{"the definition of no records", true, []object.Ref{definitionRef}, nil, []string{
			"delete customresourcedefinition.apiextensions.k8s.io/resourcegroups.kpt.dev"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := newTestCluster()
			c.Serve(plan.DefinitionKind, false)
			inv := groupAt()
			if tc.mapped {
				inv = &inventory.Inventory{Ref: object.Ref{Kind: "ConfigMap", Namespace: "n",
					Name: "inventory"}, ID: inv.ID, Labels: inv.Labels}
			}
			putRecord(t, c, inv, tc.members...)
			for _, ref := range tc.others {
				label := "kapp.k14s.io/is-app"
				if ref == mapped {
					label = inventory.FirstIDKey
				}
				put(c, ref, "", label)
			}
			if diff := cmp.Diff(tc.want, decisions(t, c, inv)); diff != "" {
				t.Errorf("decisions (-want +got):\n%s", diff)
			}
		})
	}
}

// A destroy ends although the kind of a member is gone, unless the cluster cannot describe it.
func TestMembersOfKindsThatAreGone(t *testing.T) {
	thing := object.Ref{Group: "gone.example.com", Kind: "Thing", Namespace: "n", Name: "t"}
	for _, gone := range []bool{true, false} {
		c := newTestCluster()
		putRecord(t, c, groupAt(), thing)
		c.Remove(thing)
		c.NoKind = map[schema.GroupKind]bool{thing.GroupKind(): gone}
		c.Unserved = map[schema.GroupKind]bool{thing.GroupKind(): !gone}
		op := destroying(t, c)
		if _, err := run(t, op); err != nil {
			t.Error(err)
		}
		if left := c.Object(groupAt().Ref) != nil; left == gone || op.Plan().LeavesUnknown() == gone {
			t.Errorf("gone %t: the record is left: %t, the plan leaves objects: %t", gone, left,
				op.Plan().LeavesUnknown())
		}
		if forgets := slices.Equal(op.Plan().Forgotten, []object.Ref{thing}); forgets != gone {
			t.Errorf("gone %t: forgotten: %v", gone, op.Plan().Forgotten)
		}
	}
}

// Objects that hold others or data stay in the cluster and in the record until their deletion is
// allowed, and a namespace stays with the claims in it.
func TestHeldBack(t *testing.T) {
	namespace := object.Ref{Kind: "Namespace", Name: "held"}
	claim := object.Ref{Kind: "PersistentVolumeClaim", Namespace: "held", Name: "data"}
	plain := object.Ref{Kind: "ConfigMap", Namespace: "held", Name: "c"}
	for _, tc := range []struct {
		allow []string
		left  []object.Ref
	}{
		{nil, []object.Ref{namespace, claim}},
		{[]string{"namespace"}, []object.Ref{namespace, claim}},
		{[]string{"PersistentVolumeClaim"}, []object.Ref{namespace}},
		{[]string{"*"}, nil},
	} {
		c := newTestCluster()
		putRecord(t, c, groupAt(), namespace, claim, plain)
		op, err := PrepareDestroy(c, groupAt(), operation.DestroyOptions{
			Options: policy.Options{Hold: true, AllowDelete: tc.allow}, Notice: func(string) {},
		})
		if err == nil {
			err = op.MakePlan(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := run(t, op); err != nil {
			t.Fatal(err)
		}
		for _, ref := range []object.Ref{namespace, claim, plain} {
			if left := c.Object(ref) != nil; left != slices.Contains(tc.left, ref) {
				t.Errorf("allowed %v: %s is left: %t", tc.allow, ref, left)
			}
		}
		state, err := inventory.NewStore(c, groupAt(), true).Load(t.Context())
		if err != nil || len(state.Members) != len(tc.left) {
			t.Errorf("allowed %v: the record holds %v, %v", tc.allow, state.Refs(), err)
		}
		if len(op.Plan().HeldBack()) == 0 {
			continue
		}
		op.Permit(op.Plan().HeldBack())
		if err := op.MakePlan(t.Context()); err != nil || len(op.Plan().HeldBack()) > 0 {
			t.Errorf("allowed %v, then all: held back %v, %v", tc.allow, op.Plan().HeldBack(), err)
		}
		if _, err := run(t, op); err != nil || c.Object(namespace) != nil {
			t.Errorf("allowed %v, then all: the namespace is left; %v", tc.allow, err)
		}
	}
}

// brokenGroup is a cluster that cannot describe the kind of records.
type brokenGroup struct{ testCluster }

func (c brokenGroup) List(
	ctx context.Context, gk schema.GroupKind, namespace string, labels map[string]string,
) ([]*unstructured.Unstructured, error) {
	if gk == inventory.ResourceGroupKind.GroupKind() {
		return nil, &cluster.UnknownKindError{GroupKind: gk, Cause: errors.New("stale")}
	}
	return c.testCluster.List(ctx, gk, namespace, labels)
}

// A namespace stays while the kind of records cannot be described: it may hold some.
func TestNamespaceWithUndescribedRecords(t *testing.T) {
	shared := object.Ref{Kind: "Namespace", Name: "shared"}
	inv := &inventory.Inventory{Ref: object.Ref{Kind: "ConfigMap", Namespace: "n",
		Name: "inventory"}, ID: groupAt().ID, Labels: groupAt().Labels}
	c := brokenGroup{newTestCluster()}
	putRecord(t, c.testCluster, inv, shared)
	op, err := PrepareDestroy(c, inv, operation.DestroyOptions{Notice: func(string) {}})
	if err == nil {
		err = op.MakePlan(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	if step := op.Plan().Steps[0]; step.Op != plan.Keep ||
		!strings.Contains(step.Reason, "it may hold records of others: ") {
		t.Errorf("%s: %s", step.Op, step.Reason)
	}
}
