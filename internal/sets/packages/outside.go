package packages

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/muster-deploy/muster/internal/manifest"
	"github.com/muster-deploy/muster/internal/manifest/kustomize"
)

// OutsideError reports a kustomization in a folder that names what lies outside of the folder.
type OutsideError struct {
	Reference kustomize.Reference
	Folder    string // as it was given
	Holder    string // a folder that holds the folder, and all that it names
	Inside    string // the path of the folder in the holder, with slashes
}

func (e *OutsideError) Error() string {
	return fmt.Sprintf("%s: %s names %q, which is not in the folder %q: an artifact of it cannot be "+
		"built", e.Reference.File, e.Reference.Field, e.Reference.Entry, filepath.ToSlash(e.Folder))
}

// IsKustomization reports whether a path is that of a kustomization.
func IsKustomization(name string) bool { return kustomize.IsFile(path.Base(name)) }

// Built returns which of the kustomizations with the given paths in a folder are built when the
// folder is deployed, or one in it: that at its top or, if there is none, all. Beside one at the
// top, others are files that nothing builds unless that names them. Kustomizations that are marked
// as local configuration are never built.
func Built(ctx context.Context, dir string, kustomizations []string) (built []string, err error) {
	s, err := openFolder(ctx, dir, Root{})
	if err != nil {
		return nil, err
	}
	for _, name := range kustomizations {
		if s.kustomization == "" && !s.isLocalFile(ctx, name) || name == s.kustomization {
			built = append(built, name)
		}
	}
	return built, nil
}

// CheckOutside returns an OutsideError if one of the kustomizations with the given paths in a
// folder names what lies outside of the folder.
func CheckOutside(ctx context.Context, dir string, kustomizations []string) error {
	var found []kustomize.Reference
	for _, name := range kustomizations {
		folder := filepath.Join(dir, filepath.FromSlash(path.Dir(name)))
		outside, err := kustomize.Outside(ctx, dir, folder)
		if err != nil {
			return err
		}
		found = append(found, outside...)
	}
	if len(found) == 0 {
		return nil
	}
	real, err := filepath.Abs(dir)
	if err == nil {
		real, err = filepath.EvalSymlinks(real)
	}
	if err != nil {
		return err
	}
	holder := holderOf(real, found)
	inside, err := filepath.Rel(holder, real)
	if err != nil {
		return err
	}
	if working, err := filepath.Abs("."); err == nil {
		if rel, err := filepath.Rel(working, holder); err == nil {
			holder = rel
		}
	}
	return &OutsideError{found[0], dir, holder, filepath.ToSlash(inside)}
}

// holderOf returns the deepest folder that holds a folder and what references name.
func holderOf(dir string, references []kustomize.Reference) string {
	for _, r := range references {
		for dir != filepath.Dir(dir) {
			if rel, err := filepath.Rel(dir, r.Path); err == nil && filepath.IsLocal(rel) {
				break
			}
			dir = filepath.Dir(dir)
		}
	}
	return dir
}

// overlayFolders are names of folders that hold overlays.
var overlayFolders = []string{
	"env", "environment", "environments", "envs", "overlay", "overlays",
}

// plainFolders are other names of folders that do not say what the files in them deploy.
var plainFolders = []string{
	"base", "bases", "deploy", "deployment", "deployments", "kustomization", "kustomize",
}

// stageFolders are names of folders that say where the files in them are deployed.
var stageFolders = []string{
	"dev", "development", "prod", "production", "qa", "stage", "staging", "test", "testing",
}

// SetName returns the words of the default name of the set in a folder: the name of the folder,
// and for an overlay, or a folder whose name does not say what it deploys, that of what it belongs
// to.
func SetName(ctx context.Context, dir string) string {
	full, err := filepath.Abs(dir)
	if err != nil {
		return ""
	}
	has := func(folder string, lists ...[]string) bool {
		return slices.Contains(slices.Concat(lists...), strings.ToLower(filepath.Base(folder)))
	}
	own, parent := filepath.Base(full), filepath.Dir(full)
	outside, _ := kustomize.Outside(ctx, dir, dir) // a folder that does not exist names nothing
	if !has(full, overlayFolders, plainFolders, stageFolders) && !has(parent, overlayFolders) &&
		len(outside) == 0 {
		return own
	}
	for has(parent, overlayFolders, plainFolders) {
		parent = filepath.Dir(parent)
	}
	if parent == filepath.Dir(parent) {
		return own
	}
	return filepath.Base(parent) + "-" + own
}

// inventoryName is the default name of the file with the inventory.
const inventoryName = "resourcegroup.yaml"

// checkListed warns of each file of a ResourceGroup that the kustomization names among its
// resources. It returns an error for one that does not exist yet. A ConfigMap may be listed: older
// tools read it from what a kustomization builds.
func (s *source) checkListed(ctx context.Context, inventories []manifest.Object) error {
	for _, entry := range kustomize.Resources(ctx, s.dir) {
		name := path.Clean(filepath.ToSlash(entry))
		err := fmt.Errorf("%s: resources names %q, the file of the inventory, which is no object of "+
			"the package: take it out of resources", s.kustomization, name)
		_, missing := os.Lstat(filepath.Join(s.dir, name))
		switch {
		case missing != nil && name == cmp.Or(s.inventoryFile, inventoryName):
			return err
		case s.warn != nil && slices.ContainsFunc(inventories, func(o manifest.Object) bool {
			return isGroup(o.Object) && o.Origin.Path == name
		}):
			s.warn(err.Error())
		}
	}
	return nil
}

// warnListed warns of a ResourceGroup that the kustomization builds from a file, unless checkListed
// does.
func (s *source) warnListed(built manifest.Object, inventories []manifest.Object) {
	isKnown := built.Origin.Path != built.Origin.Builder
	isTop := func(o manifest.Object) bool { return o.Origin.Path == built.Origin.Path }
	if s.warn != nil && isKnown && isGroup(built.Object) &&
		!slices.ContainsFunc(inventories, isTop) {
		s.warn(built.Origin.String() + ": the file of an inventory is no object of the package: " +
			"take it out of resources")
	}
}
