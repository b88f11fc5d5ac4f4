package kpt

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/manifest"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
)

// pkg is a package as it lies in a folder.
type pkg struct {
	inventory *inventory
	objects   []manifest.Object // without inventories and local configuration
}

// open reads a package whole. Every manifest must be in order.
func open(dir string) (*pkg, error) {
	objects, err := load(dir)
	if err != nil {
		return nil, err
	}
	inv, err := findInventory(dir, objects)
	if err != nil {
		return nil, err
	}
	p := &pkg{inventory: inv}
	for _, obj := range objects {
		inventory := obj.GroupVersionKind().GroupKind() == resourceGroupKind.GroupKind() || isMapInventory(obj) && !inSubpackage(dir, obj.Origin.Path)
		if !inventory && !isLocal(obj.Unstructured) {
			p.objects = append(p.objects, obj)
		}
	}
	return p, nil
}

// openInventory reads no more of a package than says where its record is: broken manifests do not keep anybody from asking
// for the status or from destroying.
func openInventory(dir string) (*inventory, error) {
	objects, broken := load(dir)
	inv, err := findInventory(dir, objects)
	if err != nil && broken != nil {
		return nil, broken
	}
	return inv, err
}

// findInventory picks the package's own inventory: a subpackage, that is a folder with a Kptfile, may have another.
func findInventory(dir string, objects []manifest.Object) (*inventory, error) {
	d, err := describedBy(dir, objects)
	if err != nil {
		return nil, err
	}
	inv, err := d.only(dir)
	if err == nil && inv == nil {
		err = fmt.Errorf("package %q has no inventory (no ResourceGroup object); run init on it first", dir)
	}
	return inv, err
}

func inSubpackage(dir, file string) bool {
	for sub := filepath.Dir(filepath.FromSlash(file)); sub != "."; sub = filepath.Dir(sub) {
		if _, err := os.Stat(filepath.Join(dir, sub, "Kptfile")); err == nil {
			return true
		}
	}
	return false
}

// scoping is how objects without a namespace get one.
type scoping struct {
	namespace string // of the flag or the context
	enforced  bool   // given by flag: no object may be elsewhere
}

// desired completes the objects of a package for the cluster: every object's kind is known there or defined in the package,
// and it has a namespace exactly if its kind has. The errors of all objects are joined.
func (p *pkg) desired(ctx context.Context, c *cluster.Client, s scoping) ([]plan.Desired, error) {
	for _, obj := range p.objects {
		if obj.GetKind() == "CustomResourceDefinition" {
			if err := c.Learn(ctx, obj.Unstructured); err != nil {
				return nil, err
			}
		}
	}
	var set object.Set
	var errs []error
	var unknown []manifest.Object
	desired := make([]plan.Desired, 0, len(p.objects))
	for _, obj := range p.objects {
		kind, err := c.Kind(ctx, obj.GroupVersionKind().GroupKind())
		if missing := (*cluster.UnknownKindError)(nil); errors.As(err, &missing) && missing.Cause == nil {
			unknown = append(unknown, obj)
			continue
		}
		if err == nil {
			err = errors.Join(s.place(obj, kind), isInventory(obj))
		}
		if unreachable := (*cluster.UnreachableError)(nil); errors.As(err, &unreachable) {
			return nil, err
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %s: %w", obj.Origin, object.RefOf(obj.Unstructured), err))
			continue
		}
		if err := set.Add(object.RefOf(obj.Unstructured), obj.Origin.String()); err != nil {
			errs = append(errs, err)
			continue
		}
		desired = append(desired, plan.Desired{Object: obj.Unstructured, Source: obj.Origin.String()})
	}
	if len(unknown) > 0 {
		errs = append(errs, unknownKinds(unknown))
	}
	return desired, errors.Join(errs...)
}

// place checks an object's version and gives it its namespace.
func (s scoping) place(obj manifest.Object, kind cluster.Kind) error {
	if version := obj.GroupVersionKind().Version; !slices.Contains(kind.Versions, version) {
		return fmt.Errorf("the cluster does not serve version %s of this kind; it serves %s", version, strings.Join(kind.Versions, ", "))
	}
	namespace := obj.GetNamespace()
	switch {
	case !kind.Namespaced && namespace != "":
		return fmt.Errorf("the kind is cluster-scoped, but the object has the namespace %q; remove it", namespace)
	case !kind.Namespaced:
		return nil
	case namespace == "":
		obj.SetNamespace(s.namespace)
	case s.enforced && namespace != s.namespace:
		return fmt.Errorf("it is in namespace %q, but --namespace wants all objects in %q", namespace, s.namespace)
	}
	return nil
}

// isInventory refuses an object that is marked as an inventory but can be none, as the inventory of a subpackage.
func isInventory(obj manifest.Object) error {
	for _, key := range inventoryIDKeys {
		if _, ok := obj.GetLabels()[key]; ok {
			return fmt.Errorf("the label %s marks an inventory, and this is not that of the package; take the label off", key)
		}
	}
	return nil
}

// unknownKinds lists kinds that nobody knows, each with the first file that uses it.
func unknownKinds(objects []manifest.Object) error {
	lines := []string{"the cluster does not know these kinds, and the package does not define them:"}
	seen := map[schema.GroupVersionKind]bool{}
	for _, obj := range objects {
		if gvk := obj.GroupVersionKind(); !seen[gvk] {
			seen[gvk] = true
			lines = append(lines, fmt.Sprintf("- %s, Kind=%s (%s)", gvk.GroupVersion(), gvk.Kind, obj.Origin))
		}
	}
	return errors.New(strings.Join(lines, "\n"))
}
