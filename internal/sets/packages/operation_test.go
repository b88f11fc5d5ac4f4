package packages

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/sets/operation"
	"github.com/muster-deploy/muster/internal/sets/packages/inventory"
	"github.com/muster-deploy/muster/internal/sets/policy"
	"github.com/muster-deploy/muster/internal/testing/enginetest"
)

// testCluster is a cluster in memory.
type testCluster struct{ *enginetest.Cluster }

func (testCluster) LearnKind(context.Context, *unstructured.Unstructured) error { return nil }

func newTestCluster() testCluster {
	c := testCluster{&enginetest.Cluster{}}
	c.Serve(schema.GroupKind{Kind: "Namespace"}, false)
	c.Serve(schema.GroupKind{Kind: "ConfigMap"}, true)
	c.Serve(inventory.ResourceGroupKind.GroupKind(), true)
	namespace := &unstructured.Unstructured{Object: map[string]any{}}
	namespace.SetAPIVersion("v1")
	namespace.SetKind("Namespace")
	namespace.SetName("n")
	c.Put(namespace)
	return c
}

const recordName = "n/resourcegroup.kpt.dev/inventory"

// testPackage writes a package of ConfigMaps.
func testPackage(t *testing.T, names ...string) *Package {
	t.Helper()
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "resourcegroup.yaml"), string(groupAt().Text()))
	for _, name := range names {
		writeFile(t, filepath.Join(dir, name+".yaml"), fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\n"+
			"metadata: {name: %s, namespace: n}\ndata: {key: value}\n", name))
	}
	p, err := Open(t.Context(), Input{Folder: dir})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// planned prepares an apply and makes its plan.
func planned(t *testing.T, c testCluster, p *Package) *operation.Operation {
	t.Helper()
	return plannedWith(t, c, p, policy.Options{FieldManager: policy.DefaultManager})
}

func plannedWith(t *testing.T, c testCluster, p *Package, o policy.Options) *operation.Operation {
	t.Helper()
	desired, err := p.Resolve(t.Context(), c, Scope{Namespace: "n"})
	if err != nil {
		t.Fatal(err)
	}
	op, err := PrepareApply(t.Context(), c, p.Inventory, desired, operation.ApplyOptions{
		Options: o, Definition: operation.RequireDefinition, Notice: func(string) {},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := op.MakePlan(t.Context()); err != nil {
		t.Fatal(err)
	}
	return op
}

func run(t *testing.T, op *operation.Operation) (event.Summary, error) {
	t.Helper()
	return op.Run(t.Context(), engine.Options{DryRun: engine.DryRunNone}, func(event.Event) {})
}

func expectWrites(t *testing.T, c testCluster, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, c.Wrote); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
	c.Wrote = nil
}

// An apply writes the list of members before the first object, with those that are pending, and
// their statuses at the end.
func TestApplyAndDestroy(t *testing.T) {
	c := newTestCluster()
	apply := func(names ...string) {
		t.Helper()
		summary, err := run(t, planned(t, c, testPackage(t, names...)))
		if err != nil || summary.Failures() > 0 {
			t.Fatalf("summary = %+v, %v", summary, err)
		}
	}
	apply("a")
	expectWrites(t, c, "create "+recordName, "create n/configmap/a", "replace "+recordName)
	apply("a")
	expectWrites(t, c)
	apply("b")
	expectWrites(t, c, "replace "+recordName, "replace "+recordName, "create n/configmap/b",
		"delete n/configmap/a", "replace "+recordName, "replace "+recordName)

	op, err := PrepareDestroy(c, groupAt(), operation.DestroyOptions{Notice: func(string) {}})
	if err == nil {
		err = op.MakePlan(t.Context())
	}
	if err != nil || !op.Recorded() {
		t.Fatalf("recorded = %v, %v", op.Recorded(), err)
	}
	if _, err := run(t, op); err != nil {
		t.Fatal(err)
	}
	expectWrites(t, c, "delete n/configmap/b", "delete "+recordName)
}

// Whenever the connection is lost, the record lists every object that was written.
func TestApplyDiesAnywhere(t *testing.T) {
	for dies := 1; ; dies++ {
		c := newTestCluster()
		if _, err := run(t, planned(t, c, testPackage(t, "old", "stays"))); err != nil {
			t.Fatal(err)
		}
		c.Wrote, c.Dies = nil, dies
		_, err := run(t, planned(t, c, testPackage(t, "stays", "new-1", "new-2")))
		c.Revive()
		state, loadErr := inventory.NewStore(c, groupAt(), true).Load(t.Context())
		if loadErr != nil {
			t.Fatal(loadErr)
		}
		recorded := object.NewSet(state.Refs()...)
		for _, ref := range c.Refs().Refs() {
			if ref.Kind == "ConfigMap" && !recorded.Has(ref) {
				t.Errorf("died at write %d: %s is not in the record", dies, ref)
			}
		}
		if err == nil && len(c.Wrote) < dies {
			if dies < 5 {
				t.Errorf("died at %d writes only", dies)
			}
			return
		}
	}
}

// compareSaved returns an error unless an operation has the plan that was saved.
func compareSaved(
	t *testing.T, c cluster.Reader, saved *operation.SavedPlan, op *operation.Operation,
) error {
	t.Helper()
	now, err := operation.SavePlan(t.Context(), c, op.Source("package", "n/inventory"))
	if err != nil {
		t.Fatal(err)
	}
	return saved.Compare(now, op.Source("package", "n/inventory").Noun)
}

// A saved plan applies to the state for which it was made.
func TestSavedPlanCheck(t *testing.T) {
	c := newTestCluster()
	source := planned(t, c, testPackage(t, "a")).Source("package", "n/inventory")
	saved, err := operation.SavePlan(t.Context(), c, source)
	if err != nil {
		t.Fatal(err)
	}
	if err := compareSaved(t, c, saved, planned(t, c, testPackage(t, "a"))); err != nil {
		t.Errorf("an unchanged plan: %v", err)
	}
	err = compareSaved(t, c, saved, planned(t, c, testPackage(t, "a", "b")))
	const want = "the cluster or the package has changed since the plan was created:\n" +
		"- n/configmap/b is to be created now, and is not in the plan\ncreate a new plan"
	if err == nil || err.Error() != want {
		t.Errorf("error = %v, want %s", err, want)
	}
	if len(c.Wrote) > 0 {
		t.Errorf("wrote %v", c.Wrote)
	}
}

// Without its namespace a record cannot be stored, unless the package creates it.
func TestCheckRecordNamespace(t *testing.T) {
	c := newTestCluster()
	c.Remove(object.Ref{Kind: "Namespace", Name: "n"})
	p := testPackage(t, "a")
	err := planned(t, c, p).CheckRecordNamespace(t.Context())
	if err == nil || !strings.Contains(err.Error(), `inventory namespace "n" does not exist`) {
		t.Errorf("error = %v", err)
	}
	op := planned(t, c, p)
	namespace := &unstructured.Unstructured{Object: map[string]any{}}
	namespace.SetKind("Namespace")
	namespace.SetName("n")
	op.Desired[0].Object = namespace
	if err := op.CheckRecordNamespace(t.Context()); err != nil {
		t.Errorf("with the namespace in the package: %v", err)
	}
}

// RemoteMembers merges the inventories of a cluster, and reports damaged ones.
func TestRemoteMembers(t *testing.T) {
	c := newTestCluster()
	if _, err := run(t, planned(t, c, testPackage(t, "a"))); err != nil {
		t.Fatal(err)
	}
	damaged := c.Object(groupAt().Ref)
	damaged.SetName("other")
	damaged.Object["spec"] = map[string]any{"resources": []any{"nothing"}}
	c.Put(damaged)
	var notices []string
	notice := func(text string) { notices = append(notices, text) }
	targets, err := RemoteMembers(t.Context(), c, "", nil, notice)
	if err != nil {
		t.Fatal(err)
	}
	want := []object.Ref{{Kind: "ConfigMap", Namespace: "n", Name: "a"}}
	if diff := cmp.Diff(want, targets.All.Refs()); diff != "" {
		t.Errorf("members (-want +got):\n%s", diff)
	}
	const warning = "Warning: the inventory n/resourcegroup.kpt.dev/other"
	if len(notices) != 1 || !strings.HasPrefix(notices[0], warning) {
		t.Errorf("notices = %q", notices)
	}
}

// A package that lost all of its objects is refused, unless that is allowed or nothing is pruned.
func TestEmptyPackage(t *testing.T) {
	c := newTestCluster()
	if err := planned(t, c, testPackage(t)).CheckEmpty("the package"); err != nil {
		t.Errorf("the package deployed nothing: %v", err)
	}
	if _, err := run(t, planned(t, c, testPackage(t, "a", "b"))); err != nil {
		t.Fatal(err)
	}
	empty := (*operation.EmptyError)(nil)
	err := planned(t, c, testPackage(t)).CheckEmpty("the package")
	if !errors.As(err, &empty) || empty.Removed != 2 {
		t.Errorf("err = %v", err)
	}
	allowed := policy.Options{FieldManager: policy.DefaultManager, AllowEmpty: true}
	if err := plannedWith(t, c, testPackage(t), allowed).CheckEmpty("the package"); err != nil {
		t.Errorf("err = %v", err)
	}
	if err := planned(t, c, testPackage(t, "a")).CheckEmpty("the package"); err != nil {
		t.Errorf("one object is left: %v", err)
	}
	keeping := policy.Options{FieldManager: policy.DefaultManager, NoPrune: true}
	kept := plannedWith(t, c, testPackage(t), keeping)
	if err := kept.CheckEmpty("the package"); err != nil {
		t.Errorf("err = %v", err)
	}
	c.Wrote = nil
	if _, err := run(t, kept); err != nil {
		t.Fatal(err)
	}
	state, err := inventory.NewStore(c, groupAt(), true).Load(t.Context())
	if err != nil || len(state.Refs()) != 2 || slices.Contains(c.Wrote, "delete n/configmap/a") {
		t.Errorf("record = %v, writes = %v, %v", state.Refs(), c.Wrote, err)
	}
}
