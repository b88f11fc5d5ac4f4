package gitserver

import (
	"os"
	"path/filepath"
	"testing"
)

// TestServer: a clone has the files of the last commit, and no others.
func TestServer(t *testing.T) {
	s, err := Start(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	for _, name := range []string{"a.yaml", "b.yaml"} {
		folder := t.TempDir()
		if err := os.WriteFile(filepath.Join(folder, name), []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
		hash, err := s.Commit("team/shop", folder)
		if err != nil {
			t.Fatal(err)
		}
		clone := filepath.Join(t.TempDir(), "shop")
		if _, err := git("clone", "--quiet", "--depth=1", s.URL+"/team/shop", clone); err != nil {
			t.Fatal(err)
		}
		cloned, err := git("-C", clone, "rev-parse", "HEAD")
		if err != nil || cloned != hash {
			t.Errorf("the clone has the commit %s, want %s: %v", cloned, hash, err)
		}
		files, err := filepath.Glob(filepath.Join(clone, "[^.]*"))
		if err != nil || len(files) != 1 || filepath.Base(files[0]) != name {
			t.Errorf("the clone has %v, want %s: %v", files, name, err)
		}
	}
}
