// Package gitserver serves git repositories on this host over HTTP, for tests and scripts. The
// program git makes the commits, and answers the requests.
package gitserver

import (
	"fmt"
	"io"
	"log"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Branch is the only branch of a repository.
const Branch = "main"

// Server is a server of git repositories.
type Server struct {
	*httptest.Server
	dir string
}

// Start starts a server. Its repositories are below a folder.
func Start(dir string) (*Server, error) {
	path, err := exec.Command("git", "--exec-path").Output()
	if err != nil {
		return nil, fmt.Errorf("find the programs of git: %w", err)
	}
	handler := &cgi.Handler{
		Path:   filepath.Join(strings.TrimSpace(string(path)), "git-http-backend"),
		Env:    []string{"GIT_PROJECT_ROOT=" + dir, "GIT_HTTP_EXPORT_ALL=1"},
		Logger: log.New(io.Discard, "", 0), Stderr: io.Discard,
	}
	return &Server{Server: httptest.NewServer(handler), dir: dir}, nil
}

// Commit makes the files of a folder the content of a repository, which it creates if there is
// none. It returns the hash of the commit.
func (s *Server) Commit(repository, folder string) (string, error) {
	repository = filepath.Join(s.dir, filepath.FromSlash(repository))
	if _, err := os.Stat(repository); os.IsNotExist(err) {
		_, err := git("init", "--quiet", "--bare", "--initial-branch="+Branch, repository)
		if err != nil {
			return "", err
		}
	}
	in := func(args ...string) []string {
		return append([]string{"-C", folder, "--git-dir=" + repository, "--work-tree=."}, args...)
	}
	if _, err := git(in("add", "--all")...); err != nil {
		return "", err
	}
	if _, err := git(in("commit", "--quiet", "--allow-empty", "--message=change")...); err != nil {
		return "", err
	}
	return git(in("rev-parse", "HEAD")...)
}

// git runs git without the configuration of the user, and returns what it prints.
func git(args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=test", "GIT_AUTHOR_EMAIL=test@example.com",
		"GIT_COMMITTER_NAME=test", "GIT_COMMITTER_EMAIL=test@example.com")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("git %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out)), nil
}
