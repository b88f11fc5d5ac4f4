package packages

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/muster-deploy/muster/internal/packages/inventory"
)

// writeInventoryFile writes the ResourceGroup file of a package, all of it or nothing. A file that is there is replaced only if that is
// meant.
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
	if err := replaceFile(path, inv.Text(), mode); err != nil {
		return fmt.Errorf("write the inventory: %w", err)
	}
	return nil
}

// stripKptfile takes the inventory section out of the Kptfile of a package. All else stays as it is written.
func stripKptfile(dir string) error {
	path := filepath.Join(dir, inventory.KptfileName)
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("read the Kptfile: %w", err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read the Kptfile: %w", err)
	}
	stripped, err := inventory.StripInventory(data)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return replaceFile(path, stripped, info.Mode().Perm())
}
