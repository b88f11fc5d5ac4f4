package kpt

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/muster-deploy/muster/internal/manifest"
	"github.com/muster-deploy/muster/internal/object"
)

// kptfileName is the file at the top of a package that describes it.
const kptfileName = "Kptfile"

// kptfileInventory reads the inventory section of a Kptfile, in which tools kept what the ResourceGroup file says now. The
// record in the cluster is the same ResourceGroup. There is none if the section is missing or empty.
func kptfileInventory(file manifest.Object) (*inventory, error) {
	value, ok := file.Object["inventory"]
	section, isMap := value.(map[string]any)
	if ok && value != nil && !isMap {
		return nil, fmt.Errorf("%s: inventory must be a map", file.Origin)
	}
	if len(section) == 0 {
		return nil, nil
	}
	name, namespace, id := text(section, "name"), text(section, "namespace"), text(section, "inventoryID")
	labels, _, badLabels := unstructured.NestedStringMap(section, "labels")
	annotations, _, badAnnotations := unstructured.NestedStringMap(section, "annotations")
	if err := errors.Join(badLabels, badAnnotations); err != nil {
		return nil, fmt.Errorf("%s: inventory: %w", file.Origin, err)
	}
	inv := &inventory{
		ref:         object.Ref{Group: resourceGroupKind.Group, Kind: resourceGroupKind.Kind, Namespace: namespace, Name: name},
		id:          id,
		labels:      united(labels, map[string]string{inventoryIDKey: id}),
		annotations: annotations,
		origin:      file.Origin.String(),
		outdated:    "the Kptfile",
	}
	return inv.complete("inventory.inventoryID", "inventory.namespace", "inventory.name")
}

// readKptfile gives the inventory in the Kptfile of a package, or nil.
func readKptfile(dir string) (*inventory, error) {
	data, err := os.ReadFile(filepath.Join(dir, kptfileName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the Kptfile: %w", err)
	}
	if !bytes.Contains(data, []byte("inventory")) {
		return nil, nil // what else may be wrong with it is of no interest here
	}
	files, err := manifest.Read(bytes.NewReader(data), kptfileName)
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		if inv, err := kptfileInventory(file); inv != nil || err != nil {
			return inv, err
		}
	}
	return nil, nil
}

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
