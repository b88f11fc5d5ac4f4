package artifact

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// MaxBytes limits the size of the files of an artifact, and of its layers.
const MaxBytes = 100 << 20

// Limits of what an archive may hold beside its bytes.
const (
	maxEntries = 20_000
	maxLayers  = 64
	maxPath    = 1024
)

// tooLargeError reports more bytes than a limit allows. Its text ends the phrase: the files …
type tooLargeError struct{ limit int64 }

func (e tooLargeError) Error() string {
	if e.limit < 1<<20 {
		return fmt.Sprintf("have more than %d bytes, which is the limit of an artifact", e.limit)
	}
	return fmt.Sprintf("have more than %d MiB, which is the limit of an artifact", e.limit>>20)
}

// errTooLarge reports files of more than MaxBytes.
var errTooLarge = tooLargeError{MaxBytes}

// Tree is files by their paths, which have slashes. Folders without files are not in it.
type Tree map[string]File

// File is a file of a tree.
type File struct {
	Data       []byte
	Executable bool
}

// Paths returns the paths of the files, sorted.
func (t Tree) Paths() []string { return slices.Sorted(maps.Keys(t)) }

// size returns the bytes of all files.
func (t Tree) size() (n int64) {
	for _, file := range t {
		n += int64(len(file.Data))
	}
	return n
}

// Equal reports whether two trees have the same files.
func (t Tree) Equal(other Tree) bool {
	return maps.EqualFunc(t, other, func(a, b File) bool {
		return a.Executable == b.Executable && bytes.Equal(a.Data, b.Data)
	})
}

// ReadFolder returns the files of a folder. It leaves out the repository of git, and what skip,
// unless nil, returns true for. Links, pipes, sockets and devices are errors, which are joined.
func ReadFolder(dir string, skip func(rel string, isFolder bool) bool) (Tree, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open the folder: %w", err)
	}
	defer func() { _ = root.Close() }() // it is only read
	t, size := Tree{}, int64(0)
	var problems []error
	err = fs.WalkDir(root.FS(), ".", func(rel string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case rel == ".":
			return nil
		case d.Name() == ".git", skip != nil && skip(rel, d.IsDir()):
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case d.IsDir():
			return nil
		}
		if problem := checkFile(rel, d.Type()); problem != nil {
			problems = append(problems, problem)
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if size += info.Size(); size > MaxBytes || len(t) >= maxEntries {
			return fmt.Errorf("the files in %s %w (or there are more than %d): leave some out with "+
				".krmignore", dir, errTooLarge, maxEntries)
		}
		data, err := root.ReadFile(filepath.FromSlash(rel))
		t[rel] = File{Data: data, Executable: info.Mode()&0o111 != 0}
		return err
	})
	return t, errors.Join(append(problems, err)...)
}

// checkFile returns an error for what is no regular file, or has a name that archives do not carry
// to all systems.
func checkFile(rel string, mode fs.FileMode) error {
	switch {
	case mode&fs.ModeSymlink != 0:
		return fmt.Errorf("%s is a symbolic link, and an artifact has none: put the file in its place, "+
			"or leave it out with .krmignore", rel)
	case !mode.IsRegular():
		return fmt.Errorf("%s is no regular file; remove it, or leave it out with .krmignore", rel)
	}
	return checkPath(rel)
}

// checkPath returns an error unless a path is that of a file below the folder of an artifact.
func checkPath(name string) error {
	switch {
	case len(name) > maxPath:
		return fmt.Errorf("the path %.40q... has more than %d bytes", name, maxPath)
	case !fs.ValidPath(name) || name == ".", strings.ContainsAny(name, "\\\x00"),
		!filepath.IsLocal(filepath.FromSlash(name)):
		return fmt.Errorf("the path %q is not one below the folder of the artifact", name)
	case strings.HasPrefix(path.Base(name), whiteout):
		return fmt.Errorf("%q deletes a file of another layer, which artifacts with manifests do not do",
			name)
	}
	return nil
}

// whiteout begins the names of files in layers of images that delete others.
const whiteout = ".wh."

// Write writes the files into a folder that does not exist or is empty. Others never see a part of
// the files: a folder beside it gets its name at the end.
func (t Tree) Write(dir string) error { return t.write(dir, 0) }

// WritePrivate writes the files as Write does, but only the user of the process can read them.
func (t Tree) WritePrivate(dir string) error { return t.write(dir, 0o077) }

// write writes the files as Write does, without some permissions.
func (t Tree) write(dir string, without fs.FileMode) (err error) {
	parent := filepath.Dir(filepath.Clean(dir))
	if err := os.MkdirAll(parent, 0o755&^without); err != nil {
		return err
	}
	temp, err := os.MkdirTemp(parent, "."+filepath.Base(dir)+"-")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(temp))
		}
	}()
	if err := t.fill(temp, without); err != nil {
		return err
	}
	if err := os.Chmod(temp, 0o755&^without); err != nil {
		return err
	}
	return os.Rename(temp, dir)
}

// fill writes the files into an empty folder, and nothing outside of it, without some permissions.
func (t Tree) fill(dir string, without fs.FileMode) (err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	for _, name := range t.Paths() {
		mode := fs.FileMode(0o644)
		if t[name].Executable {
			mode = 0o755
		}
		local := filepath.FromSlash(name)
		if err := root.MkdirAll(filepath.Dir(local), 0o755&^without); err != nil {
			return fmt.Errorf("unpack %s: %w", name, err)
		}
		if err := root.WriteFile(local, t[name].Data, mode&^without); err != nil {
			return fmt.Errorf("unpack %s: %w", name, err)
		}
	}
	return nil
}
