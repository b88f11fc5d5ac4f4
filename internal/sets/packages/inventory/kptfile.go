package inventory

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/base/boundedio"
	"github.com/muster-deploy/muster/internal/base/yamlsize"
	"github.com/muster-deploy/muster/internal/object"
)

// KptfileName is the file that makes a folder a package of kpt.
const KptfileName = "Kptfile"

// KptfileKind is the kind of the object in the file.
var KptfileKind = schema.GroupVersionKind{Group: "kpt.dev", Version: "v1", Kind: "Kptfile"}

// Kptfile is a Kptfile. Sections of type any are not read.
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

// pipeline lists the functions that run on the files of a package.
type pipeline struct {
	Mutators   []function `yaml:"mutators"`
	Validators []function `yaml:"validators"`
}

// function is a function of a pipeline.
type function struct {
	ConfigPath string         `yaml:"configPath"`
	Rest       map[string]any `yaml:",inline"`
}

// KptfileInventory is the inventory section of an older package.
type KptfileInventory struct {
	Namespace   string            `yaml:"namespace"`
	Name        string            `yaml:"name"`
	InventoryID string            `yaml:"inventoryID"`
	Labels      map[string]string `yaml:"labels"`
	Annotations map[string]string `yaml:"annotations"`
}

// ReadKptfile reads the Kptfile of a folder. It returns an empty one if there is none.
func ReadKptfile(dir string) (*Kptfile, error) {
	text, exists, err := boundedio.ReadIn(dir, KptfileName)
	if err != nil {
		return &Kptfile{}, fmt.Errorf("read the Kptfile: %w", err)
	}
	if !exists {
		return &Kptfile{}, nil
	}
	return ParseKptfile(text, KptfileName)
}

// ParseKptfile parses the text of a Kptfile; where names it in errors. Unknown fields are errors.
func ParseKptfile(text []byte, where string) (*Kptfile, error) {
	if tooMany := (*yamlsize.TooManyError)(nil); errors.As(yamlsize.Check(text), &tooMany) {
		return &Kptfile{}, fmt.Errorf("%s: line %d: %w", where, tooMany.Line, tooMany)
	}
	var head struct {
		APIVersion string `yaml:"apiVersion"`
		Kind       string `yaml:"kind"`
	}
	if err := yaml.Unmarshal(text, &head); err != nil {
		return &Kptfile{}, fmt.Errorf("%s: %s", where, yamlError(err, text))
	}
	switch kind := schema.FromAPIVersionAndKind(head.APIVersion, head.Kind); {
	case kind == KptfileKind:
	case kind.GroupKind() == KptfileKind.GroupKind():
		return &Kptfile{}, fmt.Errorf(
			"%s: its version is %s, and only %s is read; rewrite it in that version", where,
			head.APIVersion, KptfileKind.GroupVersion(),
		)
	default:
		return &Kptfile{}, fmt.Errorf(
			"%s: it must begin with apiVersion: %s and kind: %s", where, KptfileKind.GroupVersion(),
			KptfileKind.Kind,
		)
	}
	file := &Kptfile{}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	if err := decoder.Decode(file); err != nil {
		return &Kptfile{}, fmt.Errorf("%s: %s", where, yamlError(err, text))
	}
	return file, nil
}

// unknownField matches the YAML library's message about an unknown field.
var unknownField = regexp.MustCompile(`field (\S+) not found in type \S+`)

// yamlError returns the message of the YAML library in one line. Line numbers are removed if the
// text has one line only: it was marshalled for parsing.
func yamlError(err error, of []byte) string {
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

// Configures reports whether a file, by its path in the package, is the configuration of a
// function.
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

// Inventory returns the inventory of the section, whose record is a ResourceGroup. where names the
// file in errors.
func (k *KptfileInventory) Inventory(where string) (*Inventory, error) {
	inv := &Inventory{
		Ref: object.Ref{
			Group:     ResourceGroupKind.Group,
			Kind:      ResourceGroupKind.Kind,
			Namespace: k.Namespace,
			Name:      k.Name,
		},
		ID:           k.InventoryID,
		Labels:       merged(k.Labels, map[string]string{IDKey: k.InventoryID}),
		Annotations:  k.Annotations,
		Source:       where,
		LegacyFormat: "the Kptfile",
	}
	return inv.complete("inventory.inventoryID", "inventory.namespace", "inventory.name")
}
