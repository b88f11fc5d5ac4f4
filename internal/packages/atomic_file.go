package packages

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// replaceFile gives a file new content, at once: whoever reads it finds the old or the new. What it is written to before is
// hidden and has no ending that would make it a manifest. A symbolic link stays one, and what it leads to is replaced. What is no
// regular file, such as a pipe or a terminal, is written to.
func replaceFile(path string, data []byte, mode fs.FileMode) error {
	path, err := followed(path)
	if err != nil {
		return err
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return newFile(path, data, mode)
	case err != nil:
		return err
	case info.IsDir():
		return fmt.Errorf("%s is a folder; name a file", path)
	case !info.Mode().IsRegular() || isStream(info):
		return writeInto(path, data)
	default:
		return newFile(path, data, mode)
	}
}

// followed is where a path leads by symbolic links, even if nothing is there yet.
func followed(path string) (string, error) {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real, nil
	}
	target, err := os.Readlink(path)
	if err != nil {
		return path, nil // no link, or one of a folder above: whoever writes says what is wrong
	}
	if _, err := os.Stat(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err // a circle of links, or a folder that may not be read
	}
	if !filepath.IsAbs(target) {
		target = filepath.Join(filepath.Dir(path), target)
	}
	return followed(target)
}

// isStream reports whether a file is what this process writes its output to. Replaced, it would be lost.
func isStream(info fs.FileInfo) bool {
	for _, stream := range []*os.File{os.Stdout, os.Stderr} {
		if open, err := stream.Stat(); err == nil && os.SameFile(info, open) {
			return true
		}
	}
	return false
}

// writeInto writes to what stands at a path.
func writeInto(path string, data []byte) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	return errors.Join(err, file.Close())
}

// newFile puts a file in place of what stands at a path, if anything does.
func newFile(path string, data []byte, mode fs.FileMode) error {
	dir := filepath.Dir(path)
	temp, err := os.CreateTemp(dir, "."+filepath.Base(path)+"-")
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no folder %s", dir)
	}
	if failed := (*fs.PathError)(nil); errors.As(err, &failed) {
		return fmt.Errorf("make a file in the folder %s: %w", dir, failed.Err)
	}
	if err != nil {
		return err
	}
	_, err = temp.Write(data)
	err = errors.Join(err, temp.Chmod(mode), temp.Sync(), temp.Close())
	if err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temp.Name()))
	}
	return nil
}
