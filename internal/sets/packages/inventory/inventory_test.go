package inventory

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/manifest"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/record"
	"github.com/muster-deploy/muster/internal/testing/enginetest"
	"github.com/muster-deploy/muster/internal/testing/recordtest"
)

func aMapInventory(label string) *Inventory {
	return &Inventory{
		Ref:    object.Ref{Kind: "ConfigMap", Namespace: "n", Name: "inventory"},
		ID:     "id-1",
		Labels: map[string]string{label: "id-1"},
	}
}

func anInventory() *Inventory {
	return &Inventory{
		Ref:    object.Ref{Group: "kpt.dev", Kind: "ResourceGroup", Namespace: "n", Name: "inventory"},
		ID:     "id-1",
		Labels: map[string]string{IDKey: "id-1"},
	}
}

// TestConformance runs every way of describing an inventory, and both policies, through the suite
// of record stores.
func TestConformance(t *testing.T) {
	file, err := ParseKptfile([]byte("apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: demo}\n"+
		"inventory: {name: inventory, namespace: n, inventoryID: id-1}\n"), KptfileName)
	if err != nil {
		t.Fatal(err)
	}
	fromKptfile, err := file.Inventory.Inventory(KptfileName)
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		inventory *Inventory
		sorted    bool
		room      int // 0 as the format says
	}{
		"ResourceGroup": {inventory: anInventory()},
		"divided":       {inventory: anInventory(), room: 600},
		"much divided":  {inventory: anInventory(), room: 250}, // for one member
		"Kptfile":       {inventory: fromKptfile},
		"ConfigMap":     {inventory: aMapInventory(IDKey), sorted: true},
		"old ConfigMap": {inventory: aMapInventory(FirstIDKey), sorted: true},
	} {
		t.Run(name, func(t *testing.T) {
			recordtest.Run(t, func(*testing.T) recordtest.Place {
				c := &enginetest.Cluster{}
				return recordtest.Place{
					Open: func() record.Store {
						s := NewStore(c, test.inventory, true)
						if test.room > 0 {
							s.capacity = test.room
						}
						return s
					},
					Writes: func() int { return len(c.Wrote) },
					Die: func(change int) {
						if c.Revive(); change > 0 {
							c.Dies = change
						}
					},
					Sorted: test.sorted,
				}
			})
		})
	}
}

func TestRecordOfAnotherPackageIsRefused(t *testing.T) {
	c := &enginetest.Cluster{}
	store := NewStore(c, anInventory(), true)
	if _, err := store.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := store.Save(t.Context(), &record.State{}); err != nil {
		t.Fatal(err)
	}
	other := anInventory()
	other.ID = "id-2"
	_, err := NewStore(c, other, true).Load(t.Context())
	want := `the inventory n/resourcegroup.kpt.dev/inventory in the cluster has the id "id-1", but ` +
		`this package has "id-2": ` +
		`it is the record of another package; give this package an inventory of its own with init ` +
		`--force --name`
	if err == nil || err.Error() != want {
		t.Errorf("error = %v, want %s", err, want)
	}
}

// TestFormat pins the stored form: other tools read and write the same objects.
func TestFormat(t *testing.T) {
	c := &enginetest.Cluster{}
	store := NewStore(c, anInventory(), true)
	if _, err := store.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	err := store.Save(t.Context(), &record.State{Members: []record.Member{{
		Ref:      object.Ref{Group: "apps", Kind: "Deployment", Namespace: "n", Name: "web"},
		Strategy: record.Apply, Actuation: record.Succeeded, Reconcile: record.TimedOut,
	}}})
	if err != nil {
		t.Fatal(err)
	}
	stored := c.Object(anInventory().Ref).Object
	want := map[string]any{
		"spec": map[string]any{"resources": []any{
			map[string]any{"group": "apps", "kind": "Deployment", "namespace": "n", "name": "web"},
		}},
		"status": map[string]any{
			"observedGeneration": int64(1),
			"resourceStatuses": []any{map[string]any{
				"group": "apps", "kind": "Deployment", "namespace": "n", "name": "web",
				"status": "Unknown", "strategy": "Apply", "actuation": "Succeeded", "reconcile": "Timeout",
			}},
		},
	}
	got := map[string]any{"spec": stored["spec"], "status": stored["status"]}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("stored (-want +got):\n%s", diff)
	}
}

func TestEmptyRecordHasNoStatuses(t *testing.T) {
	c := &enginetest.Cluster{}
	store := NewStore(c, anInventory(), true)
	if _, err := store.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	member := record.Member{
		Ref:       object.Ref{Kind: "ConfigMap", Namespace: "n", Name: "a"},
		Strategy:  record.Apply,
		Actuation: record.Pending,
		Reconcile: record.Pending,
	}
	for _, state := range []*record.State{
		{Members: []record.Member{member}, Result: record.RunFailed}, {},
	} {
		if err := store.Save(t.Context(), state); err != nil {
			t.Fatal(err)
		}
	}
	want := map[string]any{"observedGeneration": int64(2)}
	if diff := cmp.Diff(want, c.Object(anInventory().Ref).Object["status"]); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
}

func TestDeletedRecordIsCreatedAgain(t *testing.T) {
	c := &enginetest.Cluster{}
	store := NewStore(c, anInventory(), true)
	if _, err := store.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	state := func(progress record.Progress) *record.State {
		return &record.State{Members: []record.Member{{
			Ref: object.Ref{
				Kind:      "ConfigMap",
				Namespace: "n",
				Name:      "a",
			}, Strategy: record.Apply, Actuation: progress, Reconcile: progress,
		}}}
	}
	if err := store.Save(t.Context(), state(record.Pending)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Delete(t.Context(), cluster.Delete{Ref: anInventory().Ref}); err != nil {
		t.Fatal(err)
	}
	if err := store.Save(t.Context(), state(record.Succeeded)); err != nil {
		t.Fatal(err)
	}
	again, err := NewStore(c, anInventory(), true).Load(t.Context())
	if err != nil || !again.Equal(state(record.Succeeded)) {
		t.Errorf("loaded %+v, %v", again, err)
	}
}

// TestCluster checks that the cluster of a package is in its file and not on the record.
func TestCluster(t *testing.T) {
	inv := anInventory()
	inv.Cluster = "context:prod-*"
	objects, err := manifest.Parse(t.Context(), inv.Text(), "resourcegroup.yaml", manifest.Options{})
	if err != nil || len(objects) != 1 {
		t.Fatalf("%d objects, error %v", len(objects), err)
	}
	got, err := New(objects[0])
	if err != nil {
		t.Fatal(err)
	}
	if got.Cluster != inv.Cluster || got.Annotations[ClusterKey] != "" {
		t.Errorf("cluster %q, annotations %v", got.Cluster, got.Annotations)
	}
}
