package cmd

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/engine/enginetest"
	"github.com/muster-deploy/muster/internal/object"
)

// migrated runs one migration of the package in a folder, as a process of its own would.
func migrated(t *testing.T, c *enginetest.Cluster, dir string, f migrateFlags) error {
	t.Helper()
	d, err := toMigrate(dir)
	if err != nil {
		t.Fatal(err)
	}
	f.file = "resourcegroup.yaml"
	m := &migration{flags: f, dir: dir, described: d, cluster: c, out: io.Discard}
	return m.run(t.Context())
}

// TestMigrationDiesAnywhere ends the connection at every write in turn. What was deployed is recorded at every moment, the
// package says where, and the same command brings the migration to its end.
func TestMigrationDiesAnywhere(t *testing.T) {
	const template = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: inventory\n  namespace: n\n  labels: {%s: id-1}\n"
	const kptfile = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: p}\ninventory: {name: inventory, namespace: n, inventoryID: id-1}\n"
	for name, test := range map[string]struct {
		file, text string
		old        *inventory
		flags      migrateFlags
	}{
		"ConfigMap":     {"inventory-template.yaml", fmt.Sprintf(template, inventoryIDKey), aMapInventory(inventoryIDKey), migrateFlags{}},
		"old ConfigMap": {"inventory-template.yaml", fmt.Sprintf(template, firstInventoryIDKey), aMapInventory(firstInventoryIDKey), migrateFlags{}},
		"Kptfile":       {"Kptfile", kptfile, anInventory(), migrateFlags{name: "another"}},
	} {
		died := 0
		for dies := 1; ; dies++ {
			dir, c := t.TempDir(), &enginetest.Cluster{}
			if err := os.WriteFile(filepath.Join(dir, test.file), []byte(test.text), 0o600); err != nil {
				t.Fatal(err)
			}
			save(t, newStore(c, test.old, "all"), aState("a", "b"))
			c.Revive()
			c.Dies = dies
			err := migrated(t, c, dir, test.flags)
			if err == nil {
				break
			}
			died++
			c.Revive()
			recorded(t, c, "a", "b")
			if err := migrated(t, c, dir, test.flags); err != nil {
				t.Fatalf("%s: died at write %d, then: %v", name, dies, err)
			}
			inv, err := openInventory(&cli.Env{Err: io.Discard}, dir)
			if err != nil || inv.outdated != "" || inv.id != "id-1" {
				t.Fatalf("%s: died at write %d, then the package has %+v, %v", name, dies, inv, err)
			}
			state, err := newStore(c, inv, "all").Load(t.Context())
			if err != nil || !state.Equal(aState("a", "b")) {
				t.Errorf("%s: died at write %d, then the record holds %v, %v", name, dies, state, err)
			}
			if c.Object(test.old.ref) != nil {
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
		if !strings.Contains(text.String(), "n_"+name+"__ConfigMap") && !strings.Contains(text.String(), "name:"+name) {
			t.Errorf("no record has %s:\n%s", name, text.String())
		}
	}
}

// A record that another run changes while it is moved is not deleted with the old one.
func TestMigrationLosesNoNewMember(t *testing.T) {
	c := &enginetest.Cluster{}
	from := newStore(c, aMapInventory(inventoryIDKey), "all")
	save(t, from, aState("a"))
	save(t, newStore(c, aMapInventory(inventoryIDKey), "all"), aState("a", "b"))
	if err := from.remove(t.Context(), true); err == nil {
		t.Error("a record that was changed meanwhile was deleted")
	}
	if c.Object(object.Ref{Kind: "ConfigMap", Namespace: "n", Name: "inventory"}) == nil {
		t.Error("the record is gone")
	}
}
