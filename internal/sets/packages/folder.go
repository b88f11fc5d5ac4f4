package packages

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/base/boundedio"
	"github.com/muster-deploy/muster/internal/base/yamlsize"
	"github.com/muster-deploy/muster/internal/manifest"
	"github.com/muster-deploy/muster/internal/manifest/kustomize"
	"github.com/muster-deploy/muster/internal/sets/packages/inventory"
	"github.com/muster-deploy/muster/internal/sets/policy"
	"github.com/muster-deploy/muster/internal/sets/policy/config"
)

// contents are the objects of a folder or a stream before its inventory is chosen.
type contents struct {
	descriptions
	objects  []manifest.Object // what is applied
	problems error             // what is wrong with the rest
}

// addError adds a problem.
func (c *contents) addError(err error) { c.problems = errors.Join(c.problems, err) }

// source is the folder of a package, with the files that say how to read it.
type source struct {
	dir           string
	root          Root // of the kustomization
	ignore        ignoreRules
	kptfile       *inventory.Kptfile
	budget        *yamlsize.Budget // of what is read once; nil: a new one each time
	kustomization string           // file name; empty if all manifests of the folder are the package
	excluded      string           // a file at the top that is not read; empty: none
	inventoryFile string           // that may not exist yet; empty: inventoryName
	problems      error            // what is wrong with the files that say how
	warn          func(string)
	foreign       manifest.Foreign
	asKpt         bool                          // keeps metadata that only the server writes
	unnamed       func(obj map[string]any) bool // objects that need no name
}

// openFolder returns the source of a folder. It returns an error only if the folder does not exist.
func openFolder(ctx context.Context, dir string, root Root) (*source, error) {
	if err := manifest.CheckFolder(dir); err != nil {
		if _, missing := os.Lstat(dir); errors.Is(missing, fs.ErrNotExist) {
			err = &NoFolderError{Folder: dir, Err: err}
		}
		return nil, err
	}
	s := &source{dir: dir, root: root, unnamed: isUnnamed}
	var badIgnore, badKptfile error
	s.ignore, badIgnore = readIgnore(dir)
	s.kptfile, badKptfile = inventory.ReadKptfile(dir)
	s.problems = errors.Join(badIgnore, badKptfile)
	if name := kustomize.File(dir); name != "" && !s.ignore.has(name, false) &&
		!s.isLocalFile(ctx, name) {
		s.kustomization = name
	}
	return s, nil
}

// manifests returns all objects to apply and all that describe an inventory. With an error it
// returns the objects of the valid files.
func (s *source) manifests(ctx context.Context) ([]manifest.Object, error) {
	if s.kustomization == "" {
		return s.load(ctx)
	}
	objects, badTop := s.topInventories(ctx)
	if err := s.checkListed(ctx, objects); err != nil {
		return objects, errors.Join(badTop, err)
	}
	built, err := kustomize.Build(ctx, s.dir, s.root, s.options(skipLocal))
	inventories := objects
	for _, obj := range built {
		if !isInventoryObject(obj.Object) {
			objects = append(objects, obj)
			continue
		}
		s.warnListed(obj, inventories)
	}
	return objects, errors.Join(badTop, err)
}

// load reads the manifests of the folder.
func (s *source) load(ctx context.Context) ([]manifest.Object, error) {
	var errs []error
	objects, err := manifest.LoadDir(ctx, s.dir, func(rel string, d fs.DirEntry) bool {
		switch {
		case rel == policy.RulesName, rel == s.excluded, s.ignore.has(rel, d.IsDir()),
			!d.IsDir() && s.kptfile.Configures(rel):
			return true
		case d.IsDir() || !kustomize.IsFile(d.Name()):
			return false
		}
		if path.Dir(rel) != "." && !s.isLocalFile(ctx, rel) {
			errs = append(errs, fmt.Errorf(
				"%s: only a kustomization at the top of the package is built; give %q as the "+
					"package, or leave the folder out with %s", rel,
				path.Join(filepath.ToSlash(s.dir), path.Dir(rel)), ignoreName,
			))
		}
		return true
	}, s.options(skipLocal))
	return objects, errors.Join(append(errs, err)...)
}

// options returns the options of reading manifests.
func (s *source) options(omit manifest.Omit) manifest.Options {
	return manifest.Options{Omit: omit, Unnamed: s.unnamed, Warn: s.warn, Foreign: s.foreign,
		Budget: s.budget, KeepServerMetadata: s.asKpt}
}

// topInventories returns the objects that describe an inventory at the top of a folder with a
// kustomization. Other files there may not hold objects.
func (s *source) topInventories(ctx context.Context) ([]manifest.Object, error) {
	return manifest.LoadDir(ctx, s.dir, func(rel string, d fs.DirEntry) bool {
		return d.IsDir() || rel == policy.RulesName || rel == s.excluded || rel == s.kustomization ||
			s.ignore.has(rel, false) ||
			!s.mayHoldInventory(rel)
	}, s.options(func(obj map[string]any) bool { return !isInventoryObject(obj) }))
}

// mayHoldInventory reports whether a file may describe an inventory. It returns true for a file
// that cannot be read: the next reader reports the error.
func (s *source) mayHoldInventory(rel string) bool {
	text, err := boundedio.ReadFileIn(s.dir, rel)
	return err != nil ||
		slices.ContainsFunc(
			append(inventory.IDKeys[:len(inventory.IDKeys):len(inventory.IDKeys)],
				inventory.ResourceGroupKind.Kind),
			func(word string) bool { return bytes.Contains(text, []byte(word)) },
		)
}

// contents reads the whole folder.
func (s *source) contents(ctx context.Context) *contents {
	objects, err := s.manifests(ctx)
	return s.classify(objects, err)
}

// inventories reads only what may describe the inventory, without warnings.
func (s *source) inventories(ctx context.Context) *contents {
	s.warn = nil
	if s.kustomization == "" {
		return s.contents(ctx)
	}
	objects, err := s.topInventories(ctx)
	return s.classify(objects, err)
}

// Manifests are options of reading manifests that are no package, by the rules of packages.
type Manifests struct {
	Name    string                        // what errors call a folder; empty for its path
	Unnamed func(obj map[string]any) bool // objects that need no name; nil: none
	Warn    func(text string)             // receives warnings; nil ignores them
	Root    Root                          // confines the bases of a kustomization
	// Budget limits the memory of the objects of all folders and texts together; nil: of each alone.
	Budget *yamlsize.Budget
}

// LoadFolder returns the objects of a folder: .krmignore counts, a kustomization at the top is
// built, and local configuration is left out. The error joins all problems. An inventory is one.
func (m Manifests) LoadFolder(ctx context.Context, dir string) ([]manifest.Object, error) {
	s, err := openFolder(ctx, dir, m.Root)
	if err != nil {
		return nil, err
	}
	s.warn, s.unnamed, s.budget = m.Warn, m.Unnamed, m.Budget
	name := cmp.Or(m.Name, dir)
	found, err := s.manifests(ctx)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	errs := []error{s.problems, err}
	if section := s.kptfile.Inventory; section != nil && section.Name != "" {
		errs = append(errs, &StrayInventoryError{inventory.KptfileName, name})
	}
	objects, err := withoutInventories(found, name)
	return objects, errors.Join(append(errs, err)...)
}

// Parse returns the objects of one file or stream, as LoadFolder does. Folder is where it is, or
// Stdin.
func (m Manifests) Parse(
	ctx context.Context, text []byte, name, folder string,
) ([]manifest.Object, error) {
	var errs []error
	found, err := manifest.Parse(ctx, text, name, manifest.Options{
		Unnamed: m.Unnamed, Warn: m.Warn, Budget: m.Budget,
		Omit: func(obj map[string]any) bool {
			u := &unstructured.Unstructured{Object: obj}
			if u.GroupVersionKind().GroupKind() != inventory.KptfileKind.GroupKind() {
				return skipLocal(obj)
			}
			if section, _ := obj["inventory"].(map[string]any); section["name"] != nil {
				errs = append(errs, &StrayInventoryError{name, folder})
			}
			return true
		},
	})
	objects, stray := withoutInventories(found, folder)
	return objects, errors.Join(append(errs, err, stray)...)
}

// withoutInventories returns the objects without what only tools on files need. Inventories are
// errors.
func withoutInventories(found []manifest.Object, dir string) ([]manifest.Object, error) {
	var objects []manifest.Object
	var errs []error
	for _, obj := range found {
		if isInventoryObject(obj.Object) {
			errs = append(errs, &StrayInventoryError{obj.Origin.String(), dir})
			continue
		}
		if file := filePath(obj.Unstructured); file != "" && dir == Stdin {
			obj.Origin = manifest.Origin{Path: file}
		}
		removeToolAnnotations(obj)
		objects = append(objects, obj)
	}
	return objects, errors.Join(errs...)
}

// classify sorts the objects of the folder by their use. A folder with a Kptfile is a subpackage
// and may have an inventory of its own.
func (s *source) classify(objects []manifest.Object, err error) *contents {
	c := &contents{problems: errors.Join(s.problems, err)}
	c.name = fmt.Sprintf("package %q", s.dir)
	c.remedy = "run 'muster init " + s.dir + "' first"
	for _, obj := range objects {
		c.add(obj, func() bool { return inSubpackage(s.dir, obj.Origin.Path) })
	}
	c.addKptfile(s.kptfile, inventory.KptfileName)
	return c
}

// isUnnamed reports whether an object of a native set needs no name: it gets one by its content, or
// is no object.
func isUnnamed(obj map[string]any) bool { return manifest.IsGenerated(obj) || isAppConfig(obj) }

// isAppConfig reports whether an object is a configuration of kapp, which needs no name.
func isAppConfig(obj map[string]any) bool { return obj["apiVersion"] == config.DocVersion }

// errAppConfig reports a configuration of kapp in a package.
var errAppConfig = errors.New("it is a configuration of kapp, which packages do not have; remove " +
	"it, or deploy the objects as an app")

// add adds an object. A ResourceGroup of a subpackage is ignored; a ConfigMap inventory of one is
// refused later, as other objects with the label of inventories are.
func (c *contents) add(obj manifest.Object, inSubpackage func() bool) {
	switch {
	case isAppConfig(obj.Object) && obj.GetName() == "":
		c.addError(fmt.Errorf("%s: %w", obj.Origin, errAppConfig))
	case isGroup(obj.Object):
		if obj.GroupVersionKind() == inventory.ResourceGroupKind && !inSubpackage() {
			c.groups = append(c.groups, obj)
		}
	case isMapInventory(obj.Object) && !inSubpackage():
		c.maps = append(c.maps, obj)
	case !isLocal(obj.Object):
		removeToolAnnotations(obj)
		c.objects = append(c.objects, obj)
	}
}

// isLocalFile reports whether the object of a file is marked as local configuration.
func (s *source) isLocalFile(ctx context.Context, rel string) bool {
	text, err := boundedio.ReadFileIn(s.dir, rel)
	if err != nil {
		return false
	}
	local := false
	omit := func(obj map[string]any) bool {
		local = local || skipLocal(obj)
		return true
	}
	// Another reader reports errors.
	_, _ = manifest.Parse(ctx, text, rel, manifest.Options{Omit: omit})
	return local
}

// subpackages returns the places of the inventories in subfolders that have a Kptfile, in
// the order of their paths: ResourceGroups, and sections of Kptfiles. It ignores what it cannot
// read, and links.
func (s *source) subpackages(ctx context.Context) []string {
	s.warn, s.foreign = nil, manifest.KeepForeign
	found, _ := s.manifests(ctx)
	var places []string
	for _, obj := range found {
		if isGroup(obj.Object) && inSubpackage(s.dir, obj.Origin.Path) {
			places = append(places, obj.Origin.Path)
		}
	}
	_ = filepath.WalkDir(s.dir, func(name string, d fs.DirEntry, err error) error {
		rel, badPath := filepath.Rel(s.dir, name)
		if rel = filepath.ToSlash(rel); err != nil || badPath != nil || rel == "." {
			return nil
		}
		switch ignored := s.ignore.has(rel, d.IsDir()); {
		case d.IsDir() && ignored:
			return fs.SkipDir
		case ignored || d.Name() != inventory.KptfileName:
			return nil
		}
		file, err := inventory.ReadKptfile(filepath.Dir(name))
		if err == nil && file.Inventory != nil && file.Inventory.Name != "" {
			places = append(places, rel)
		}
		return nil
	})
	slices.Sort(places)
	return places
}

func inSubpackage(dir, file string) bool {
	for sub := filepath.Dir(filepath.FromSlash(file)); sub != "."; sub = filepath.Dir(sub) {
		if _, err := os.Lstat(filepath.Join(dir, sub, inventory.KptfileName)); err == nil {
			return true
		}
	}
	return false
}
