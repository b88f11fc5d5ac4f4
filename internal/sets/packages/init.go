package packages

import (
	"context"
	"crypto/rand"
	"crypto/sha1"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"math/big"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"

	"github.com/muster-deploy/muster/internal/base/boundedio"
	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/manifest"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/sets/packages/inventory"
)

//go:embed clusterscoped.yaml
var clusterScopedFile []byte

// InitOptions are the options of PrepareInit.
type InitOptions struct {
	Name    string // of the ResourceGroup; random if empty
	ID      string // of the inventory; new if empty
	File    string
	Force   bool   // replace the inventory that the package has
	Cluster string // that the package belongs to; empty for any
	// ApplySet makes the package an ApplySet too: see inventory.ApplySetKey.
	ApplySet bool
	Root     Root // confines the bases of a kustomization
	Now      func() time.Time
}

// Initialization writes the inventory of a package.
type Initialization struct {
	options        InitOptions
	dir            string
	contents       *contents
	replacesBroken bool // the file is too broken to be read, and is replaced
}

// PrepareInit reads the package in a folder.
func PrepareInit(ctx context.Context, dir string, o InitOptions) (*Initialization, error) {
	source, err := openFolder(ctx, dir, o.Root)
	if err != nil {
		return nil, err
	}
	source.foreign = manifest.KeepForeign // apply refuses them, or warns of them
	source.inventoryFile = o.File
	i := &Initialization{options: o, dir: dir, contents: source.contents(ctx)}
	if i.contents.problems != nil && o.Force && source.onlyInventory(o.File) {
		source.excluded = o.File
		if rest := source.contents(ctx); rest.problems == nil {
			i.contents, i.replacesBroken = rest, true
		}
	}
	return i, i.contents.problems
}

// CommonNamespace returns the namespace that all namespaced objects of the package have, or an
// empty string.
func (i *Initialization) CommonNamespace() string { return commonNamespace(i.contents.objects) }

// Write writes the inventory. With Force it replaces that of a ResourceGroup file or of a Kptfile.
func (i *Initialization) Write(namespace string) error {
	if err := i.Check(); err != nil {
		return err
	}
	d, f := i.contents.descriptions, i.options
	inv, err := f.inventory(namespace)
	if err != nil {
		return err
	}
	replaces := i.replacesBroken || len(d.groups) > 0
	err = writeInventoryFile(inv, filepath.Join(i.dir, f.File), replaces)
	if err != nil || len(d.kptfiles) == 0 {
		return err
	}
	return stripKptfile(i.dir)
}

// Check returns an error if the package has an inventory that may not be replaced. Without Force a
// package keeps the inventory that it has: objects deployed under it would be lost.
func (i *Initialization) Check() error {
	d, f := i.contents.descriptions, i.options
	if len(d.maps) > 0 {
		return fmt.Errorf(
			"the package has an inventory already, a ConfigMap in %s; migrate moves it to a ResourceGroup",
			d.maps[0].Origin,
		)
	}
	if len(d.kptfiles) > 0 && !f.Force {
		return &InitializedError{
			Object: "Kptfile",
			Err: errors.New("the package has an inventory already, in its Kptfile; " +
				"migrate moves it to a ResourceGroup, and --force begins a new one, which makes deployed " +
				"objects unknown"),
		}
	}
	return checkGroups(i.dir, d, f)
}

// checkGroups returns an error for a ResourceGroup of a folder that a new one does not replace.
func checkGroups(dir string, d descriptions, f InitOptions) error {
	for _, obj := range d.groups {
		if !f.Force {
			return &InitializedError{
				Object: "ResourceGroup",
				Err: fmt.Errorf("the package has an inventory already, in %s; --force begins a new one: "+
					"right for a copy of another package, whose objects stay the other's; else the deployed "+
					"objects would become unknown, and rename is for another name",
					obj.Origin),
			}
		}
		if obj.Origin.Path != f.File {
			return fmt.Errorf(
				"the inventory that --force would replace is in %s, not in %s; remove it there "+
					"or name that file with --rg-file", obj.Origin, f.File,
			)
		}
		rest, err := otherObjects(dir, f.File, isGroup)
		if err != nil {
			return err
		}
		if len(rest) > 0 {
			return fmt.Errorf(
				"%s holds %s, which --force would lose; choose another name with --rg-file, or move it",
				f.File, object.RefOf(rest[0].Unstructured),
			)
		}
	}
	return nil
}

// NameTakenError reports that the record in the cluster with the name of a new inventory is that of
// another one.
type NameTakenError struct{ Ref object.Ref }

func (e *NameTakenError) Error() string {
	return fmt.Sprintf("the cluster has the record %s of another package, so that apply refuses this "+
		"one there", e.Ref)
}

// NameCheck returns a function that returns a NameTakenError if the cluster has a record with the
// name of the inventory and another ID.
func (i *Initialization) NameCheck(
	namespace string,
) func(context.Context, *cluster.Client) error {
	return func(ctx context.Context, c *cluster.Client) error {
		inv, err := i.options.inventory(namespace)
		if err == nil && inv.IsNameTaken(ctx, c) {
			err = &NameTakenError{inv.Ref}
		}
		return err
	}
}

// kindLine matches a line with the kind of an object.
var kindLine = regexp.MustCompile(`(?m)^[ "'{-]*kind["']?:[ "']*(\w*)`)

// onlyInventory reports whether a file, which may be invalid YAML, seems to hold a ResourceGroup
// and nothing else.
func (s *source) onlyInventory(file string) bool {
	text, err := boundedio.ReadFileIn(s.dir, filepath.ToSlash(file))
	kinds := kindLine.FindAllSubmatch(text, -1)
	return err == nil && len(kinds) == 1 && string(kinds[0][1]) == inventory.ResourceGroupKind.Kind
}

// otherObjects returns the objects of a manifest that omit does not match, including local
// configuration.
func otherObjects(dir, name string, omit manifest.Omit) ([]manifest.Object, error) {
	text, err := boundedio.ReadFileIn(dir, name)
	if err != nil {
		return nil, fmt.Errorf("read the inventory: %w", err)
	}
	// The file was read before, and is about to be replaced: nothing waits for this.
	return manifest.Parse(context.Background(), text, name,
		manifest.Options{Omit: omit, Foreign: manifest.KeepForeign})
}

// inventory returns the inventory for the options. A missing name or ID is generated.
func (f InitOptions) inventory(namespace string) (*inventory.Inventory, error) {
	name, id := f.Name, f.ID
	if name == "" {
		number, err := rand.Int(rand.Reader, big.NewInt(100_000_000))
		if err != nil {
			return nil, fmt.Errorf("choose a name: %w", err)
		}
		name = fmt.Sprintf("inventory-%08d", number)
	}
	if id == "" {
		sum := sha1.Sum([]byte(namespace + ":" + name))
		id = fmt.Sprintf("%s-%d", hex.EncodeToString(sum[:]), f.Now().UnixNano())
	}
	if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 {
		return nil, fmt.Errorf("--name %q: %s", name, problems[0])
	}
	if problems := validation.IsValidLabelValue(id); len(problems) > 0 {
		return nil, fmt.Errorf("--inventory-id %q: %s", id, problems[0])
	}
	annotations := map[string]string(nil)
	if f.ApplySet {
		annotations = map[string]string{inventory.ApplySetKey: "true"}
	}
	return &inventory.Inventory{
		Annotations: annotations,
		Ref: object.Ref{
			Group:     inventory.ResourceGroupKind.Group,
			Kind:      inventory.ResourceGroupKind.Kind,
			Namespace: namespace,
			Name:      name,
		},
		ID: id, Labels: map[string]string{inventory.IDKey: id}, Cluster: f.Cluster,
	}, nil
}

// commonNamespace returns the namespace of all namespaced objects, or an empty string. Kinds
// outside Kubernetes count as namespaced.
func commonNamespace(objects []manifest.Object) string {
	var clusterScoped []string
	if err := yaml.UnmarshalStrict(clusterScopedFile, &clusterScoped); err != nil {
		return ""
	}
	shared := ""
	for _, obj := range objects {
		if slices.Contains(clusterScoped, obj.GroupVersionKind().GroupKind().String()) {
			continue
		}
		namespace := obj.GetNamespace()
		if namespace == "" || shared != "" && shared != namespace {
			return ""
		}
		shared = namespace
	}
	return shared
}
