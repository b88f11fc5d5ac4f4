package origin

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// workTree is a git work tree that is read with a configuration of our own. The one of the
// repository may come from anybody, as that of an unpacked archive, and names programs: filters,
// monitors of files, verifiers of signatures, transports that fetch missing objects.
type workTree struct {
	folder string // whose files are asked about
	top    string
	dir    string // a temporary repository that has the objects, the index and the commit
	commit string // empty before the first
	branch string // empty if none is checked out
	remote string
}

// openTree returns the work tree that a folder is in. Its close function is called afterwards.
func openTree(ctx context.Context, folder string) (*workTree, func(), error) {
	ask := func(args ...string) (string, error) { // what git answers here is only looked up
		return runGit(ctx, append([]string{"-C", folder}, args...)...)
	}
	paths, err := ask("rev-parse", "--path-format=absolute", "--show-toplevel", "--git-dir",
		"--git-common-dir", "--show-object-format")
	lines := strings.Split(strings.TrimSpace(paths), "\n")
	if err != nil || len(lines) != 4 {
		return nil, nil, errors.Join(errors.New("not a work tree"), err)
	}
	absolute, err := filepath.Abs(folder)
	if err != nil {
		return nil, nil, err
	}
	t := &workTree{folder: absolute, top: lines[0]}
	t.commit, _ = ask("rev-parse", "--quiet", "--verify", "HEAD")
	t.branch, _ = ask("symbolic-ref", "--quiet", "--short", "HEAD")
	t.remote, _ = ask("config", "--get", "remote.origin.url")
	for _, text := range []*string{&t.commit, &t.branch, &t.remote} {
		*text = strings.TrimSpace(*text)
	}
	if t.dir, err = os.MkdirTemp("", "muster-git-"); err != nil {
		return nil, nil, err
	}
	remove := func() { _ = os.RemoveAll(t.dir) } // it is temporary
	settings := settingsOf(func(key string) string {
		value, _ := ask("config", "--get", key)
		return strings.TrimSpace(value)
	}, lines[3])
	if err := t.fill(ctx, lines[1], lines[2], settings); err != nil {
		remove()
		return nil, nil, err
	}
	return t, remove, nil
}

// settings are the settings of a repository that say how its files are compared. Their values are
// words.
var settings = []string{"autocrlf", "eol", "fileMode", "ignoreCase", "symlinks",
	"precomposeUnicode", "trustctime", "checkStat"}

var word = regexp.MustCompile("^[a-z0-9]+$")

// settingsOf returns the text of a configuration with the settings that get returns.
func settingsOf(get func(key string) string, format string) string {
	var b strings.Builder
	b.WriteString("[core]\n\tbare = false\n")
	if word.MatchString(format) && format != "sha1" {
		b.WriteString("\trepositoryFormatVersion = 1\n[extensions]\n\tobjectFormat = " + format +
			"\n[core]\n")
	} else {
		b.WriteString("\trepositoryFormatVersion = 0\n")
	}
	for _, name := range settings {
		if value := get("core." + name); word.MatchString(value) {
			b.WriteString("\t" + name + " = " + value + "\n")
		}
	}
	return b.String()
}

// fill makes the temporary repository.
func (t *workTree) fill(ctx context.Context, gitDir, commonDir, settings string) error {
	head := t.commit
	if head == "" {
		head = "ref: refs/heads/none"
	}
	objects := strings.ReplaceAll(filepath.Join(commonDir, "objects"), "\n", "")
	var errs []error
	for name, text := range map[string]string{
		"config": settings, "HEAD": head + "\n", "objects/info/alternates": objects + "\n",
		"refs/none": "",
	} {
		path := filepath.Join(t.dir, filepath.FromSlash(name))
		errs = append(errs, os.MkdirAll(filepath.Dir(path), 0o700),
			os.WriteFile(path, []byte(text), 0o600))
	}
	shared, err := filepath.Glob(filepath.Join(gitDir, "sharedindex.*"))
	c := &copier{ctx: ctx, to: t.dir, left: maxCopied}
	errs = append(errs, err, c.copy(gitDir, "index"))
	for _, path := range shared {
		errs = append(errs, c.copy(gitDir, filepath.Base(path)))
	}
	for _, name := range []string{"shallow", "info/exclude", "info/attributes"} {
		errs = append(errs, c.copy(commonDir, filepath.FromSlash(name)))
	}
	return errors.Join(errs...)
}

// maxCopied limits the bytes that are copied from a repository, which may be of anybody. An index
// has about a hundred for each file.
const maxCopied = 64 << 20

// errLarge is the error of a repository with more than maxCopied to copy.
var errLarge = errors.New("the index of the repository is too large")

// copier copies files into a folder, until its context ends.
type copier struct {
	ctx  context.Context
	to   string
	left int64 // bytes that may still be copied
}

// copy copies a regular file of a folder, if there is one.
func (c *copier) copy(from, name string) error {
	if err := c.ctx.Err(); err != nil {
		return err
	}
	info, err := os.Lstat(filepath.Join(from, name))
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	if info.Size() > c.left {
		return errLarge
	}
	in, err := os.Open(filepath.Join(from, name))
	if err != nil {
		return err
	}
	defer in.Close()
	to := filepath.Join(c.to, name)
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	err = c.write(out, in)
	// git trusts the index about files that were changed before it was.
	return errors.Join(err, out.Close(), os.Chtimes(to, info.ModTime(), info.ModTime()))
}

// write copies what is read, which may have grown since its size was looked up.
func (c *copier) write(out io.Writer, in io.Reader) error {
	for {
		if err := c.ctx.Err(); err != nil {
			return err
		}
		n, err := io.CopyN(out, in, min(c.left+1, 1<<20))
		if c.left -= n; c.left < 0 {
			return errLarge
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// isDirty reports whether files of the folder differ from the commit, or are new. Submodules, which
// have a configuration of their own, count by their commit in the index alone.
func (t *workTree) isDirty(ctx context.Context) (bool, error) {
	out, err := t.run(ctx, "status", "--porcelain", "--ignore-submodules=all", "--", ".")
	return strings.TrimSpace(out) != "", err
}

// run returns the output of git for the folder.
func (t *workTree) run(ctx context.Context, args ...string) (string, error) {
	return runGit(ctx, append([]string{
		"-C", t.folder, "--git-dir=" + t.dir, "--work-tree=" + t.top,
	}, args...)...)
}

// runGit returns the output of git. It starts no monitor of files, pager or verifier, fetches no
// objects, and takes no lock of the repository.
func runGit(ctx context.Context, args ...string) (string, error) {
	args = append([]string{
		"--no-optional-locks", "--no-pager", "-c", "core.fsmonitor=false",
		"-c", "core.hooksPath=" + os.DevNull, "-c", "log.showSignature=false",
	}, args...)
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Env = append(os.Environ(), "GIT_NO_LAZY_FETCH=1", "GIT_TERMINAL_PROMPT=0")
	out, err := cmd.Output()
	return string(out), err
}
