package cmd

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"

	"sigs.k8s.io/yaml"
)

// stripKptfile takes the inventory section out of the Kptfile of a package. All else stays as it is written.
func stripKptfile(dir string) error {
	path := filepath.Join(dir, kptfileName)
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("read the Kptfile: %w", err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read the Kptfile: %w", err)
	}
	stripped, err := withoutInventory(data)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return replaceFile(path, stripped, info.Mode().Perm())
}

// withoutInventory leaves out the lines of the section: from its key to the next line that is not indented. It makes sure
// that nothing else got lost.
func withoutInventory(data []byte) ([]byte, error) {
	var kept []byte
	inside := false
	for line := range bytes.Lines(data) {
		if outer := len(bytes.TrimSpace(line)) > 0 && line[0] != ' '; outer {
			inside = bytes.HasPrefix(line, []byte("inventory:"))
		}
		if !inside {
			kept = append(kept, line...)
		}
	}
	var before, after map[string]any
	if err := yaml.Unmarshal(data, &before); err != nil {
		return nil, err
	}
	delete(before, "inventory")
	if err := yaml.Unmarshal(kept, &after); err != nil || !reflect.DeepEqual(before, after) {
		return nil, errors.New("cannot tell which lines the section inventory has; remove it by hand")
	}
	return kept, nil
}
