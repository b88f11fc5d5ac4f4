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

// LoadDir reads all files below a folder whose names end in .yaml or .yml, sorted by their paths. The folder itself may
// be a symbolic link; links inside are not followed. Where skip, if there is one, returns true for a file or a folder, it
// is left out; rel is the path below the folder, with slashes.
//
// An error joins, in the order of the paths, all problems of all files; the objects of the files without problems are given
// all the same, for callers that need no more. A folder that does not exist gives an error that is fs.ErrNotExist.
func LoadDir(dir string, skip func(rel string, d fs.DirEntry) bool) ([]Object, error) {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, &missingError{dir}
	case err != nil:
		return nil, fmt.Errorf("open package folder: %w", err)
	case !info.IsDir():
		return nil, fmt.Errorf("%q is a file, but a package is a folder: name the folder that the file is in", dir)
	}
	folder := os.DirFS(dir)
	found := files(folder, skip)
	var objects []Object
	var errs []error
	for _, f := range found {
		if f.err == nil {
			var some []Object
			some, f.err = load(folder, f.path)
			objects = append(objects, some...)
		}
		errs = append(errs, f.err)
	}
	return objects, errors.Join(errs...)
}

// file is a manifest, or a place that could not be looked into.
type file struct {
	path string
	err  error
}

// files finds the manifests of a folder, sorted by path.
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
		case d.Type().IsRegular() && (path.Ext(rel) == ".yaml" || path.Ext(rel) == ".yml"):
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

func load(folder fs.FS, name string) ([]Object, error) {
	f, err := folder.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return Read(f, name)
}

// missingError says which folder does not exist.
type missingError struct {
	dir string
}

func (e *missingError) Error() string {
	return fmt.Sprintf("package folder %q does not exist", e.dir)
}

func (e *missingError) Unwrap() error {
	return fs.ErrNotExist
}
