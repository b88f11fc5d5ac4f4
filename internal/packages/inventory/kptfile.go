package inventory

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/object"
)

// KptfileName is the file that makes a folder a package for tools that work on files.
const KptfileName = "Kptfile"

// KptfileKind is what the file holds.
var KptfileKind = schema.GroupVersionKind{Group: "kpt.dev", Version: "v1", Kind: "Kptfile"}

// Kptfile is what matters here of the Kptfile of a package. The other sections may hold anything.
type Kptfile struct {
	APIVersion   string            `yaml:"apiVersion"`
	Kind         string            `yaml:"kind"`
	Metadata     any               `yaml:"metadata"`
	Upstream     any               `yaml:"upstream"`
	UpstreamLock any               `yaml:"upstreamLock"`
	Info         any               `yaml:"info"`
	Status       any               `yaml:"status"`
	Pipeline     pipeline          `yaml:"pipeline"`
	Inventory    *KptfileInventory `yaml:"inventory"`
}

// pipeline lists the functions that are run on the files of a package.
type pipeline struct {
	Mutators   []function `yaml:"mutators"`
	Validators []function `yaml:"validators"`
}

// function is one of them; the fields besides that of its configuration may be any.
type function struct {
	ConfigPath string         `yaml:"configPath"`
	Rest       map[string]any `yaml:",inline"`
}

// KptfileInventory is the inventory as older packages have it.
type KptfileInventory struct {
	Namespace   string            `yaml:"namespace"`
	Name        string            `yaml:"name"`
	InventoryID string            `yaml:"inventoryID"`
	Labels      map[string]string `yaml:"labels"`
	Annotations map[string]string `yaml:"annotations"`
}

// ReadKptfile reads the Kptfile of a package; a package without one gives an empty one.
func ReadKptfile(dir string) (*Kptfile, error) {
	text, err := os.ReadFile(filepath.Join(dir, KptfileName))
	if errors.Is(err, fs.ErrNotExist) {
		return &Kptfile{}, nil
	}
	if err != nil {
		return &Kptfile{}, fmt.Errorf("read the Kptfile: %w", err)
	}
	return ParseKptfile(text, KptfileName)
}

// ParseKptfile reads the text of a Kptfile; where names it in errors. Fields that the format does not have are errors.
func ParseKptfile(text []byte, where string) (*Kptfile, error) {
	var head struct {
		APIVersion string `yaml:"apiVersion"`
		Kind       string `yaml:"kind"`
	}
	if err := yaml.Unmarshal(text, &head); err != nil {
		return &Kptfile{}, fmt.Errorf("%s: %s", where, decoding(err, text))
	}
	switch kind := schema.FromAPIVersionAndKind(head.APIVersion, head.Kind); {
	case kind == KptfileKind:
	case kind.GroupKind() == KptfileKind.GroupKind():
		return &Kptfile{}, fmt.Errorf("%s: its version is %s, and only %s is read; rewrite it in that version", where, head.APIVersion, KptfileKind.GroupVersion())
	default:
		return &Kptfile{}, fmt.Errorf("%s: it must begin with apiVersion: %s and kind: %s", where, KptfileKind.GroupVersion(), KptfileKind.Kind)
	}
	file := &Kptfile{}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	if err := decoder.Decode(file); err != nil {
		return &Kptfile{}, fmt.Errorf("%s: %s", where, decoding(err, text))
	}
	return file, nil
}

// unknownField is how the YAML library words a field that the format does not have.
var unknownField = regexp.MustCompile(`field (\S+) not found in type \S+`)

// decoding gives what the YAML library says of a text, in one line. The lines of a text that was written for it as a whole
// are nobody's.
func decoding(err error, of []byte) string {
	text := strings.TrimPrefix(strings.TrimPrefix(err.Error(), "yaml: "), "unmarshal errors:\n")
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		line = strings.TrimSpace(line)
		if !bytes.Contains(of, []byte("\n")) {
			line = strings.TrimPrefix(line, "line 1: ")
		}
		lines[i] = unknownField.ReplaceAllString(line, `unknown field "$1"`)
	}
	return strings.Join(lines, "; ")
}

// Configures reports whether a file, by its path below the package, is the configuration of a function.
func (k *Kptfile) Configures(rel string) bool {
	for _, functions := range [][]function{k.Pipeline.Mutators, k.Pipeline.Validators} {
		for _, f := range functions {
			if f.ConfigPath != "" && path.Clean(filepath.ToSlash(f.ConfigPath)) == rel {
				return true
			}
		}
	}
	return false
}

// Inventory gives the inventory of the file; the record in the cluster is a ResourceGroup as any other. where names the file
// in errors.
func (k *KptfileInventory) Inventory(where string) (*Inventory, error) {
	inv := &Inventory{
		Ref:         object.Ref{Group: ResourceGroupKind.Group, Kind: ResourceGroupKind.Kind, Namespace: k.Namespace, Name: k.Name},
		ID:          k.InventoryID,
		Labels:      united(k.Labels, map[string]string{IDKey: k.InventoryID}),
		Annotations: k.Annotations,
		Origin:      where,
		Outdated:    "the Kptfile",
	}
	return inv.complete("inventory.inventoryID", "inventory.namespace", "inventory.name")
}
