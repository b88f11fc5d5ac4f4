package cmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/manifest"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
)

// pkg is a package as it lies in a folder, or came through the standard input.
type pkg struct {
	inventory *inventory
	objects   []manifest.Object // without inventories and local configuration
}

// open reads a package whole: the folder of the argument, or the standard input. Everything has to be in order; all that
// is not is said at once.
func open(env *cli.Env, arg string) (*pkg, error) {
	c, err := gather(env, arg, (*source).contents)
	if err != nil {
		return nil, err
	}
	inv, err := c.inventory()
	if none := (*noInventoryError)(nil); c.broken != nil && errors.As(err, &none) {
		err = nil // it may be in what is broken
	}
	if err := errors.Join(c.broken, err); err != nil {
		return nil, err
	}
	return &pkg{inventory: inv, objects: c.objects}, nil
}

// openInventory reads no more of a package than says where its record is: broken manifests do not keep anybody from asking
// for the status or from destroying.
func openInventory(env *cli.Env, arg string) (*inventory, error) {
	c, err := gather(env, arg, (*source).inventories)
	if err != nil {
		return nil, err
	}
	inv, err := c.inventory()
	if err != nil && c.broken != nil {
		return nil, c.broken
	}
	return inv, err
}

// gather reads what an argument names: the standard input, or a folder in the given way.
func gather(env *cli.Env, arg string, read func(*source) *contents) (*contents, error) {
	if arg == stdin {
		return readStream(env.In), nil
	}
	dir, err := resolve(env, arg)
	if err != nil {
		return nil, err
	}
	s, err := openFolder(dir)
	if err != nil {
		return nil, err
	}
	c := read(s)
	c.name = fmt.Sprintf("package %q", arg)
	return c, nil
}

// resolve follows a folder that is given as a symbolic link, and says so: links inside are not followed.
func resolve(env *cli.Env, dir string) (string, error) {
	info, err := os.Lstat(dir)
	if err != nil || info.Mode().Type() != fs.ModeSymlink {
		return dir, nil // whoever reads the folder says what is wrong with it
	}
	target, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", fmt.Errorf("the package %q is a symbolic link that leads nowhere: %w", dir, err)
	}
	_, err = fmt.Fprintf(env.Err, "[WARN] resolved symlink %q to %q, please note that the symlinks within the package are ignored\n", dir, target)
	return target, err
}

// scoping is how objects without a namespace get one.
type scoping struct {
	namespace string // of the flag or the context
	enforced  bool   // given by flag: no object may be elsewhere
}

// desired completes the objects of a package for the cluster: every object's kind is known there or defined in the package,
// and it has a namespace exactly if its kind has. The errors of all objects are joined.
func (p *pkg) desired(ctx context.Context, c *cluster.Client, s scoping) ([]plan.Desired, error) {
	var set object.Set
	var errs []error
	var unknown unknownKindsError
	for _, obj := range p.objects {
		if obj.GetKind() == "CustomResourceDefinition" {
			if err := c.LearnKind(ctx, obj.Unstructured); err != nil {
				return nil, err
			}
		}
	}
	desired := make([]plan.Desired, 0, len(p.objects))
	for _, obj := range p.objects {
		kind, err := c.Kind(ctx, obj.GroupVersionKind().GroupKind())
		if missing := (*cluster.UnknownKindError)(nil); errors.As(err, &missing) && missing.Cause == nil {
			unknown.add(obj)
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
	if len(unknown.kinds) > 0 {
		errs = append(errs, &unknown)
	}
	return desired, errors.Join(errs...)
}

// place checks an object's version and gives it its namespace.
func (s scoping) place(obj manifest.Object, kind cluster.Kind) error {
	if version := obj.GroupVersionKind().Version; !slices.Contains(kind.Versions(), version) {
		return fmt.Errorf("the cluster does not serve version %s of this kind; it serves %s", version, strings.Join(kind.Versions(), ", "))
	}
	namespace := obj.GetNamespace()
	switch {
	case !kind.Namespaced && namespace != "":
		return worded(fmt.Errorf("the kind is cluster-scoped, but the object has the namespace %q; remove it", namespace),
			asKubectl, "resource is cluster-scoped but has a non-empty namespace %q", namespace)
	case !kind.Namespaced:
		return nil
	case namespace == "":
		obj.SetNamespace(s.namespace)
	case s.enforced && namespace != s.namespace:
		return worded(fmt.Errorf("it is in namespace %q, but --namespace wants all objects in %q", namespace, s.namespace),
			asKubectl, "found namespace %q, but all resources must be in namespace %q", namespace, s.namespace)
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

// unknownKindsError says which kinds neither the cluster nor the package knows.
type unknownKindsError struct {
	kinds []unknownKind // in the order in which they were met, each once
}

// unknownKind is a kind, and the first place that uses it.
type unknownKind struct {
	gvk    schema.GroupVersionKind
	origin manifest.Origin
}

func (e *unknownKindsError) Error() string {
	lines := []string{"the cluster does not know these kinds, and the package does not define them:"}
	for _, kind := range e.kinds {
		lines = append(lines, fmt.Sprintf("- %s, Kind=%s (%s)", kind.gvk.GroupVersion(), kind.gvk.Kind, kind.origin))
	}
	return strings.Join(lines, "\n")
}

// add notes the kind of an object.
func (e *unknownKindsError) add(obj manifest.Object) {
	kind := unknownKind{obj.GroupVersionKind(), obj.Origin}
	if !slices.ContainsFunc(e.kinds, func(known unknownKind) bool { return known.gvk == kind.gvk }) {
		e.kinds = append(e.kinds, kind)
	}
}
