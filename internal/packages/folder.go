package packages

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/muster-deploy/muster/internal/manifest"
	"github.com/muster-deploy/muster/internal/manifest/kustomize"
	"github.com/muster-deploy/muster/internal/packages/inventory"
)

// contents is what a folder or a stream holds, before the inventory is chosen among it.
type contents struct {
	described
	objects []manifest.Object // what is applied
	broken  error             // what is wrong with the rest
}

// note adds to what is wrong with the contents.
func (c *contents) note(err error) { c.broken = errors.Join(c.broken, err) }

// source is a folder with a package, and how it is to be read.
type source struct {
	dir           string
	ignore        ignore
	kptfile       *inventory.Kptfile
	kustomization string // the file that says what the package is; empty: all manifests of the folder are
	without       string // a file at the top that is not read; empty: none
	broken        error  // what is wrong with the files that say how
}

// openFolder finds out how a folder is to be read. The error is that there is no such folder.
func openFolder(dir string) (*source, error) {
	if err := manifest.CheckFolder(dir); err != nil {
		if _, missing := os.Lstat(dir); errors.Is(missing, fs.ErrNotExist) {
			err = &NoFolderError{Folder: dir, Err: err}
		}
		return nil, err
	}
	s := &source{dir: dir}
	var badIgnore, badKptfile error
	s.ignore, badIgnore = readIgnore(dir)
	s.kptfile, badKptfile = inventory.ReadKptfile(dir)
	s.broken = errors.Join(badIgnore, badKptfile)
	if name := kustomize.File(dir); name != "" && !s.ignore.has(name, false) && !s.isLocalFile(name) {
		s.kustomization = name
	}
	return s, nil
}

// manifests are all objects that are applied, and all that describe an inventory. Where there is an error the objects of the files that
// are in order are given all the same.
func (s *source) manifests() ([]manifest.Object, error) {
	if s.kustomization == "" {
		return s.load()
	}
	objects, badTop := s.top()
	built, err := kustomize.Build(s.dir, omit)
	for _, obj := range built {
		if !describes(obj.Object) {
			objects = append(objects, obj)
		}
	}
	return objects, errors.Join(badTop, err)
}

// load reads the manifests of the folder.
func (s *source) load() ([]manifest.Object, error) {
	var errs []error
	objects, err := manifest.LoadDir(s.dir, func(rel string, d fs.DirEntry) bool {
		switch {
		case rel == rulesName || rel == s.without || s.ignore.has(rel, d.IsDir()) || !d.IsDir() && s.kptfile.Configures(rel):
			return true
		case d.IsDir() || !kustomize.IsFile(d.Name()):
			return false
		}
		if path.Dir(rel) != "." && !s.isLocalFile(rel) {
			errs = append(errs, fmt.Errorf("%s: only a kustomization at the top of the package is built; give %q as the package, "+
				"or leave the folder out with %s", rel, path.Join(filepath.ToSlash(s.dir), path.Dir(rel)), ignoreName))
		}
		return true
	}, omit)
	return objects, errors.Join(append(errs, err)...)
}

// top gives what describes inventories at the top of a folder that is built. Its other files are the build's business, and need not
// hold objects.
func (s *source) top() ([]manifest.Object, error) {
	return manifest.LoadDir(s.dir, func(rel string, d fs.DirEntry) bool {
		return d.IsDir() || rel == rulesName || rel == s.without || rel == s.kustomization || s.ignore.has(rel, false) || !s.mentionsInventory(rel)
	}, func(obj map[string]any) bool { return !describes(obj) })
}

// mentionsInventory reports whether an inventory may be described in a file. One that cannot be read is left to whoever does it next.
func (s *source) mentionsInventory(rel string) bool {
	text, err := os.ReadFile(filepath.Join(s.dir, rel))
	return err != nil || slices.ContainsFunc(append(inventory.IDKeys[:len(inventory.IDKeys):len(inventory.IDKeys)], inventory.ResourceGroupKind.Kind),
		func(word string) bool { return bytes.Contains(text, []byte(word)) })
}

// contents reads the folder whole.
func (s *source) contents() *contents {
	objects, err := s.manifests()
	return s.sorted(objects, err)
}

// inventories reads no more of the folder than may hold the inventory.
func (s *source) inventories() *contents {
	if s.kustomization == "" {
		return s.contents()
	}
	objects, err := s.top()
	return s.sorted(objects, err)
}

// sorted lays the objects of the folder out by what they are for. A subpackage, that is a folder with a Kptfile, may have
// an inventory of its own.
func (s *source) sorted(objects []manifest.Object, err error) *contents {
	c := &contents{broken: errors.Join(s.broken, err)}
	c.name, c.way = fmt.Sprintf("package %q", s.dir), "run init on it first"
	for _, obj := range objects {
		c.add(obj, func() bool { return inSubpackage(s.dir, obj.Origin.Path) })
	}
	c.addKptfile(s.kptfile, inventory.KptfileName)
	return c
}

// add takes in an object. One that describes the inventory of a subpackage is none of this package's; if it is a ConfigMap it
// is refused later, as every object is that only looks like an inventory.
func (c *contents) add(obj manifest.Object, inSubpackage func() bool) {
	switch {
	case isGroup(obj.Object):
		if obj.GroupVersionKind() == inventory.ResourceGroupKind && !inSubpackage() {
			c.groups = append(c.groups, obj)
		}
	case isMapInventory(obj.Object) && !inSubpackage():
		c.maps = append(c.maps, obj)
	case !isLocal(obj.Object):
		tidy(obj)
		c.objects = append(c.objects, obj)
	}
}

// isLocalFile reports whether the object of a file is marked as local configuration.
func (s *source) isLocalFile(rel string) bool {
	text, err := os.ReadFile(filepath.Join(s.dir, filepath.FromSlash(rel)))
	if err != nil {
		return false
	}
	local := false
	_, _ = manifest.Parse(text, rel, func(obj map[string]any) bool { // whoever applies the file says what is wrong with it
		local = local || omit(obj)
		return true
	})
	return local
}

func inSubpackage(dir, file string) bool {
	for sub := filepath.Dir(filepath.FromSlash(file)); sub != "."; sub = filepath.Dir(sub) {
		if _, err := os.Stat(filepath.Join(dir, sub, inventory.KptfileName)); err == nil {
			return true
		}
	}
	return false
}
