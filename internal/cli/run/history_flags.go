package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/cli/setflags"
	"github.com/muster-deploy/muster/internal/history"
	"github.com/muster-deploy/muster/internal/history/origin"
	"github.com/muster-deploy/muster/internal/sets"
)

// maxMessage limits the length of --message in bytes.
const maxMessage = 4096

// historyFlags say what a run leaves in the history of its set.
type historyFlags struct {
	message string
	limit   int
	secrets cli.Choice
	keep    bool // of destroy

	restores int             // the revision that the run restores; 0 is none
	sources  func() []string // returns the references of artifacts that were fetched; nil for none
}

// newHistoryFlags returns the flags with defaults.
func newHistoryFlags() historyFlags {
	return historyFlags{limit: history.DefaultLimit, secrets: cli.Choice{
		Value: string(history.OwnNamespace), Meaning: "--history-secrets", Allowed: []string{
			string(history.OwnNamespace), string(history.OnlyDigest), string(history.NoData),
		},
	}}
}

// add adds the flags.
func (f *historyFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVarP(&f.message, "message", "m", "", "Why the run is made, for the history of the set")
	flags.IntVar(&f.limit, "history-limit", f.limit,
		"Number of revisions that the history keeps; 0 writes none")
}

// addSecrets adds the flag for the data of Secrets.
func (f *historyFlags) addSecrets(cmd *cobra.Command) {
	f.secrets.AddTo(cmd, "history-secrets", "What the history keeps of the data of Secrets: all, in "+
		"their own namespaces, a digest, or nothing")
}

// addKeep adds the flag for what a destroy leaves.
func (f *historyFlags) addKeep(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.keep, "keep-history", false, "Keep the history of what is destroyed")
}

// check returns an error for invalid flags.
func (f *historyFlags) check() error {
	var errs []error
	if f.limit < 0 {
		errs = append(errs, fmt.Errorf("--history-limit %d is negative; 0 writes no history", f.limit))
	}
	if len(f.message) > maxMessage {
		errs = append(errs, fmt.Errorf("--message has more than %d bytes", maxMessage))
	}
	return errors.Join(append(errs, f.secrets.Check())...)
}

// recorder returns an operation that keeps the history of its set, whose files are in a folder.
func (f *historyFlags) recorder(
	env *cli.Env, kube *cli.Kube, t setflags.Target, op *sets.Operation, folder string,
) *sets.Recorder {
	return sets.NewRecorder(t.Cluster, op, sets.HistoryOptions{
		Limit: f.limit, Secrets: history.DataPolicy(f.secrets.Value), Keep: f.keep, Now: env.Now,
		Describe: func(ctx context.Context) history.Meta {
			host, _ := os.Hostname() // empty if it is not known
			m := history.Meta{
				User: kube.User(ctx, t.Cluster), Login: env.Login(), Host: host, Tool: cli.Version(),
				Command: origin.Command(env.Args), Message: f.message, CI: env.Job(),
				Parent: f.restores, Restores: f.restores,
			}
			if f.sources != nil {
				m.Artifact = strings.Join(f.sources(), " ")
			}
			if folder != "" {
				m.Git = origin.Git(ctx, folder, env.Getenv)
			}
			return m
		},
	})
}
