// Package packages deploys packages: folders of manifests, or streams of them, with an object that identifies their
// inventory.
//
// It reads packages and turns them into requests to the engine: annotations into policy, inventories into records. Each
// operation is a function of a cluster and options. It has no flags, no standard streams, no environment and no clock.
package packages

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/muster-deploy/muster/internal/manifest"
	"github.com/muster-deploy/muster/internal/packages/inventory"
)

// Package is a package as it lies in a folder, or came through the standard input.
type Package struct {
	Inventory *inventory.Inventory
	Objects   []manifest.Object // without inventories and local configuration
}

// Input names a package: a folder, or a stream if the folder is Stdin.
type Input struct {
	Folder string
	Stream io.Reader
	Notice func(string) // receives warnings
}

// Open reads a package whole. All problems that it finds are joined in its error.
func Open(in Input) (*Package, error) {
	c, err := gather(in, (*source).contents)
	if err != nil {
		return nil, err
	}
	inv, err := c.inventory()
	if none := (*NoInventoryError)(nil); c.broken != nil && errors.As(err, &none) {
		err = nil // it may be in what is broken
	}
	if err := errors.Join(c.broken, err); err != nil {
		return nil, err
	}
	return &Package{Inventory: inv, Objects: c.objects}, nil
}

// OpenInventory reads no more of a package than says where its record is: broken manifests do not keep anybody from asking
// for the status or from destroying.
func OpenInventory(in Input) (*inventory.Inventory, error) {
	c, err := gather(in, (*source).inventories)
	if err != nil {
		return nil, err
	}
	inv, err := c.inventory()
	if err != nil && c.broken != nil {
		return nil, c.broken
	}
	return inv, err
}

// gather reads the stream, or the folder with the given function.
func gather(in Input, read func(*source) *contents) (*contents, error) {
	if in.Folder == Stdin {
		return readStream(in.Stream), nil
	}
	dir, err := resolve(in)
	if err != nil {
		return nil, err
	}
	s, err := openFolder(dir)
	if err != nil {
		return nil, err
	}
	c := read(s)
	c.name = fmt.Sprintf("package %q", in.Folder)
	return c, nil
}

// resolve follows a folder that is given as a symbolic link, with a warning: links inside are not followed.
func resolve(in Input) (string, error) {
	info, err := os.Lstat(in.Folder)
	if err != nil || info.Mode().Type() != fs.ModeSymlink {
		return in.Folder, nil // whoever reads the folder says what is wrong with it
	}
	target, err := filepath.EvalSymlinks(in.Folder)
	if err != nil {
		return "", fmt.Errorf("the package %q is a symbolic link that leads nowhere: %w", in.Folder, err)
	}
	in.Notice(fmt.Sprintf("[WARN] resolved symlink %q to %q, please note that the symlinks within the package are ignored", in.Folder, target))
	return target, nil
}
