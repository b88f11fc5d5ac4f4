package output

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// file is a file that appears, or is replaced, when it is whole. What is no regular file, such as a
// pipe, is written at once.
type file struct {
	*os.File
	path   string
	direct bool // there is no other file to rename
	closed bool
}

// create begins a file.
func create(path string) (*file, error) {
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return nil, &fs.PathError{Op: "write", Path: path, Err: errors.New("it is a folder")}
	case err == nil && !info.Mode().IsRegular():
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
		return &file{File: f, path: path, direct: true}, err
	case err == nil:
		if path, err = filepath.EvalSymlinks(path); err != nil {
			return nil, err
		}
	}
	mode := fs.FileMode(0o644)
	if err == nil && info != nil {
		mode = info.Mode().Perm()
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return nil, fmt.Errorf("write %s: its folder refuses new files: %w", path, errors.Unwrap(err))
	}
	if err := f.Chmod(mode); err != nil {
		_ = os.Remove(f.Name()) // the first error says more
		return nil, err
	}
	return &file{File: f, path: path}, nil
}

// commit ends the file and puts it in its place.
func (f *file) commit() error {
	if f.closed {
		return nil
	}
	f.closed = true
	if err := f.Close(); err != nil || f.direct {
		return err
	}
	return os.Rename(f.Name(), f.path)
}

// discard ends the file; nothing is left of it.
func (f *file) discard() {
	if f.closed {
		return
	}
	f.closed = true
	_ = f.Close() // it is removed
	if !f.direct {
		_ = os.Remove(f.Name())
	}
}
