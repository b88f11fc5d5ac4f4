package packages

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/sets/packages/inventory"
)

const aKptfile = `apiVersion: kpt.dev/v1 # the version
kind: Kptfile
metadata:
  name: demo
inventory:
  # where it is
  namespace: n
  name: inventory-1

  inventoryID: id-1
  labels: {team: blue}
  annotations:
    note: |
      read me
    config.kubernetes.io/path: somewhere
# what it does
info:
  description: inventory
`

// written returns a package folder with a Kptfile.
func written(t *testing.T, kptfile string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "Kptfile"), []byte(kptfile), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// kptfileInventoryOf returns the inventory in the Kptfile of a package folder, or nil.
func kptfileInventoryOf(t *testing.T, dir string) (*inventory.Inventory, error) {
	s, err := openFolder(t.Context(), dir, Root{})
	if err != nil || s.problems != nil {
		return nil, errors.Join(err, s.problems)
	}
	inv, err := s.contents(t.Context()).inventory()
	if none := (*NoInventoryError)(nil); errors.As(err, &none) {
		return nil, nil
	}
	return inv, err
}

func TestKptfileInventory(t *testing.T) {
	inv, err := kptfileInventoryOf(t, written(t, aKptfile))
	if err != nil {
		t.Fatal(err)
	}
	want := &inventory.Inventory{
		Ref: object.Ref{
			Group:     "kpt.dev",
			Kind:      "ResourceGroup",
			Namespace: "n",
			Name:      "inventory-1",
		},
		ID:           "id-1",
		Labels:       map[string]string{inventory.IDKey: "id-1", "team": "blue"},
		Annotations:  map[string]string{"note": "read me\n"},
		Source:       "Kptfile",
		LegacyFormat: "the Kptfile",
	}
	if diff := cmp.Diff(want, inv, cmp.AllowUnexported(inventory.Inventory{})); diff != "" {
		t.Errorf("inventory (-want +got):\n%s", diff)
	}
	for text, want := range map[string]string{
		"":                "",
		"inventory: {}":   "",
		"inventory: null": "",
		"inventory: {name: a}": "Kptfile: the inventory lacks inventory.namespace and " +
			"inventory.inventoryID",
		"inventory: {namespace: n}": "Kptfile: the inventory lacks inventory.name and " +
			"inventory.inventoryID",
		"inventory: [a]": "Kptfile: line 4: cannot unmarshal",
		"inventory: {name: a, namespace: n, inventoryID: i, labels: {a: [1]}}": "Kptfile: line 4: " +
			"cannot unmarshal",
		"inventory:\n\tname: a": "Kptfile: line 5: ",
	} {
		inv, err := kptfileInventoryOf(t,
			written(t, "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: demo}\n"+text),
		)
		if inv != nil || (err == nil) != (want == "") ||
			err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, %v; want %s", text, inv, err, want)
		}
	}
}

// The section goes, and nothing else: not even comments.
func TestKptfileWithoutInventory(t *testing.T) {
	got, err := inventory.StripInventory([]byte(aKptfile))
	if err != nil {
		t.Fatal(err)
	}
	before, rest, _ := strings.Cut(aKptfile, "inventory:\n")
	_, after, _ := strings.Cut(rest, "somewhere\n")
	if diff := cmp.Diff(before+after, string(got)); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
	for text, want := range map[string]string{
		"inventory: {name: a}\nkind: Kptfile":       "kind: Kptfile",
		"kind: Kptfile\ninventory: {name: a}":       "kind: Kptfile\n",
		"kind: Kptfile\r\ninventory:\r\n  a: b\r\n": "kind: Kptfile\r\n",
	} {
		if got, err := inventory.StripInventory([]byte(text)); err != nil || string(got) != want {
			t.Errorf("%q: %q, %v; want %q", text, got, err, want)
		}
	}
	for _, text := range []string{
		"{kind: Kptfile, inventory: {name: a}}",
		"\"inventory\":\n  name: a\n",
		"inventory: {\nname: a}\nkind: Kptfile\n",
		"kind: &a\n  b: c\ninventory:\n  base: &base {a: b}\nother: *base\n",
	} {
		if got, err := inventory.StripInventory([]byte(text)); err == nil {
			t.Errorf("%q became %q", text, got)
		}
	}
}

// The Kptfile may be a link within its folder, and keeps its mode.
func TestKptfileIsReplacedInPlace(t *testing.T) {
	dir := written(t, aKptfile)
	target := filepath.Join(dir, "real")
	if err := os.Rename(filepath.Join(dir, "Kptfile"), target); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("real", filepath.Join(dir, "Kptfile")); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(target, 0o640); err != nil {
		t.Fatal(err)
	}
	if err := stripKptfile(dir); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(target)
	if err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("mode = %v, %v", info.Mode(), err)
	}
	if link, err := os.Readlink(filepath.Join(dir, "Kptfile")); err != nil || link != "real" {
		t.Errorf("the link leads to %q, %v", link, err)
	}
	if inv, err := kptfileInventoryOf(t, dir); inv != nil || err != nil {
		t.Errorf("the inventory is %v, %v", inv, err)
	}
}

func TestInventoryFile(t *testing.T) {
	inv := &inventory.Inventory{
		Ref:         object.Ref{Namespace: "n", Name: "007"},
		Labels:      map[string]string{inventory.IDKey: "id-1", "team": "yes"},
		Annotations: map[string]string{"note": "read\nme", "long": strings.Repeat("word ", 40)},
	}
	want := `apiVersion: kpt.dev/v1alpha1
kind: ResourceGroup
metadata:
  name: "007"
  namespace: "n"
  labels:
    cli-utils.sigs.k8s.io/inventory-id: id-1
    team: "yes"
  annotations:
    long: "` + strings.Repeat("word ", 40) + `"
    note: "read\nme"
`
	if diff := cmp.Diff(want, string(inv.Text())); diff != "" {
		t.Errorf("file (-want +got):\n%s", diff)
	}
}
