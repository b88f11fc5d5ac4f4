// Package packages holds the format of packages: folders of manifests, or streams of them, with an
// object that identifies their inventory.
//
// Each operation is a function of a cluster and options. The package has no flags, no standard
// streams, no environment and no clock.
package packages

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/muster-deploy/muster/internal/manifest"
	"github.com/muster-deploy/muster/internal/manifest/kustomize"
	"github.com/muster-deploy/muster/internal/sets/packages/inventory"
)

// Package is a package that was read from a folder or a stream.
type Package struct {
	Inventory *inventory.Inventory
	// Objects are those without inventories and local configuration. One with a generateName has no
	// name: see manifest.NameGenerated.
	Objects []manifest.Object
	warn    func(string)
}

// Root is a folder that the bases of a kustomization do not leave.
type Root = kustomize.Root

// Input names a package: a folder, or a stream if the folder is Stdin.
type Input struct {
	Folder string
	Stream io.Reader
	Notice func(string) // receives warnings; nil ignores them
	// AsKpt reads the package as kpt live does: objects that are meant for other tools are warnings
	// rather than errors, and the inventory may be in any subfolder.
	AsKpt bool
	// Root confines the bases of a kustomization. Empty is the git work tree of the folder, else the
	// working folder or the folder itself.
	Root Root
	// Inventory is that of the package, whatever the folder describes; nil for what it describes.
	Inventory *inventory.Inventory

	inventoryOnly bool // the objects do not matter
}

// foreign returns what becomes of objects that are meant for other tools.
func (in Input) foreign() manifest.Foreign {
	switch {
	case in.inventoryOnly:
		return manifest.KeepForeign
	case in.AsKpt:
		return manifest.WarnForeign
	default:
		return manifest.RefuseForeign
	}
}

// unnamed returns which objects need no name: kpt live refuses objects with a generateName.
func (in Input) unnamed() func(map[string]any) bool {
	if in.AsKpt {
		return isAppConfig
	}
	return isUnnamed
}

// warn prints a warning of one or more lines.
func (in Input) warn(text string) {
	for line := range strings.SplitSeq(text, "\n") {
		if in.Notice != nil {
			in.Notice("Warning: " + line)
		}
	}
}

// Open reads a whole package. Its error joins all problems. When the context ends, reading a stream
// does too.
func Open(ctx context.Context, in Input) (*Package, error) {
	c, err := readContents(ctx, in, (*source).contents)
	if err != nil {
		return nil, err
	}
	inv, err := in.Inventory, error(nil)
	if inv == nil {
		inv, err = c.inventory()
	} else if len(c.usedFormats()) > 0 {
		in.warn("the inventory in the artifact is ignored: it is that of another record")
	}
	if none := (*NoInventoryError)(nil); c.problems != nil && errors.As(err, &none) {
		err = nil // it may be in what is broken
	}
	if err := manifest.Limit(errors.Join(c.problems, err)); err != nil {
		return nil, err
	}
	return &Package{Inventory: inv, Objects: c.objects, warn: in.warn}, nil
}

// OpenInventory reads only the inventory of a package, so that broken manifests do not prevent its
// status from being shown or its objects from being deleted.
func OpenInventory(ctx context.Context, in Input) (*inventory.Inventory, error) {
	in.inventoryOnly = true
	c, err := readContents(ctx, in, (*source).inventories)
	if err != nil {
		return nil, err
	}
	inv, err := c.inventory()
	if err != nil && c.problems != nil {
		return nil, manifest.Limit(c.problems)
	}
	return inv, err
}

// readContents reads the stream, or the folder with the given function.
func readContents(
	ctx context.Context, in Input, read func(*source, context.Context) *contents,
) (*contents, error) {
	if in.Folder == Stdin {
		return readStream(ctx, in)
	}
	dir, err := resolve(in)
	if err != nil {
		return nil, err
	}
	s, err := openFolder(ctx, dir, in.Root)
	if err != nil {
		return nil, err
	}
	s.warn, s.foreign, s.asKpt, s.unnamed = in.warn, in.foreign(), in.AsKpt, in.unnamed()
	c := read(s, ctx)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	c.name = fmt.Sprintf("package %q", in.Folder)
	if !in.AsKpt {
		c.folder = in.Folder
		c.subpackages = func() []string { return s.subpackages(ctx) }
	}
	return c, nil
}

// resolve follows a folder that is a symbolic link, with a warning: links inside are not followed.
func resolve(in Input) (string, error) {
	info, err := os.Lstat(in.Folder)
	if err != nil || info.Mode().Type() != fs.ModeSymlink {
		return in.Folder, nil // whoever reads the folder says what is wrong with it
	}
	target, err := filepath.EvalSymlinks(in.Folder)
	if err != nil {
		return "", fmt.Errorf("the package %q is a symbolic link that leads nowhere: %w", in.Folder, err)
	}
	in.Notice(fmt.Sprintf(
		"[WARN] resolved symlink %q to %q, please note that the symlinks within the package are ignored",
		in.Folder, target,
	))
	return target, nil
}
