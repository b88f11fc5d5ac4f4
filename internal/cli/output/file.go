package output

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// file is a file that appears, or is replaced, when it is whole. Until then its content has no name
// where the system allows that, so that a process that is killed leaves nothing. What is no regular
// file, such as a pipe, is written at once.
type file struct {
	*os.File
	path   string
	mode   fs.FileMode
	direct bool // there is no other file to rename
	named  bool // the system keeps names of open files
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
	f, err := temporary(path)
	if err != nil {
		return nil, fmt.Errorf("write %s: its folder refuses new files: %w", path, errors.Unwrap(err))
	}
	return &file{File: f, path: path, mode: mode, named: os.Remove(f.Name()) != nil}, nil
}

// temporary creates a file beside a path.
func temporary(path string) (*os.File, error) {
	return os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
}

// commit ends the file and puts it in its place.
func (f *file) commit() error {
	if f.closed {
		return nil
	}
	if f.direct {
		f.closed = true
		return f.Close()
	}
	defer f.discard()
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	whole, err := temporary(f.path)
	if err != nil {
		return err
	}
	_, err = io.Copy(whole, f.File)
	if err = errors.Join(err, whole.Chmod(f.mode), whole.Close()); err == nil {
		err = os.Rename(whole.Name(), f.path)
	}
	if err != nil {
		_ = os.Remove(whole.Name()) // the first error says more
	}
	return err
}

// discard ends the file; nothing is left of it.
func (f *file) discard() {
	if f.closed {
		return
	}
	f.closed = true
	_ = f.Close() // nobody reads it
	if f.named {
		_ = os.Remove(f.Name())
	}
}
