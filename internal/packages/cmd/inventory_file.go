package cmd

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"
)

// addFile gives a command the flag for the name of the ResourceGroup file.
func addFile(cmd *cobra.Command, file *string) {
	cmd.Flags().StringVar(file, "rg-file", "resourcegroup.yaml", "name of the file in the package")
}

// checkFile refuses what cannot be the name of a file in the package.
func checkFile(file string) error {
	if file != filepath.Base(file) || file == "." || file == ".." {
		return worded(fmt.Errorf("--rg-file must be a file name without a folder, not %q", file),
			asKubectl, "rg-file must be a valid filename")
	}
	return nil
}

// writeFile writes the ResourceGroup file of a package, all of it or nothing. A file that is there is replaced only if that is
// meant.
func (inv *inventory) writeFile(path string, replaces bool) error {
	mode := fs.FileMode(0o600)
	switch info, err := os.Stat(path); {
	case err == nil && !replaces:
		return fmt.Errorf("%s exists and is not an inventory; choose another name with --rg-file", path)
	case err == nil:
		mode = info.Mode().Perm()
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("write the inventory: %w", err)
	}
	if err := replaceFile(path, inv.file(), mode); err != nil {
		return fmt.Errorf("write the inventory: %w", err)
	}
	return nil
}

// file is the text of the ResourceGroup file. It is not marshalled: people read it and expect the order of other manifests.
func (inv *inventory) file() []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "apiVersion: %s\nkind: %s\nmetadata:\n  name: %s\n  namespace: %s\n",
		resourceGroupKind.GroupVersion(), resourceGroupKind.Kind, scalar(inv.ref.Name), scalar(inv.ref.Namespace))
	for _, part := range []struct {
		name   string
		values map[string]string
	}{{"labels", inv.labels}, {"annotations", inv.annotations}} {
		if len(part.values) > 0 {
			fmt.Fprintf(&b, "  %s:\n", part.name)
		}
		for _, key := range slices.Sorted(maps.Keys(part.values)) {
			fmt.Fprintf(&b, "    %s: %s\n", scalar(key), scalar(part.values[key]))
		}
	}
	return []byte(b.String())
}

// scalar writes a string on one line, quoted where YAML would read it as something else.
func scalar(value string) string {
	text, err := yaml.Marshal(value)
	if err != nil || strings.Count(string(text), "\n") > 1 {
		return fmt.Sprintf("%q", value)
	}
	return strings.TrimSuffix(string(text), "\n")
}
