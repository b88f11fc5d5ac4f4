//go:build unix

package origin

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// epoch is a time of change that no index has.
var epoch = time.Unix(1, 0)

// TestNoPrograms reads work trees whose own configuration names programs.
func TestNoPrograms(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no program git")
	}
	top := t.TempDir()
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	t.Setenv("GIT_CONFIG_SYSTEM", os.DevNull)
	t.Setenv("GIT_CEILING_DIRECTORIES", filepath.Dir(top))
	marker := filepath.Join(top, "marker")
	program := filepath.Join(top, "program")
	write := func(path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	write(program, "#!/bin/sh\necho \"$0 $*\" >>"+marker+"\ncat\n")
	git := func(dir string, args ...string) string {
		t.Helper()
		options := []string{"-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgSign=false",
			"-c", "protocol.file.allow=always", "-c", "core.hooksPath=/dev/null"}
		cmd := exec.Command("git", append(options, args...)...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %q: %v: %s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	// newTree makes a work tree with a commit, whose file may have changed since.
	newTree := func(dir string) {
		t.Helper()
		write(filepath.Join(dir, "a.yaml"), "a")
		write(filepath.Join(dir, "b.yaml"), "b")
		git(dir, "init", "--quiet", "--initial-branch", "trunk")
		git(dir, "remote", "add", "origin", "https://example.com/shop.git")
		git(dir, "add", ".")
		git(dir, "commit", "--quiet", "-m", "first")
		write(filepath.Join(dir, ".gitattributes"), "* filter=x diff=x\n")
		git(dir, "add", ".")
		git(dir, "commit", "--quiet", "-m", "second")
		write(filepath.Join(dir, "a.yaml"), "b") // of the same size
		if err := os.Chtimes(filepath.Join(dir, "b.yaml"), epoch, epoch); err != nil {
			t.Fatal(err)
		}
	}
	// signed replaces the commit by one with a signature that gpg would verify.
	signed := func(dir string) {
		t.Helper()
		raw := git(dir, "cat-file", "commit", "HEAD")
		header, message, _ := strings.Cut(raw, "\n\n")
		write(filepath.Join(dir, ".git/raw"), header+"\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n"+
			" -----END PGP SIGNATURE-----\n\n"+message+"\n")
		id := git(dir, "hash-object", "-t", "commit", "-w", ".git/raw")
		git(dir, "update-ref", "HEAD", id)
	}
	config := func(section, text string) func(string) {
		return func(dir string) {
			file := filepath.Join(dir, ".git/config")
			old, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			write(file, string(old)+"\n["+section+"]\n"+strings.ReplaceAll(text, "PROGRAM", program))
		}
	}
	for name, prepare := range map[string]func(dir string){
		"clean":     config(`filter "x"`, "clean = PROGRAM"),
		"process":   config(`filter "x"`, "process = PROGRAM\nrequired = true"),
		"fsmonitor": config("core", "fsmonitor = PROGRAM"),
		"filter of another name": func(dir string) {
			write(filepath.Join(dir, ".gitattributes"), "* filter=a=b.c\n")
			config(`filter "a=b.c"`, "clean = PROGRAM")(dir)
		},
		"included": func(dir string) {
			write(filepath.Join(dir, ".git/more"), "[filter \"x\"]\nclean = "+program+"\n")
			config("include", "path = more")(dir)
		},
		"of the work tree": func(dir string) {
			config("extensions", "worktreeConfig = true")(dir)
			write(filepath.Join(dir, ".git/config.worktree"), "[filter \"x\"]\nclean = "+program+"\n")
		},
		"signature": func(dir string) {
			signed(dir)
			config("log", "showSignature = true")(dir)
			config("gpg", "program = PROGRAM")(dir)
		},
		"others": func(dir string) {
			config("diff", "external = PROGRAM")(dir)
			config(`diff "x"`, "textconv = PROGRAM\ncommand = PROGRAM")(dir)
			config("core", "sshCommand = PROGRAM\npager = PROGRAM\neditor = PROGRAM\nhooksPath = hooks\n"+
				"alternateRefsCommand = PROGRAM\naskPass = PROGRAM")(dir)
			config("alias", "status = !PROGRAM\nlog = !PROGRAM\nrev-parse = !PROGRAM")(dir)
			for _, hook := range []string{
				"post-index-change", "fsmonitor-watchman", "reference-transaction",
			} {
				write(filepath.Join(dir, "hooks", hook), "#!/bin/sh\n"+program+"\n")
				write(filepath.Join(dir, ".git/hooks", hook), "#!/bin/sh\n"+program+"\n")
			}
		},
		"missing objects": func(dir string) {
			config("extensions", "partialClone = origin")(dir)
			config(`remote "origin"`, "promisor = true\nurl = ext::PROGRAM\nuploadpack = PROGRAM\n"+
				"vcs = program")(dir)
			config("protocol", "allow = always")(dir)
			tree := git(dir, "rev-parse", "HEAD^{tree}")
			if err := os.Remove(filepath.Join(dir, ".git/objects", tree[:2], tree[2:])); err != nil {
				t.Fatal(err)
			}
		},
		"submodule": func(dir string) {
			other := filepath.Join(filepath.Dir(dir), "other")
			newTree(other)
			git(dir, "submodule", "--quiet", "add", other, "sub")
			git(dir, "commit", "--quiet", "-m", "third")
			write(filepath.Join(dir, "sub/a.yaml"), "c")
			file := filepath.Join(dir, ".git/modules/sub/config")
			old, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			write(file, string(old)+"\n[filter \"x\"]\nclean = "+program+"\n[core]\nfsmonitor = "+
				program+"\n")
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "tree")
			newTree(dir)
			prepare(dir)
			if err := os.RemoveAll(marker); err != nil {
				t.Fatal(err)
			}
			g := Git(t.Context(), dir, func(string) string { return "" })
			last := Changed(t.Context(), dir)
			if text, err := os.ReadFile(marker); err == nil {
				t.Errorf("started: %s", text)
			}
			if name == "missing objects" {
				return // what cannot be found out is left out
			}
			if g == nil || g.Branch != "trunk" || g.Commit == "" || !g.Dirty {
				t.Errorf("Git = %+v", g)
			}
			if last == nil || last.Commit == "" || !last.Dirty {
				t.Errorf("Changed = %+v", last)
			}
		})
	}
}
