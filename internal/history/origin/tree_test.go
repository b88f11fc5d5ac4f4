package origin

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// endless is a reader that never ends.
type endless struct{}

// Read reads zeros.
func (endless) Read(to []byte) (int, error) {
	clear(to)
	return len(to), nil
}

// A file that grows while it is copied, and one that takes too long, are not copied further.
func TestCopyEnds(t *testing.T) {
	for _, left := range []int64{0, 1000, 3 << 20} {
		c := &copier{ctx: t.Context(), left: left}
		if err := c.write(io.Discard, endless{}); !errors.Is(err, errLarge) {
			t.Errorf("%d bytes: error %v", left, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	written := 0
	err := (&copier{ctx: ctx, left: 1 << 40}).write(writer(func(part []byte) (int, error) {
		written += len(part)
		cancel()
		return len(part), nil
	}), endless{})
	if !errors.Is(err, context.Canceled) || written > 1<<20 {
		t.Errorf("%d bytes are written after the end; error %v", written, err)
	}
}

// writer is a function that writes.
type writer func([]byte) (int, error)

// Write calls the function.
func (w writer) Write(part []byte) (int, error) { return w(part) }

// The files that are copied are limited together, and the limit is no part of a copy.
func TestLargeIndex(t *testing.T) {
	for _, sizes := range []map[string]int64{
		{"index": maxCopied + 1},
		{"index": 3 << 30},
		{"sharedindex.a": 3 << 30},
		{"index": 1, "info/exclude": maxCopied},
	} {
		from, tree := t.TempDir(), &workTree{dir: t.TempDir()}
		for name, size := range sizes {
			sparse(t, filepath.Join(from, name), size)
		}
		if err := tree.fill(t.Context(), from, from, ""); !errors.Is(err, errLarge) {
			t.Errorf("%v: error %v", sizes, err)
		}
		for name, size := range sizes {
			info, err := os.Stat(filepath.Join(tree.dir, name))
			if err == nil && info.Size() > 1 {
				t.Errorf("%v: %s of %d bytes is copied", sizes, name, size)
			}
		}
	}
}

// A work tree whose index is too large is left out.
func TestLargeIndexOfWorkTree(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no program git")
	}
	dir := t.TempDir()
	t.Setenv("TMPDIR", t.TempDir())
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	t.Setenv("GIT_CONFIG_SYSTEM", os.DevNull)
	if out, err := exec.Command("git", "init", "--quiet", dir).CombinedOutput(); err != nil {
		t.Fatalf("git init: %v: %s", err, out)
	}
	none := func(string) string { return "" }
	if g := Git(t.Context(), dir, none); g == nil {
		t.Error("the work tree is not described")
	}
	sparse(t, filepath.Join(dir, ".git/index"), 3<<30)
	if g := Git(t.Context(), dir, none); g != nil {
		t.Errorf("origin %+v", g)
	}
	if last := Changed(t.Context(), dir); last != nil {
		t.Errorf("last change %+v", last)
	}
	left, err := os.ReadDir(os.TempDir())
	if err != nil || len(left) > 0 {
		t.Errorf("temporary files are left: %v, %v", left, err)
	}
}

// sparse makes a file of a size that takes no space.
func sparse(t *testing.T, path string, size int64) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(file.Truncate(size), file.Close()); err != nil {
		t.Fatal(err)
	}
}
