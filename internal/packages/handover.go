package packages

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/muster-deploy/muster/internal/manifest"
	"github.com/muster-deploy/muster/internal/packages/inventory"
)

// Draft is a package that is not in a folder yet.
type Draft struct {
	Package
	dir     string
	secrets []string // files with data of Secrets
}

// The modes of files: those with the data of Secrets are for the user alone.
const manifestMode, secretMode fs.FileMode = 0o644, 0o600

// NewDraft returns a package of objects for a folder, which must be missing or empty. Each object
// gets a file of its own: KIND-NAME.yaml, in a folder for the namespace if there are several.
func NewDraft(
	dir, namespace string, o InitOptions, objects []*unstructured.Unstructured,
) (*Draft, error) {
	entries, err := os.ReadDir(dir)
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("read the folder: %w", err)
	case len(entries) > 0:
		return nil, fmt.Errorf("the folder %s is not empty: name a new one", dir)
	}
	d := &Draft{dir: dir}
	if d.Inventory, err = o.inventory(namespace); err != nil {
		return nil, err
	}
	several := len(namespacesOf(objects)) > 1
	for _, obj := range objects {
		file := strings.ToLower(obj.GetKind()) + "-" + fileName(obj.GetName()) + ".yaml"
		if ns := obj.GetNamespace(); several && ns != "" {
			file = ns + "/" + file
		}
		file = d.unique(file)
		if isSecret(obj) {
			d.secrets = append(d.secrets, file)
		}
		d.Objects = append(d.Objects, manifest.Object{
			Unstructured: obj, Origin: manifest.Origin{Path: file},
		})
	}
	return d, nil
}

// isSecret reports whether an object is a Secret.
func isSecret(obj *unstructured.Unstructured) bool {
	return obj.GroupVersionKind().GroupKind() == schema.GroupKind{Kind: "Secret"}
}

// namespacesOf returns the namespaces of objects.
func namespacesOf(objects []*unstructured.Unstructured) map[string]bool {
	found := map[string]bool{}
	for _, obj := range objects {
		if ns := obj.GetNamespace(); ns != "" {
			found[ns] = true
		}
	}
	return found
}

// fileName returns the name of an object as a part of the name of a file.
func fileName(name string) string {
	return strings.Map(func(c rune) rune {
		if c == ':' || c == '/' || c == '\\' {
			return '-'
		}
		return c
	}, name)
}

// unique returns a name that no file of the draft has: kinds of two groups may have one name.
func (d *Draft) unique(file string) string {
	for n := 2; ; n++ {
		taken := false
		for _, obj := range d.Objects {
			taken = taken || strings.EqualFold(obj.Origin.Path, file)
		}
		if !taken {
			return file
		}
		file = fmt.Sprintf("%s-%d.yaml", strings.TrimSuffix(file, ".yaml"), n)
	}
}

// Secrets returns the files that hold data of Secrets.
func (d *Draft) Secrets() []string { return d.secrets }

// Write writes the files; the inventory comes last, so that a folder with one is complete.
func (d *Draft) Write(inventoryFile string) error {
	for _, obj := range d.Objects {
		text, err := yaml.Marshal(obj.Object)
		if err != nil {
			return fmt.Errorf("write %s: %w", obj.Origin.Path, err)
		}
		path := filepath.Join(d.dir, filepath.FromSlash(obj.Origin.Path))
		mode := manifestMode
		if isSecret(obj.Unstructured) {
			mode = secretMode
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return fmt.Errorf("write the package: %w", err)
		}
		if err := writeFileAtomically(path, text, mode); err != nil {
			return fmt.Errorf("write the package: %w", err)
		}
	}
	if err := os.MkdirAll(d.dir, 0o755); err != nil {
		return fmt.Errorf("write the package: %w", err)
	}
	return writeInventoryFile(d.Inventory, filepath.Join(d.dir, inventoryFile), false)
}

// Forget deletes the record of an inventory, whose objects belong to another set. A record that
// does not exist is none.
func Forget(ctx context.Context, c Cluster, inv *inventory.Inventory) error {
	store := inventory.NewStore(c, inv, true)
	if _, err := store.Load(ctx); err != nil {
		return err
	}
	return store.Remove(ctx)
}

// RemoveInventory removes the description of the inventory from the files of a package: the file of
// the ResourceGroup, or the section of the Kptfile. It returns the file, and an error for a file
// with other objects.
func RemoveInventory(dir string, inv *inventory.Inventory) (file string, err error) {
	file = manifest.FileOf(inv.Source)
	path := filepath.Join(dir, filepath.FromSlash(file))
	if file == inventory.KptfileName {
		return path, stripKptfile(dir)
	}
	omit := func(obj map[string]any) bool { return isGroup(obj) || isMapInventory(obj) }
	rest, err := otherObjects(dir, file, omit)
	if err != nil {
		return path, err
	}
	if len(rest) > 0 {
		return path, fmt.Errorf("%s holds other objects beside the inventory: remove the inventory by "+
			"hand", path)
	}
	return path, os.Remove(path)
}
