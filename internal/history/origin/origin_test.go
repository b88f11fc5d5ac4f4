package origin

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestCommand(t *testing.T) {
	for _, tc := range []struct{ args, want string }{
		{"/usr/bin/muster apply shop", "muster apply shop"},
		{"muster apply --token abc -a web", "muster apply --token REDACTED -a web"},
		{"muster apply --token=abc --password x", "muster apply --token=REDACTED --password REDACTED"},
		{"muster apply -a web -f https://ann:pw@example.com/a.yaml?sig=1#2",
			"muster apply -a web -f https://example.com/a.yaml"},
		{"muster apply --filename=https://ann:pw@example.com/a.yaml",
			"muster apply --filename=https://example.com/a.yaml"},
		{"muster apply --filename=https://%zz", "muster apply --filename=REDACTED"},
	} {
		if got := Command(strings.Fields(tc.args)); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.args, got, tc.want)
		}
	}
	if got := Command([]string{"muster", "-m", "a b", "it's $1", ""}); got !=
		"muster -m 'a b' 'it'\\''s $1' ''" {
		t.Errorf("quoted: %s", got)
	}
	if got := Command([]string{"muster", strings.Repeat("ü", 2000)}); len(got) > maxCommand+4 {
		t.Errorf("a long command has %d bytes", len(got))
	}
}

func TestGit(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no program git")
	}
	dir := t.TempDir()
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	t.Setenv("GIT_CONFIG_SYSTEM", os.DevNull)
	t.Setenv("GIT_CEILING_DIRECTORIES", filepath.Dir(dir))
	getenv := func(name string) string { return map[string]string{"GITHUB_REF_NAME": "pull/7"}[name] }
	if g := Git(t.Context(), dir, getenv); g != nil {
		t.Errorf("no work tree: %+v", g)
	}
	git := func(args ...string) string {
		t.Helper()
		identity := []string{"-c", "user.name=a", "-c", "user.email=a@b"}
		cmd := exec.Command("git", append(identity, args...)...)
		cmd.Dir = dir
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("git %q: %v", args, err)
		}
		return strings.TrimSpace(string(out))
	}
	git("init", "--quiet", "--initial-branch", "trunk")
	git("remote", "add", "origin", "https://ann:pw@example.com/shop.git")
	for _, folder := range []string{"one", "two"} {
		file := filepath.Join(dir, folder, "a.yaml")
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte("a"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	git("add", "one")
	git("commit", "--quiet", "-m", "first")
	head := git("rev-parse", "HEAD")
	g := Git(t.Context(), filepath.Join(dir, "one"), getenv)
	if g == nil || g.Commit != head || g.Branch != "trunk" || g.Dirty ||
		g.Remote != "https://example.com/shop.git" {
		t.Errorf("clean folder: %+v", g)
	}
	if g := Git(t.Context(), filepath.Join(dir, "two"), getenv); g == nil || !g.Dirty {
		t.Errorf("folder with new files: %+v", g)
	}
	git("checkout", "--quiet", "--detach")
	if g := Git(t.Context(), filepath.Join(dir, "one"), getenv); g == nil || g.Branch != "pull/7" {
		t.Errorf("detached: %+v", g)
	}
}
