package manifest

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
)

// LoadDir reads all files below a folder whose names end in .yaml, .yml or .json, sorted by path.
// It ignores JSON files without apiVersion and kind. The folder may be a symbolic link; links
// inside it are not followed. skip, unless nil, returns true for files and folders to ignore; rel
// is their path below the folder, with slashes. omit is that of Read.
//
// The error joins the problems of all files, in the order of their paths. LoadDir then still
// returns the objects of files without problems. If the folder does not exist, the error is
// fs.ErrNotExist.
func LoadDir(dir string, skip func(rel string, d fs.DirEntry) bool, omit Omit) ([]Object, error) {
	if err := CheckFolder(dir); err != nil {
		return nil, err
	}
	folder := os.DirFS(dir)
	found := files(folder, skip)
	var objects []Object
	var errs []error
	for _, f := range found {
		if f.err == nil {
			var some []Object
			some, f.err = load(folder, f.path, omit)
			objects = append(objects, some...)
		}
		errs = append(errs, f.err)
	}
	return objects, errors.Join(errs...)
}

// CheckFolder returns an error unless dir is a folder. If it does not exist, the error is
// fs.ErrNotExist.
func CheckFolder(dir string) error {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &missingError{dir}
	case err != nil:
		return fmt.Errorf("open package folder: %w", err)
	case !info.IsDir():
		return fmt.Errorf("%q is a file, but a package is a folder: name the folder that the file is in",
			dir)
	}
	return nil
}

// file is a manifest, or a place that could not be read.
type file struct {
	path string
	err  error
}

// extensions are the file extensions of manifests.
var extensions = []string{".yaml", ".yml", jsonExtension}

const jsonExtension = ".json"

// files returns the manifests of a folder, sorted by path.
func files(folder fs.FS, skip func(string, fs.DirEntry) bool) []file {
	var found []file
	visit := func(rel string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			found = append(found, file{rel, fmt.Errorf("read package folder: %w", err)})
		case rel != "." && skip != nil && skip(rel, d):
			if d.IsDir() {
				return fs.SkipDir
			}
		case d.Type().IsRegular() && slices.Contains(extensions, path.Ext(rel)):
			found = append(found, file{path: rel})
		}
		return nil
	}
	if err := fs.WalkDir(folder, ".", visit); err != nil {
		found = append(found, file{".", err})
	}
	slices.SortFunc(found, func(a, b file) int { return cmp.Compare(a.path, b.path) })
	return found
}

func load(folder fs.FS, name string, omit Omit) ([]Object, error) {
	text, err := fs.ReadFile(folder, name)
	if err != nil {
		return nil, err
	}
	if path.Ext(name) == jsonExtension && !isManifest(text) {
		return nil, nil
	}
	return Parse(text, name, omit)
}

// missingError reports that a folder does not exist.
type missingError struct {
	dir string
}

func (e *missingError) Error() string {
	return fmt.Sprintf("package folder %q does not exist", e.dir)
}

func (e *missingError) Unwrap() error {
	return fs.ErrNotExist
}
