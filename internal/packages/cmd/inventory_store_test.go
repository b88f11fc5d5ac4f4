package cmd

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/engine/enginetest"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/record"
)

func aState(names ...string) *record.State {
	state := &record.State{}
	for _, name := range names {
		state.Members = append(state.Members, record.Member{
			Ref:      object.Ref{Kind: "ConfigMap", Namespace: "n", Name: name},
			Strategy: record.Apply, Actuation: record.Succeeded, Reconcile: record.Succeeded,
		})
	}
	return state
}

// save loads and saves as one run does.
func save(t *testing.T, s *inventoryStore, state *record.State) {
	t.Helper()
	if _, err := s.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Save(t.Context(), state); err != nil {
		t.Fatal(err)
	}
}

// The labels and annotations of the package are on the record, also those that it gets later. Others stay.
func TestLabelsFollowThePackage(t *testing.T) {
	for _, inv := range []*inventory{anInventory(), aMapInventory(inventoryIDKey)} {
		c := &enginetest.Cluster{}
		save(t, newStore(c, inv, "all"), aState("a"))
		stored := c.Object(inv.ref)
		stored.SetLabels(united(stored.GetLabels(), map[string]string{"theirs": "kept"}))
		c.Put(stored)
		inv.labels["team"] = "blue"
		inv.annotations = map[string]string{"note": "read me"}
		before := len(c.Wrote)
		save(t, newStore(c, inv, "all"), aState("a"))
		save(t, newStore(c, inv, "all"), aState("a"))
		if wrote := c.Wrote[before:]; len(wrote) != 1 {
			t.Errorf("%s: wrote %v, want one change", inv.ref, wrote)
		}
		want := map[string]string{inventoryIDKey: "id-1", "team": "blue", "theirs": "kept"}
		if diff := cmp.Diff(want, c.Object(inv.ref).GetLabels()); diff != "" {
			t.Errorf("%s: labels (-want +got):\n%s", inv.ref, diff)
		}
		if diff := cmp.Diff(inv.annotations, c.Object(inv.ref).GetAnnotations()); diff != "" {
			t.Errorf("%s: annotations (-want +got):\n%s", inv.ref, diff)
		}
	}
}

// Without statuses nothing is said of members, and what an earlier run said is left alone.
func TestStatusPolicyNone(t *testing.T) {
	c := &enginetest.Cluster{}
	save(t, newStore(c, anInventory(), "none"), aState("a"))
	save(t, newStore(c, anInventory(), "none"), aState("a"))
	if diff := cmp.Diff([]string{"create n/resourcegroup.kpt.dev/inventory"}, c.Wrote); diff != "" {
		t.Errorf("wrote (-want +got):\n%s", diff)
	}
	if _, ok := c.Object(anInventory().ref).Object["status"]; ok {
		t.Error("a status was stored")
	}

	inv := aMapInventory(inventoryIDKey)
	save(t, newStore(c, inv, "all"), aState("a"))
	save(t, newStore(c, inv, "none"), aState("a", "b"))
	want := map[string]string{
		"n_a__ConfigMap": `{"actuation":"Succeeded","reconcile":"Succeeded","strategy":"Apply"}`,
		"n_b__ConfigMap": "",
	}
	if got, _ := dataOf(c.Object(inv.ref)); cmp.Diff(want, got) != "" {
		t.Errorf("data (-want +got):\n%s", cmp.Diff(want, got))
	}
}

// A record that was edited into something that is none is an error that names the place, and nothing is written.
func TestDamagedRecord(t *testing.T) {
	resources := func(items ...any) map[string]any { return map[string]any{"spec": map[string]any{"resources": items}} }
	fine := map[string]any{"group": "", "kind": "ConfigMap", "namespace": "n", "name": "a"}
	for want, test := range map[string]struct {
		inventory *inventory
		content   map[string]any
	}{
		"entry 2 of spec.resources names no object": {anInventory(), resources(fine, map[string]any{"kind": "ConfigMap", "namespace": "n"})},
		"entry 1 of spec.resources names no object": {anInventory(), resources("ConfigMap")},
		`the key "colour" of its data names no object: it has too few fields`: {
			aMapInventory(inventoryIDKey), map[string]any{"data": map[string]any{"n_a__ConfigMap": "", "colour": "blue"}}},
		`the key "n_a_b__ConfigMap" of its data names no object: it has too many fields`: {
			aMapInventory(inventoryIDKey), map[string]any{"data": map[string]any{"n_a_b__ConfigMap": ""}}},
	} {
		c := &enginetest.Cluster{}
		obj := newStore(c, test.inventory, "all").fresh(1)
		obj.SetLabels(test.inventory.labels)
		for key, value := range test.content {
			obj.Object[key] = value
		}
		c.Put(obj)
		_, err := newStore(c, test.inventory, "all").Load(t.Context())
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "is damaged: ") {
			t.Errorf("error = %v, want %s", err, want)
		}
		if len(c.Wrote) > 0 {
			t.Errorf("wrote %v", c.Wrote)
		}
	}
}

// The first tools changed the name of the ConfigMap: it is found by its label, whichever that is.
func TestConfigMapIsFoundByItsLabel(t *testing.T) {
	for _, label := range inventoryIDKeys {
		c := &enginetest.Cluster{}
		put := func(name string) {
			obj := &unstructured.Unstructured{Object: map[string]any{"data": map[string]any{"_n__Namespace": ""}}}
			obj.SetGroupVersionKind(configMapKind)
			obj.SetNamespace("n")
			obj.SetName(name)
			obj.SetLabels(map[string]string{label: "id-1"})
			c.Put(obj)
		}
		put("inventory-1e5824fb")
		s := newStore(c, aMapInventory(inventoryIDKey), "all")
		state, err := s.Load(t.Context())
		if want := []object.Ref{{Kind: "Namespace", Name: "n"}}; err != nil || cmp.Diff(want, state.Refs()) != "" {
			t.Fatalf("loaded %v, %v", state, err)
		}
		if err := s.Save(t.Context(), aState("a")); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"replace n/configmap/inventory-1e5824fb"}, c.Wrote); diff != "" {
			t.Errorf("wrote (-want +got):\n%s", diff)
		}
		put("inventory-fb5824e1")
		if label != inventoryIDKey {
			continue // the first has the present label as well now, and is the one
		}
		_, err = newStore(c, aMapInventory(inventoryIDKey), "all").Load(t.Context())
		if err == nil || !strings.Contains(err.Error(), "such as inventory-1e5824fb and inventory-fb5824e1") {
			t.Errorf("error = %v", err)
		}
	}
}

func TestConfigMapOfAnotherIsRefused(t *testing.T) {
	c := &enginetest.Cluster{}
	other := aMapInventory(inventoryIDKey)
	other.id, other.labels = "id-2", map[string]string{inventoryIDKey: "id-2"}
	save(t, newStore(c, other, "all"), aState("a"))
	_, err := newStore(c, aMapInventory(inventoryIDKey), "all").Load(t.Context())
	if err == nil || !strings.Contains(err.Error(), `has the id "id-2", but this package has "id-1"`) {
		t.Errorf("error = %v", err)
	}
}
