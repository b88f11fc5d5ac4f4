package packages

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-deploy/muster/internal/base/atomicfile"
	"github.com/muster-deploy/muster/internal/base/yamltext"
	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/manifest"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/owner"
	"github.com/muster-deploy/muster/internal/sets/packages/inventory"
)

// Draft is a package that is not in a folder yet.
type Draft struct {
	Package
	dir     string
	secrets []string // files with data of Secrets
	others  map[string]string
}

// The modes of files: those with the data of Secrets are for the user alone.
const manifestMode, secretMode fs.FileMode = 0o644, 0o600

// NewDraft returns a package of objects for a folder, which must not exist yet. Each object
// gets a file of its own: KIND-NAME.yaml, in a folder for the namespace if there are several.
func NewDraft(
	dir, namespace string, o InitOptions, objects []*unstructured.Unstructured,
) (*Draft, error) {
	switch _, err := os.Lstat(dir); {
	case err == nil:
		return nil, fmt.Errorf("%s exists, and is no package: name a folder that does not exist yet", dir)
	case !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("read the folder: %w", err)
	}
	d, err := &Draft{dir: filepath.Clean(dir)}, error(nil)
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

// AddFile adds a file that is no manifest. One with data of Secrets is for the user alone.
func (d *Draft) AddFile(name, text string, secret bool) {
	if d.others == nil {
		d.others = map[string]string{}
	}
	d.others[name] = text
	if secret {
		d.secrets = append(d.secrets, name)
	}
}

// Secrets returns the files that hold data of Secrets, with the folder.
func (d *Draft) Secrets() []string {
	var files []string
	for _, file := range d.secrets {
		files = append(files, filepath.Join(d.dir, filepath.FromSlash(file)))
	}
	return files
}

// Write writes the folder, without an inventory if that has no file. Others never see a part of it:
// a folder beside it gets its name at the end.
func (d *Draft) Write(inventoryFile string) (err error) {
	if err := os.MkdirAll(filepath.Dir(d.dir), 0o755); err != nil {
		return fmt.Errorf("write the package: %w", err)
	}
	temp, err := os.MkdirTemp(filepath.Dir(d.dir), "."+filepath.Base(d.dir)+"-")
	if err != nil {
		return fmt.Errorf("write the package: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("write the package: %w", err), os.RemoveAll(temp))
		}
	}()
	for _, obj := range d.Objects {
		if err := writeManifest(temp, obj); err != nil {
			return err
		}
	}
	for name, text := range d.others {
		mode := manifestMode
		if slices.Contains(d.secrets, name) {
			mode = secretMode
		}
		if err := atomicfile.Write(filepath.Join(temp, name), []byte(text), mode); err != nil {
			return err
		}
	}
	if inventoryFile != "" {
		err := writeInventoryFile(d.Inventory, filepath.Join(temp, inventoryFile), false)
		if err != nil {
			return err
		}
	}
	if err := os.Chmod(temp, 0o755); err != nil {
		return err
	}
	return os.Rename(temp, d.dir)
}

// writeManifest writes the file of an object into a folder.
func writeManifest(dir string, obj manifest.Object) error {
	text, err := yamltext.Marshal(obj.Object)
	if err != nil {
		return err
	}
	path := filepath.Join(dir, filepath.FromSlash(obj.Origin.Path))
	mode := manifestMode
	if isSecret(obj.Unstructured) {
		mode = secretMode
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return atomicfile.Write(path, text, mode)
}

// Forget deletes the record of an inventory, whose objects were moved to another set. It fails if
// the record lists others, or if an object still has the mark of the inventory: nothing would know
// these any more. A record that does not exist is no error.
func Forget(
	ctx context.Context, c cluster.Writer, inv *inventory.Inventory, moved *object.Set,
) error {
	store := inventory.NewStore(c, inv, true)
	state, err := store.Load(ctx)
	if err != nil {
		return err
	}
	for _, ref := range state.Refs() {
		if !moved.Has(ref) {
			return fmt.Errorf("another run has added %s to it", ref)
		}
	}
	if err := checkMoved(ctx, c, inv, state.Refs()); err != nil {
		return err
	}
	if err := store.CheckOwned(ctx, state); err != nil {
		return err
	}
	return store.Remove(ctx)
}

// Holders returns the UIDs of the objects that hold the record of an inventory.
func Holders(ctx context.Context, c cluster.Writer, inv *inventory.Inventory) ([]types.UID, error) {
	state, err := inventory.NewStore(c, inv, true).Load(ctx)
	if err != nil {
		return nil, err
	}
	return state.Holders, nil
}

// checkMoved returns an error if an object still has the mark of an inventory, or cannot be read.
func checkMoved(
	ctx context.Context, c cluster.Writer, inv *inventory.Inventory, refs []object.Ref,
) error {
	targets := make([]cluster.Target, len(refs))
	for i, ref := range refs {
		targets[i] = cluster.Target{Ref: ref}
	}
	live, err := c.Read(ctx, targets)
	if err == nil {
		err = live.Check()
	}
	if err != nil {
		return err
	}
	own := owner.Owner{Kind: owner.Package, ID: inv.ID}
	for _, ref := range refs {
		if obj := live.Objects[ref]; obj != nil && slices.ContainsFunc(owner.Of(obj), own.Is) {
			return fmt.Errorf("%s still has its mark", ref)
		}
	}
	return nil
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
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil // another run has removed it
	}
	if err != nil {
		return path, err
	}
	if len(rest) > 0 {
		return path, fmt.Errorf("%s holds other objects beside the inventory: remove the inventory by "+
			"hand", path)
	}
	return path, os.Remove(path)
}
