package kustomize

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/muster-deploy/muster/internal/base/boundedio"
	"github.com/muster-deploy/muster/internal/manifest"
)

// original is the last element of a path that stands for the content on disk of a kustomization
// file. No file has such a path, since the file is no folder.
const original = "original"

// disk is the file system of a build: it reads regular files below one folder, and writes nothing.
// Its paths are absolute, and symbolic links are resolved before the path is compared with the
// folder. A kustomization file has the content that was checked, or does not exist.
type disk struct {
	filesys.FileSystem              // nil: the build uses no other methods
	ended              func() error // the cause why the context of the build ended
	root               *os.Root
	real               string            // the path of the folder, without links
	name               string            // what messages call the folder
	checked            map[string][]byte // content by path relative to the folder
	used               map[string]bool   // paths of the files that the build has read
	reads, bytes       int               // of the build so far
}

// openDisk returns the file system of a root that FindRoot has returned, for one build.
func openDisk(ctx context.Context, in Root) (*disk, error) {
	root, err := os.OpenRoot(in.Dir)
	if err != nil {
		return nil, err
	}
	return &disk{
		ended: func() error { return context.Cause(ctx) }, root: root, real: in.Dir, name: in.remedy(),
		checked: map[string][]byte{}, used: map[string]bool{},
	}, nil
}

// outsideError reports a path that leads out of the folder of the file system.
type outsideError struct{ root string }

func (e *outsideError) Error() string {
	return "it lies outside of " + e.root
}

// maxLinks limits the symbolic links of one path.
const maxLinks = 40

// resolve returns a path relative to the folder, without symbolic links, and the information on its
// file. It looks at nothing outside.
func (d *disk) resolve(path string) (string, fs.FileInfo, error) {
	outside := &outsideError{d.name}
	if err := d.ended(); err != nil {
		return "", nil, err
	}
	rest, local := d.relative(path)
	if !local {
		return "", nil, outside
	}
	at, links := ".", 0
	info, err := d.root.Lstat(at)
	for len(rest) > 0 && err == nil {
		name := rest[0]
		rest = rest[1:]
		switch {
		case name == "" || name == ".":
			continue
		case !info.IsDir():
			return "", nil, &fs.PathError{Op: "open", Path: path, Err: errors.New("not a directory")}
		case name == "..":
			if at == "." {
				return "", nil, outside
			}
			at = filepath.Dir(at)
			info, err = d.root.Lstat(at)
			continue
		}
		next := filepath.Join(at, name)
		found, failure := d.root.Lstat(next)
		if failure != nil || found.Mode()&fs.ModeSymlink == 0 {
			at, info, err = next, found, failure
			continue
		}
		if links++; links > maxLinks {
			return "", nil, &fs.PathError{Op: "open", Path: path, Err: errors.New("too many links")}
		}
		target, failure := d.root.Readlink(next)
		if failure != nil {
			return "", nil, failure
		}
		names := strings.Split(filepath.ToSlash(target), "/")
		if filepath.IsAbs(target) {
			if names, local = d.relative(target); !local {
				return "", nil, outside
			}
			at = "."
			info, err = d.root.Lstat(at)
		}
		rest = append(names[:len(names):len(names)], rest...)
	}
	return at, info, err
}

// relative returns the elements of an absolute path below the folder, and false for another path.
func (d *disk) relative(path string) ([]string, bool) {
	rel, err := filepath.Rel(d.real, path)
	if err != nil || !filepath.IsLocal(rel) {
		return nil, false
	}
	return strings.Split(filepath.ToSlash(rel), "/"), true
}

// isLink reports whether a path without links in its folder is one.
func (d *disk) isLink(path string) bool {
	rel, local := d.relative(path)
	if !local {
		return false
	}
	info, err := d.root.Lstat(filepath.Join(rel...))
	return err == nil && info.Mode()&fs.ModeSymlink != 0
}

// CleanedAbs returns a path without symbolic links: the folder, and the file if it is one.
func (d *disk) CleanedAbs(path string) (filesys.ConfirmedDir, string, error) {
	if !filepath.IsAbs(path) {
		return "", "", &fs.PathError{Op: "open", Path: path, Err: fs.ErrInvalid}
	}
	if file, isOriginal := d.original(path); isOriginal {
		return filesys.ConfirmedDir(filepath.Join(d.real, file)), original, nil
	}
	if rel, is := d.kustomization(path); is {
		if _, exists := d.checked[rel]; !exists {
			return "", "", &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
		}
		return filesys.ConfirmedDir(filepath.Join(d.real, filepath.Dir(rel))), filepath.Base(rel), nil
	}
	rel, info, err := d.resolve(path)
	real := filepath.Join(d.real, rel)
	switch {
	case err != nil:
		return "", "", err
	case info.IsDir():
		return filesys.ConfirmedDir(real), "", nil
	case IsFile(filepath.Base(real)): // a link with another name
		return filesys.ConfirmedDir(real), original, nil
	}
	return filesys.ConfirmedDir(filepath.Dir(real)), filepath.Base(real), nil
}

// kustomization returns the key in checked of a path that has the name of a kustomization file, and
// false if it has not, or leads to a folder.
func (d *disk) kustomization(path string) (string, bool) {
	if !IsFile(filepath.Base(path)) || d.IsDir(path) {
		return "", false
	}
	folder, _, err := d.resolve(filepath.Dir(path))
	return filepath.Join(folder, filepath.Base(path)), err == nil
}

// original returns the file whose content on disk a path stands for, and whether it does.
func (d *disk) original(path string) (string, bool) {
	if filepath.Base(path) != original {
		return "", false
	}
	file, info, err := d.resolve(filepath.Dir(path))
	return file, err == nil && !info.IsDir()
}

// ReadFile returns the content of a regular file.
func (d *disk) ReadFile(path string) ([]byte, error) {
	if file, isOriginal := d.original(path); isOriginal {
		return d.count(d.read(file))
	}
	rel, is := d.kustomization(path)
	if !is {
		var err error
		if rel, _, err = d.resolve(path); err != nil {
			return nil, err
		}
	}
	d.used[rel] = true
	if text, exists := d.checked[rel]; exists {
		return d.count(text, nil)
	}
	if IsFile(filepath.Base(rel)) {
		return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
	}
	return d.count(d.read(rel))
}

// The limits of what a build reads. A file counts for each time: few small bases that name each
// other twice would be read without end.
const (
	maxReads     = 20_000
	maxReadBytes = 256 << 20
)

// count counts what the build has read.
func (d *disk) count(text []byte, err error) ([]byte, error) {
	d.reads++
	d.bytes += len(text)
	if err == nil && (d.reads > maxReads || d.bytes > maxReadBytes) {
		return nil, errTooMuch
	}
	return text, err
}

var errTooMuch = fmt.Errorf("the build reads more than %d files, or %d MiB of them: "+
	"its bases name others too often", maxReads, maxReadBytes>>20)

// read returns the content of a regular file on disk by its path relative to the folder. It reads
// neither pipes and devices nor files whose aliases stand for too much: the library expands them.
func (d *disk) read(rel string) ([]byte, error) {
	text, err := boundedio.ReadFS(d.root.FS(), filepath.ToSlash(rel))
	if failure := (*fs.PathError)(nil); errors.As(err, &failure) {
		failure.Path = filepath.Join(d.real, rel)
	}
	if err == nil {
		err = manifest.CheckAliases(text)
	}
	if err != nil {
		return nil, err
	}
	return text, nil
}

// IsDir reports whether a path is a folder.
func (d *disk) IsDir(path string) bool {
	_, info, err := d.resolve(path)
	return err == nil && info.IsDir()
}

// Exists reports whether there is something at a path.
func (d *disk) Exists(path string) bool {
	_, _, err := d.resolve(path)
	return err == nil
}

// RemoveAll removes nothing. The library calls it for what it has fetched.
func (d *disk) RemoveAll(string) error { return nil }
