package atomicfile

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/muster-deploy/muster/internal/base/boundedio"
)

// CheckReplace returns an error unless ReplaceFiles can replace the content of a file, which has to
// be what was read before.
func CheckReplace(path string, before []byte) error {
	now, err := boundedio.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read the file: %w", err)
	}
	if !bytes.Equal(now, before) {
		return fmt.Errorf("%s has changed since it was read; give the command again", path)
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if info.Mode().Perm()&0o222 == 0 {
		return fmt.Errorf("%s is read-only; make it writable, or change it yourself", path)
	}
	return nil
}

// Replacement is a new content of a file.
type Replacement struct {
	Path          string
	Before, After []byte // what was read, and what it becomes
}

// ReplaceFiles replaces the content of files, each in one step, if all are still what was read
// before. It returns how many it has replaced: all new contents are on the disk before it replaces
// the first file.
func ReplaceFiles(files []Replacement) (replaced int, err error) {
	paths, temps := make([]string, len(files)), make([]string, 0, len(files))
	defer func() {
		for _, temp := range temps[replaced:] {
			err = errors.Join(err, os.Remove(temp))
		}
	}()
	for i, f := range files {
		if err := CheckReplace(f.Path, f.Before); err != nil {
			return 0, err
		}
		var info fs.FileInfo
		if paths[i], err = followLinks(f.Path); err == nil {
			info, err = os.Stat(paths[i])
		}
		if err != nil {
			return 0, fmt.Errorf("write %s: %w", f.Path, err)
		}
		temp, err := writeBeside(paths[i], f.After, info.Mode().Perm(), info)
		if err != nil {
			return 0, fmt.Errorf("write %s: %w", f.Path, err)
		}
		temps = append(temps, temp)
	}
	for _, f := range files {
		if err := CheckReplace(f.Path, f.Before); err != nil {
			return 0, err
		}
	}
	for i, temp := range temps {
		if err := os.Rename(temp, paths[i]); err != nil {
			return replaced, fmt.Errorf("write %s: %w", files[i].Path, err)
		}
		replaced++
	}
	return replaced, nil
}
