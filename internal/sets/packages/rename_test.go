package packages

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/sets/packages/inventory"
	"github.com/muster-deploy/muster/internal/testing/enginetest"
)

// groupFile is the file of the package with the record of groupAt.
const groupFile = "# ours\napiVersion: kpt.dev/v1alpha1\nkind: ResourceGroup\nmetadata:\n" +
	"  name: inventory # kpt-set: ${name}\n  namespace: n\n" +
	"  labels: {cli-utils.sigs.k8s.io/inventory-id: id-1}\n"

// renamed renames the package in a folder, as a process of its own would.
func renamed(t *testing.T, c *enginetest.Cluster, dir, namespace, name string) (bool, error) {
	t.Helper()
	inv, err := OpenInventory(t.Context(), Input{Folder: dir})
	if err != nil {
		t.Fatal(err)
	}
	r, err := PrepareRename(dir, inv, namespace, name)
	if err != nil {
		t.Fatal(err)
	}
	return r.Run(t.Context(), c)
}

// groupPackage returns a folder and a cluster with a package that has deployed a and b.
func groupPackage(t *testing.T) (string, *enginetest.Cluster) {
	t.Helper()
	dir, c := t.TempDir(), &enginetest.Cluster{}
	path := filepath.Join(dir, "resourcegroup.yaml")
	if err := os.WriteFile(path, []byte(groupFile), 0o600); err != nil {
		t.Fatal(err)
	}
	saveTo(t, inventory.NewStore(c, groupAt(), true), stateOf("a", "b"))
	c.Revive()
	return dir, c
}

// TestRenameDiesAnywhere ends the connection at every write in turn. The inventory that the package
// describes has all members at every moment, and the same command ends the renaming.
func TestRenameDiesAnywhere(t *testing.T) {
	for _, namespace := range []string{"n", "m"} {
		died := 0
		for dies := 1; ; dies++ {
			dir, c := groupPackage(t)
			c.Dies = dies
			_, err := renamed(t, c, dir, namespace, "new")
			if err == nil {
				break
			}
			died++
			c.Revive()
			checkMembersOf(t, c, dir)
			if _, err := renamed(t, c, dir, namespace, "new"); err != nil {
				t.Fatalf("died at write %d, then: %v", dies, err)
			}
			if inv := checkMembersOf(t, c, dir); inv.Ref.Namespace != namespace || inv.Ref.Name != "new" ||
				inv.ID != "id-1" {
				t.Errorf("died at write %d, then the package has %+v", dies, inv)
			}
			if c.Object(groupAt().Ref) != nil {
				t.Errorf("died at write %d, then the old record is still there", dies)
			}
			if changed, err := renamed(t, c, dir, namespace, "new"); changed || err != nil {
				t.Errorf("once more: %v, %v", changed, err)
			}
			text, err := os.ReadFile(filepath.Join(dir, "resourcegroup.yaml"))
			want := strings.Replace(groupFile, "name: inventory", "name: new", 1)
			want = strings.Replace(want, "namespace: n\n", "namespace: "+namespace+"\n", 1)
			if err != nil || string(text) != want {
				t.Errorf("file %q, want %q", text, want)
			}
		}
		if died < 3 {
			t.Errorf("died at %d writes only", died)
		}
	}
}

// checkMembersOf makes sure that the record of the package in a folder has a and b, and returns the
// inventory.
func checkMembersOf(t *testing.T, c *enginetest.Cluster, dir string) *inventory.Inventory {
	t.Helper()
	inv, err := OpenInventory(t.Context(), Input{Folder: dir})
	if err != nil {
		t.Fatal(err)
	}
	state, err := inventory.NewStore(c, inv, true).Load(t.Context())
	if err != nil || !state.Equal(stateOf("a", "b")) {
		t.Errorf("the record %s holds %v, %v", inv.Ref, state, err)
	}
	return inv
}

// Names that others have, and records that do not exist, are errors, and nothing changes.
func TestRenameRefuses(t *testing.T) {
	for want, prepare := range map[string]func(*testing.T, *enginetest.Cluster){
		"by another package": func(t *testing.T, c *enginetest.Cluster) {
			other := groupAt()
			other.Ref.Name, other.ID = "new", "id-2"
			other.Labels = map[string]string{inventory.IDKey: other.ID}
			saveTo(t, inventory.NewStore(c, other, true), stateOf("c"))
		},
		"by a record with the same ID": func(t *testing.T, c *enginetest.Cluster) {
			other := groupAt()
			other.Ref.Name = "new"
			saveTo(t, inventory.NewStore(c, other, true), stateOf("c"))
		},
		"there is no record of package": func(t *testing.T, c *enginetest.Cluster) {
			s := inventory.NewStore(c, groupAt(), true)
			if _, err := s.Load(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := s.Remove(t.Context()); err != nil {
				t.Fatal(err)
			}
		},
	} {
		dir, c := groupPackage(t)
		prepare(t, c)
		before := c.Refs().Len()
		changed, err := renamed(t, c, dir, "n", "new")
		if changed || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, %v, want %s", changed, err, want)
		}
		text, err := os.ReadFile(filepath.Join(dir, "resourcegroup.yaml"))
		if err != nil || string(text) != groupFile || c.Refs().Len() != before {
			t.Errorf("%s: the file is %q, %v; the cluster has %v", want, text, err, c.Refs().Refs())
		}
	}
}

// A second copy of a renamed package gets only its file changed.
func TestRenameSecondCopy(t *testing.T) {
	dir, c := groupPackage(t)
	if _, err := renamed(t, c, dir, "n", "new"); err != nil {
		t.Fatal(err)
	}
	copied, _ := groupPackage(t)
	if changed, err := renamed(t, c, copied, "n", "new"); !changed || err != nil {
		t.Fatal(changed, err)
	}
	if inv := checkMembersOf(t, c, copied); inv.Ref.Name != "new" {
		t.Errorf("the copy has %s", inv.Ref)
	}
	if ref := (object.Ref{Kind: "ConfigMap", Namespace: "n", Name: "new"}); c.Object(ref) != nil {
		t.Errorf("%s exists", ref)
	}
}

// TestMoveOfOwner moves a record that owns an object of the package, which would be deleted with
// it: the commands that do that refuse, and name the object.
func TestMoveOfOwner(t *testing.T) {
	for name, move := range map[string]func(*testing.T, *enginetest.Cluster, string) error{
		"rename": func(t *testing.T, c *enginetest.Cluster, dir string) error {
			_, err := renamed(t, c, dir, "n", "new")
			return err
		},
		"migrate": func(t *testing.T, c *enginetest.Cluster, dir string) error {
			if err := os.Remove(filepath.Join(dir, "resourcegroup.yaml")); err != nil {
				t.Fatal(err)
			}
			const kptfile = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: p}\n" +
				"inventory: {name: inventory, namespace: n, inventoryID: id-1}\n"
			if err := os.WriteFile(filepath.Join(dir, "Kptfile"), []byte(kptfile), 0o600); err != nil {
				t.Fatal(err)
			}
			return migrated(t, c, dir, "new")
		},
	} {
		dir, c := groupPackage(t)
		c.Collects = true
		owned := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap",
			"metadata": map[string]any{"name": "b", "namespace": "n"},
		}}
		owned.SetOwnerReferences([]metav1.OwnerReference{{
			APIVersion: "kpt.dev/v1alpha1", Kind: "ResourceGroup", Name: "inventory",
			UID: c.Object(groupAt().Ref).GetUID(),
		}})
		c.Put(owned)
		err := move(t, c, dir)
		const want = "n/configmap/b has an owner reference to the record n/resourcegroup"
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v", name, err)
		}
		if c.Object(object.RefOf(owned)) == nil || c.Object(groupAt().Ref) == nil {
			t.Errorf("%s: left %v", name, c.Refs().Refs())
		}
	}
}
