package gitserver

import (
	"path/filepath"

	"github.com/rogpeppe/go-internal/testscript"
)

// key is the key of the server of a script among its values.
type key struct{}

// Setup prepares a script for the commands.
func Setup(env *testscript.Env) { env.Values[key{}] = new(*Server) }

// Commands returns commands of scripts:
//
//   - gitserver starts a server of git repositories, whose address is in $GIT
//   - gitcommit REPOSITORY FOLDER makes the files of a folder the content of a repository. The hash
//     of the commit is in $COMMIT.
func Commands() map[string]func(*testscript.TestScript, bool, []string) {
	return map[string]func(*testscript.TestScript, bool, []string){
		"gitserver": start, "gitcommit": commit,
	}
}

func start(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: gitserver")
	}
	s, err := Start(filepath.Join(ts.Getenv("WORK"), ".git-server"))
	ts.Check(err)
	ts.Defer(s.Close)
	*ts.Value(key{}).(**Server) = s
	ts.Setenv("GIT", s.URL)
}

func commit(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: gitcommit REPOSITORY FOLDER")
	}
	s := *ts.Value(key{}).(**Server)
	if s == nil {
		ts.Fatalf(`the script has no git server; "gitserver" starts one`)
	}
	hash, err := s.Commit(args[0], ts.MkAbs(args[1]))
	ts.Check(err)
	ts.Setenv("COMMIT", hash)
}
