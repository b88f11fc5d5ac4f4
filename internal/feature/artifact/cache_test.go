package artifact

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"
)

// TestCacheFolder: a folder that is right stays what it is, and one that somebody changed is made
// again.
func TestCacheFolder(t *testing.T) {
	c := Cache{Dir: filepath.Join(t.TempDir(), "cache"), Now: time.Now}
	d := digest.FromString("any")
	dir, err := c.Folder(d, sample)
	if err != nil {
		t.Fatal(err)
	}
	first, err := os.Stat(dir)
	if err != nil {
		t.Fatal(err)
	}
	changed := filepath.Join(dir, sample.Paths()[0])
	for _, test := range []struct {
		name string
		do   func() error
		same bool
	}{
		{"untouched", func() error { return nil }, true},
		{"a changed file", func() error { return os.WriteFile(changed, []byte("x"), 0o600) }, false},
		{"another file", func() error {
			return os.WriteFile(filepath.Join(dir, "more.yaml"), nil, 0o600)
		}, false},
	} {
		before, err := os.Stat(dir)
		if err != nil {
			t.Fatal(err)
		}
		if err := test.do(); err != nil {
			t.Fatal(err)
		}
		again, err := c.Folder(d, sample)
		if err != nil || again != dir {
			t.Fatalf("%s: got %q, %v", test.name, again, err)
		}
		after, err := os.Stat(dir)
		if err != nil || os.SameFile(before, after) != test.same {
			t.Errorf("%s: the folder is the same: %t, %v", test.name, !test.same, err)
		}
		if have, err := ReadFolder(dir, nil); err != nil || !have.Equal(sample) {
			t.Errorf("%s: the folder has %v, %v", test.name, have.Paths(), err)
		}
	}
	entries, err := os.ReadDir(c.Dir)
	if err != nil || len(entries) != 1 || first.Name() != entries[0].Name() {
		t.Errorf("the cache has %v, %v", entries, err)
	}
}

// TestCachePrivate: files that others may change are not used.
func TestCachePrivate(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes of folders mean nothing there")
	}
	c := Cache{Dir: t.TempDir(), Now: time.Now}
	if err := os.Chmod(c.Dir, 0o770); err != nil {
		t.Fatal(err)
	}
	_, err := c.Folder(digest.FromString("any"), sample)
	if err == nil || !strings.Contains(err.Error(), "others may write to the cache of artifacts") {
		t.Errorf("got %v", err)
	}
}

// TestWithoutAddresses: an error has no part of an address that may hold credentials.
func TestWithoutAddresses(t *testing.T) {
	const text = `Get "https://user:pw@store.example.com/a?X-Signature=abc": timeout of http://b/c`
	const want = `Get "https://store.example.com": timeout of http://b`
	if got := withoutAddresses(text); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
