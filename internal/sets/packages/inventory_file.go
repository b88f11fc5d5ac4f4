package packages

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/muster-deploy/muster/internal/base/atomicfile"
	"github.com/muster-deploy/muster/internal/base/boundedio"
	"github.com/muster-deploy/muster/internal/sets/packages/inventory"
)

// writeInventoryFile writes the ResourceGroup file of a package. It overwrites a file only if
// replaces is true.
func writeInventoryFile(inv *inventory.Inventory, path string, replaces bool) error {
	mode := fs.FileMode(0o600)
	switch info, err := os.Stat(path); {
	case err == nil && !replaces:
		return fmt.Errorf("%s exists and is not an inventory; choose another name with --rg-file", path)
	case err == nil:
		mode = info.Mode().Perm()
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("write the inventory: %w", err)
	}
	if err := atomicfile.Write(path, inv.Text(), mode); err != nil {
		return fmt.Errorf("write the inventory: %w", err)
	}
	return nil
}

// stripKptfile removes the inventory section of a package's Kptfile and nothing else.
func stripKptfile(dir string) error {
	path := filepath.Join(dir, inventory.KptfileName)
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("read the Kptfile: %w", err)
	}
	data, err := boundedio.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read the Kptfile: %w", err)
	}
	stripped, err := inventory.StripInventory(data)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return atomicfile.Write(path, stripped, info.Mode().Perm())
}
