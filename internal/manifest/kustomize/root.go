package kustomize

import (
	"fmt"
	"os"
	"path/filepath"
)

// Root is the folder that a build does not leave: bases and all files are in or below it, with
// symbolic links resolved.
type Root struct {
	Dir string // empty: see FindRoot
	// Name is what messages call a folder that the user cannot choose, as in: the artifact
	// oci://registry/shop. Empty is its path.
	Name string
}

// FindRoot returns the root of a build of a folder: the given one, else the top of the git work
// tree that holds the folder, else the working folder if it holds the folder, else the folder. A
// kustomization cannot choose it.
func FindRoot(dir string, given Root) (Root, error) {
	real, err := realPath(dir)
	if err != nil {
		return Root{}, err
	}
	if given.Dir != "" {
		root, err := realPath(given.Dir)
		if err != nil {
			return Root{}, fmt.Errorf("the root %q: %w", given.Dir, err)
		}
		if !within(real, root) {
			return Root{}, fmt.Errorf("the root %q does not hold the folder %q", given.Dir, dir)
		}
		return Root{root, given.Name}, nil
	}
	for top := real; ; top = filepath.Dir(top) {
		if _, err := os.Lstat(filepath.Join(top, ".git")); err == nil {
			return Root{Dir: top}, nil
		}
		if top == filepath.Dir(top) {
			break
		}
	}
	if working, err := realPath("."); err == nil && within(real, working) {
		return Root{Dir: working}, nil
	}
	return Root{Dir: real}, nil
}

// realPath returns the absolute path of an existing file, without symbolic links.
func realPath(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(path)
}

// within reports whether a path is in or below a folder. Both are absolute.
func within(path, folder string) bool {
	rel, err := filepath.Rel(folder, path)
	return err == nil && filepath.IsLocal(rel)
}

// remedy returns what messages call the root, and how to choose another.
func (r Root) remedy() string {
	if r.Name != "" {
		return r.Name
	}
	return r.Dir + " (--root names another folder)"
}
