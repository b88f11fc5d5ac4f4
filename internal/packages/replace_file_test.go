package packages

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// ReplaceFile keeps the mode and a link, and changes nothing if the file is not what was read.
func TestReplaceContent(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "web.yaml"), filepath.Join(dir, "link.yaml")
	if err := os.WriteFile(file, []byte("old"), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("web.yaml", link); err != nil {
		t.Fatal(err)
	}
	holds := func(want string) {
		t.Helper()
		if text, err := os.ReadFile(file); err != nil || string(text) != want {
			t.Errorf("the file holds %q (%v), want %q", text, err, want)
		}
	}
	fails := func(err error, want string) {
		t.Helper()
		if err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("error: %v, want one that ends in %q", err, want)
		}
	}

	if err := ReplaceFile(link, []byte("old"), []byte("new")); err != nil {
		t.Fatal(err)
	}
	holds("new")
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is a link no more: %v", err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("the mode changed to %v (%v)", info.Mode(), err)
	}

	changed := "web.yaml has changed since it was read; give the command again"
	fails(CheckReplace(file, []byte("old")), changed)
	fails(ReplaceFile(file, []byte("old"), []byte("newer")), changed)
	if err := os.Chmod(file, 0o440); err != nil {
		t.Fatal(err)
	}
	fails(ReplaceFile(file, []byte("new"), []byte("newer")),
		"web.yaml is read-only; make it writable, or change it yourself")
	holds("new")
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	fails(ReplaceFile(file, []byte("new"), []byte("newer")), "no such file or directory")
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("files: %v, %v", left, err)
	}
}
