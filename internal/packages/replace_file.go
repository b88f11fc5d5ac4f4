package packages

import (
	"bytes"
	"fmt"
	"os"

	"github.com/muster-deploy/muster/internal/boundedio"
)

// CheckReplace returns an error unless ReplaceFile can replace the content of a file, which has to
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

// ReplaceFile replaces the content of a file in one step, if it is still what was read before.
func ReplaceFile(path string, before, after []byte) error {
	if err := CheckReplace(path, before); err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if err := writeFileAtomically(path, after, info.Mode().Perm()); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
