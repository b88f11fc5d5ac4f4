// Package atomicfile replaces the contents of files: others see the old content or the new one, and
// never a part of it.
package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Write replaces the content of a file in one step. The temporary file is hidden and
// has no extension of a manifest. A symbolic link stays, and its target is replaced. Pipes,
// terminals and the given outputs of the process are appended to.
func Write(path string, data []byte, mode fs.FileMode, outputs ...*os.File) error {
	path, err := followLinks(path)
	if err != nil {
		return err
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return renameOver(path, data, mode)
	case err != nil:
		return err
	case info.IsDir():
		return fmt.Errorf("%s is a folder; name a file", path)
	case !info.Mode().IsRegular() || isOutput(info, outputs):
		return appendToFile(path, data)
	default:
		return renameOver(path, data, mode)
	}
}

// followLinks returns the path that a chain of symbolic links ends at, even if nothing exists
// there.
func followLinks(path string) (string, error) {
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
	return followLinks(target)
}

// isOutput reports whether a file is one of the outputs. Replacing it would lose what is printed.
func isOutput(info fs.FileInfo, outputs []*os.File) bool {
	for _, output := range outputs {
		if open, err := output.Stat(); err == nil && os.SameFile(info, open) {
			return true
		}
	}
	return false
}

func appendToFile(path string, data []byte) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	return errors.Join(err, file.Close())
}

// renameOver writes a temporary file and renames it to path.
func renameOver(path string, data []byte, mode fs.FileMode) error {
	temp, err := writeBeside(path, data, mode, nil)
	if err != nil {
		return err
	}
	if err := os.Rename(temp, path); err != nil {
		return errors.Join(err, os.Remove(temp))
	}
	return nil
}

// writeBeside writes a temporary file in the folder of path, and returns its path. It gets the
// owner of a file, nil for none, if the user may do that.
func writeBeside(
	path string, data []byte, mode fs.FileMode, owned fs.FileInfo,
) (name string, err error) {
	dir := filepath.Dir(path)
	temp, err := os.CreateTemp(dir, "."+filepath.Base(path)+"-")
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("there is no folder %s", dir)
	}
	if failed := (*fs.PathError)(nil); errors.As(err, &failed) {
		return "", fmt.Errorf("make a file in the folder %s: %w", dir, failed.Err)
	}
	if err != nil {
		return "", err
	}
	_, err = temp.Write(data)
	if owned != nil {
		keepOwner(temp, owned)
	}
	err = errors.Join(err, temp.Chmod(mode), temp.Sync(), temp.Close())
	if err != nil {
		return "", errors.Join(err, os.Remove(temp.Name()))
	}
	return temp.Name(), nil
}
