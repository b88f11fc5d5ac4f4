// Package origin finds out what the description of a revision says about where its objects come
// from: the git repository of a folder, and the command that was run.
//
// What cannot be found out is left out. Passwords and tokens are removed.
package origin

import (
	"context"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/muster-deploy/muster/internal/base/plaintext"
	"github.com/muster-deploy/muster/internal/history"
)

// gitTime limits the time that git may take.
const gitTime = 10 * time.Second

// maxCommand limits the length of a command.
const maxCommand = 2000

// Git returns the commit, branch and remote of the git work tree that a folder is in, and whether
// files in the folder differ from the commit; nil if it is in none, or there is no program git. In
// a work tree without a branch, as in pipelines, the variables of the pipeline name it. No program
// is started that the configuration of the work tree names.
func Git(ctx context.Context, folder string, getenv func(string) string) *history.Git {
	ctx, cancel := context.WithTimeout(ctx, gitTime)
	defer cancel()
	t, remove, err := openTree(ctx, folder)
	if err != nil {
		return nil
	}
	defer remove()
	g := &history.Git{Commit: t.commit, Branch: t.branch, Remote: withoutSecrets(t.remote)}
	if g.Dirty, err = t.isDirty(ctx); err != nil {
		return nil
	}
	for _, variable := range []string{"GITHUB_REF_NAME", "CI_COMMIT_REF_NAME", "GIT_BRANCH"} {
		if g.Branch == "" {
			g.Branch = getenv(variable)
		}
	}
	return g
}

// LastChange is the last commit that changed files of a folder.
type LastChange struct {
	Commit string
	Time   time.Time
	Dirty  bool // files in the folder differ from the commit
	Remote string
}

// Changed returns the last change of a folder; nil if it is in no git work tree, if no commit has
// files of it, or if there is no program git.
func Changed(ctx context.Context, folder string) *LastChange {
	ctx, cancel := context.WithTimeout(ctx, gitTime)
	defer cancel()
	t, remove, err := openTree(ctx, folder)
	if err != nil {
		return nil
	}
	defer remove()
	last, err := t.run(ctx, "log", "-1", "--format=%H %ct", "--", ".")
	commit, seconds, found := strings.Cut(strings.TrimSpace(last), " ")
	dirty, failed := t.isDirty(ctx)
	number, unread := strconv.ParseInt(seconds, 10, 64)
	if err != nil || failed != nil || unread != nil || !found {
		return nil
	}
	return &LastChange{
		Commit: commit, Time: time.Unix(number, 0).UTC(), Dirty: dirty,
		Remote: webAddress(withoutSecrets(t.remote)),
	}
}

// webAddress returns the address of a repository on the web, so that it does not depend on how the
// repository was cloned.
func webAddress(remote string) string {
	rest, ssh := strings.CutPrefix(remote, "ssh://")
	if !strings.Contains(remote, "://") {
		host, path, scp := strings.Cut(remote, ":")
		if !scp || strings.Contains(host, "/") {
			return "" // a folder of this host
		}
		rest, ssh = host+"/"+strings.TrimPrefix(path, "/"), true
	}
	if ssh {
		remote = "https://" + rest[strings.LastIndex(rest, "@")+1:]
	}
	if !strings.HasPrefix(remote, "https://") && !strings.HasPrefix(remote, "http://") {
		return ""
	}
	return strings.TrimSuffix(strings.TrimSuffix(remote, "/"), ".git")
}

// hidden stands for a credential.
const hidden = "REDACTED"

// secretFlags are the flags whose values are credentials.
var secretFlags = []string{"--token", "--password"}

// Command returns a command line without credentials, as a shell would read it.
func Command(args []string) string {
	words, hide := make([]string, len(args)), false
	for i, arg := range args {
		word := arg
		if i == 0 {
			word = filepath.Base(arg)
		}
		if hide {
			word, hide = hidden, false
		}
		for _, flag := range secretFlags {
			hide = hide || word == flag
			if strings.HasPrefix(word, flag+"=") {
				word = flag + "=" + hidden
			}
		}
		words[i] = plaintext.ShellWord(withoutSecrets(word))
	}
	command := strings.Join(words, " ")
	if len(command) > maxCommand {
		command = strings.ToValidUTF8(command[:maxCommand], "") + " ..."
	}
	return command
}

// withoutSecrets returns a text without the user, the query and the fragment of a URL in it.
func withoutSecrets(text string) string {
	before, _, found := strings.Cut(text, "://")
	if !found {
		return text
	}
	start := strings.LastIndexAny(before, "=,") + 1
	u, err := url.Parse(text[start:])
	if err != nil {
		return text[:start] + hidden
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return text[:start] + u.String()
}
