package atomicfile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// ReplaceFiles keeps the mode and a link, and changes nothing if the file is not what was read.
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

	replace := func(path, before, after string) error {
		_, err := ReplaceFiles([]Replacement{{path, []byte(before), []byte(after)}})
		return err
	}
	if err := replace(link, "old", "new"); err != nil {
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
	fails(replace(file, "old", "newer"), changed)
	if err := os.Chmod(file, 0o440); err != nil {
		t.Fatal(err)
	}
	fails(replace(file, "new", "newer"),
		"web.yaml is read-only; make it writable, or change it yourself")
	holds("new")
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	fails(replace(file, "new", "newer"), "no such file or directory")
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("files: %v, %v", left, err)
	}
}

// If one of several files cannot be written, none is, and no temporary file stays.
func TestReplaceNoneOfSeveral(t *testing.T) {
	dir := t.TempDir()
	var files []Replacement
	for _, name := range []string{"a.yaml", "b.yaml"} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
			t.Fatal(err)
		}
		files = append(files, Replacement{path, []byte("old"), []byte("new")})
	}
	changed := files[1]
	changed.Before = []byte("other")
	if n, err := ReplaceFiles([]Replacement{files[0], changed}); n != 0 || err == nil {
		t.Errorf("%d files, error %v", n, err)
	}
	if text, err := os.ReadFile(files[0].Path); err != nil || string(text) != "old" {
		t.Errorf("the first file holds %q (%v)", text, err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 2 {
		t.Errorf("files: %v, %v", left, err)
	}
	if n, err := ReplaceFiles(files); n != 2 || err != nil {
		t.Errorf("%d files, error %v", n, err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 2 {
		t.Errorf("files: %v, %v", left, err)
	}
}
