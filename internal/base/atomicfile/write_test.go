package atomicfile

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// What stands at a path stays what it is: a link, a link that leads nowhere yet, a pipe, the output
// of the process.
func TestReplaceFile(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	put := func(name string) {
		t.Helper()
		if err := Write(at(name), []byte("new"), 0o600); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	holds := func(name, want string) {
		t.Helper()
		if text, err := os.ReadFile(at(name)); err != nil || string(text) != want {
			t.Errorf("%s holds %q (%v), want %q", name, text, err, want)
		}
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.Mkdir(at("folder"), 0o700))
	must(os.WriteFile(at("folder/real"), []byte("old"), 0o644))
	must(os.Symlink("folder/real", at("link")))
	must(os.Symlink("folder/later", at("dangling")))
	must(os.Symlink("circle", at("circle")))
	must(syscall.Mkfifo(at("pipe"), 0o600))

	put("file")
	holds("file", "new")
	put("link")
	holds("folder/real", "new")
	put("dangling")
	holds("folder/later", "new")
	for _, name := range []string{"link", "dangling"} {
		if info, err := os.Lstat(at(name)); err != nil || info.Mode()&os.ModeSymlink == 0 {
			t.Errorf("%s is a link no more: %v", name, err)
		}
	}
	if info, err := os.Stat(at("folder/real")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file has mode %v (%v)", info.Mode(), err)
	}

	read := make(chan string)
	go func() { // ends when the pipe is closed, and the test waits for its word
		text, _ := os.ReadFile(at("pipe"))
		read <- string(text)
	}()
	put("pipe")
	if text := <-read; text != "new" {
		t.Errorf("through the pipe came %q", text)
	}
	if info, err := os.Stat(at("pipe")); err != nil || info.Mode()&os.ModeNamedPipe == 0 {
		t.Errorf("the pipe is one no more: %v", err)
	}

	for name, want := range map[string]string{
		"folder":    "folder is a folder; name a file",
		"none/file": "there is no folder " + at("none"),
		"circle":    "too many",
	} {
		if err := Write(at(name), []byte("new"), 0o600); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: error = %v, want %q", name, err, want)
		}
	}
	entries, err := os.ReadDir(dir)
	must(err)
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), ".") {
			t.Errorf("%s was left behind", entry.Name())
		}
	}
}

// A file that the output goes to is added to: in place of it nobody would see what is printed.
func TestReplaceFileOfOutput(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out")
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = file.WriteString("printed\n")
	if err := Write(path, []byte("plan\n"), 0o600, file); err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteString("more\n"); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "printed\nplan\nmore\n" {
		t.Errorf("the file holds %q (%v)", text, err)
	}
}
