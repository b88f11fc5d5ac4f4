package packages

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/record"
	"github.com/muster-deploy/muster/internal/sets/packages/inventory"
	"github.com/muster-deploy/muster/internal/testing/enginetest"
)

// migrated runs one migration of the package in a folder, as a process of its own would.
func migrated(t *testing.T, c *enginetest.Cluster, dir string, name string) error {
	t.Helper()
	o := MigrateOptions{
		InitOptions: InitOptions{Name: name, File: "resourcegroup.yaml", Now: time.Now},
		Out:         io.Discard,
	}
	m, err := PrepareMigration(t.Context(), dir, o)
	if err != nil {
		t.Fatal(err)
	}
	m.cluster = c
	return m.run(t.Context())
}

// TestMigrationDiesAnywhere ends the connection at every write in turn. What was deployed is
// recorded at every moment, the package says where, and the same command brings the migration to
// its end.
func TestMigrationDiesAnywhere(t *testing.T) {
	const template = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: inventory\n" +
		"  namespace: n\n  labels: {%s: id-1}\n"
	const kptfile = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: p}\n" +
		"inventory: {name: inventory, namespace: n, inventoryID: id-1}\n"
	for name, test := range map[string]struct {
		file, text string
		old        *inventory.Inventory
		name       string
	}{
		"ConfigMap": {
			"inventory-template.yaml", fmt.Sprintf(template, inventory.IDKey), mapAt(inventory.IDKey), "",
		},
		"old ConfigMap": {
			"inventory-template.yaml", fmt.Sprintf(template, inventory.FirstIDKey),
			mapAt(inventory.FirstIDKey), "",
		},
		"Kptfile": {"Kptfile", kptfile, groupAt(), "another"},
	} {
		died := 0
		for dies := 1; ; dies++ {
			dir, c := t.TempDir(), &enginetest.Cluster{}
			if err := os.WriteFile(filepath.Join(dir, test.file), []byte(test.text), 0o600); err != nil {
				t.Fatal(err)
			}
			saveTo(t, inventory.NewStore(c, test.old, true), stateOf("a", "b"))
			c.Revive()
			c.Dies = dies
			err := migrated(t, c, dir, test.name)
			if err == nil {
				break
			}
			died++
			c.Revive()
			recorded(t, c, "a", "b")
			if err := migrated(t, c, dir, test.name); err != nil {
				t.Fatalf("%s: died at write %d, then: %v", name, dies, err)
			}
			inv, err := OpenInventory(t.Context(), Input{Folder: dir})
			if err != nil || inv.LegacyFormat != "" || inv.ID != "id-1" {
				t.Fatalf("%s: died at write %d, then the package has %+v, %v", name, dies, inv, err)
			}
			state, err := inventory.NewStore(c, inv, true).Load(t.Context())
			if err != nil || !state.Equal(stateOf("a", "b")) {
				t.Errorf("%s: died at write %d, then the record holds %v, %v", name, dies, state, err)
			}
			if c.Object(test.old.Ref) != nil {
				t.Errorf("%s: died at write %d, then the old record is still there", name, dies)
			}
		}
		if died < 3 {
			t.Errorf("%s: died at %d writes only", name, died)
		}
	}
}

// recorded makes sure that some record in the cluster has each of the names.
func recorded(t *testing.T, c *enginetest.Cluster, names ...string) {
	t.Helper()
	var text strings.Builder
	for _, ref := range c.Refs().Refs() {
		fmt.Fprintln(&text, c.Object(ref).Object["spec"], c.Object(ref).Object["data"])
	}
	for _, name := range names {
		if !strings.Contains(text.String(), "n_"+name+"__ConfigMap") &&
			!strings.Contains(text.String(), "name:"+name) {
			t.Errorf("no record has %s:\n%s", name, text.String())
		}
	}
}

// A record that another run changes while it is moved is not deleted with the old one.
func TestMigrationLosesNoNewMember(t *testing.T) {
	c := &enginetest.Cluster{}
	from := inventory.NewStore(c, mapAt(inventory.IDKey), true)
	saveTo(t, from, stateOf("a"))
	saveTo(t, inventory.NewStore(c, mapAt(inventory.IDKey), true), stateOf("a", "b"))
	if err := from.Remove(t.Context()); err == nil {
		t.Error("a record that was changed meanwhile was deleted")
	}
	if c.Object(object.Ref{Kind: "ConfigMap", Namespace: "n", Name: "inventory"}) == nil {
		t.Error("the record is gone")
	}
}

func mapAt(label string) *inventory.Inventory {
	return &inventory.Inventory{
		Ref: object.Ref{
			Kind:      "ConfigMap",
			Namespace: "n",
			Name:      "inventory",
		}, ID: "id-1", Labels: map[string]string{label: "id-1"},
	}
}

func groupAt() *inventory.Inventory {
	return &inventory.Inventory{
		Ref: object.Ref{
			Group:     "kpt.dev",
			Kind:      "ResourceGroup",
			Namespace: "n",
			Name:      "inventory",
		}, ID: "id-1",
		Labels: map[string]string{inventory.IDKey: "id-1"},
	}
}

// stateOf returns the state of ConfigMaps that were applied.
func stateOf(names ...string) *record.State {
	state := &record.State{}
	for _, name := range names {
		state.Members = append(state.Members, record.Member{
			Ref:      object.Ref{Kind: "ConfigMap", Namespace: "n", Name: name},
			Strategy: record.Apply, Actuation: record.Succeeded, Reconcile: record.Succeeded,
		})
	}
	return state
}

// saveTo loads and saves, as a run does.
func saveTo(t *testing.T, s *inventory.Store, state *record.State) {
	t.Helper()
	if _, err := s.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Save(t.Context(), state); err != nil {
		t.Fatal(err)
	}
}
