package packages

import (
	"bytes"
	"context"
	"fmt"
	"path"
	"regexp"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/foreign"
	"github.com/muster-deploy/muster/internal/manifest"
	"github.com/muster-deploy/muster/internal/manifest/kustomize"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/sets/packages/inventory"
)

// Ignored returns what a folder's .krmignore leaves out, of paths with slashes.
func Ignored(dir string) (func(rel string, isFolder bool) bool, error) {
	rules, err := readIgnore(dir)
	return rules.has, err
}

// SharedFile is a file of a package as other clusters may have it.
type SharedFile struct {
	Text []byte
	// Inventory reports whether the file held nothing but the inventory of the package, so that it is
	// left out. It names the record of one cluster.
	Inventory bool
	Stripped  bool     // the inventory section of a Kptfile was removed
	Secrets   []string // what in the file is private: Secrets with data, generators of Secrets
	Foreign   []string // what muster does not deploy: see package foreign
}

// secretKind matches the kind of a Secret in a text.
var secretKind = regexp.MustCompile(`(?m)\bkind["']?\s*:\s*["']?Secret\b`)

// Share returns a file of a package as other clusters may have it. Its path has slashes. Files that
// are no manifests, or broken ones, are returned as they were; of one that cannot be read and has a
// Secret, it is not known whether that has data, so that it counts as private.
func Share(ctx context.Context, name string, text []byte) (SharedFile, error) {
	file := SharedFile{Text: text}
	if path.Base(name) == inventory.KptfileName {
		return shareKptfile(name, text)
	}
	if !slices.Contains([]string{".yaml", ".yml", ".json"}, path.Ext(name)) &&
		!kustomize.IsFile(path.Base(name)) {
		return file, nil
	}
	inventories, others := 0, 0
	look := func(obj map[string]any) bool {
		u := &unstructured.Unstructured{Object: obj}
		for _, f := range foreign.Find(obj) {
			file.Foreign = append(file.Foreign, f.Text)
		}
		switch {
		case isInventoryObject(obj):
			inventories++
			return true
		case manifest.IsList(obj):
			return false // its items follow
		case object.IsSecret(u) && hasData(obj):
			file.Secrets = append(file.Secrets, object.RefOf(u).String())
		case obj["secretGenerator"] != nil:
			file.Secrets = append(file.Secrets, "a secretGenerator")
		}
		others++
		return true
	}
	// Parse may modify the text. Its errors are for those who apply the file.
	_, err := manifest.Parse(ctx, bytes.Clone(text), name, manifest.Options{
		Omit: look, Foreign: manifest.KeepForeign,
	})
	if err != nil && len(file.Secrets) == 0 && secretKind.Match(text) {
		file.Secrets = append(file.Secrets, "a Secret that cannot be read")
	}
	if inventories > 0 && others > 0 {
		return file, fmt.Errorf("%s holds the inventory of the package, which names the record of one "+
			"cluster, and other objects; move it to a file of its own", name)
	}
	file.Inventory = inventories > 0
	return file, nil
}

// hasData reports whether a Secret holds private values in plain text or base64. Values that SOPS
// has encrypted do not count, and empty ones, which it does not encrypt.
func hasData(obj map[string]any) bool {
	for _, field := range []string{"data", "stringData"} {
		values, _ := obj[field].(map[string]any)
		for _, value := range values {
			if value != "" && !foreign.IsEncrypted(value) {
				return true
			}
		}
	}
	return false
}

// shareKptfile removes the inventory section of a Kptfile.
func shareKptfile(name string, text []byte) (SharedFile, error) {
	file := SharedFile{Text: text}
	parsed, err := inventory.ParseKptfile(text, name)
	if err != nil || parsed.Inventory == nil {
		return file, nil // errors are for those who apply the package
	}
	stripped, err := inventory.StripInventory(text)
	if err != nil {
		return file, fmt.Errorf("%s: %w", name, err)
	}
	file.Text, file.Stripped = stripped, true
	return file, nil
}
