package setflags

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/feature/managed"
	"github.com/muster-deploy/muster/internal/sets"
	"github.com/muster-deploy/muster/internal/sets/packages"
)

// UseSet looks whether the first argument names a Set that the controller keeps, as set/NAME. Then
// the flags stand for its record from now on, and the other arguments are returned. A folder with
// this path goes first; sets.muster.dev/NAME is never one. The error is a *managed.ElsewhereError
// if the record is in another cluster.
func (f *Flags) UseSet(
	ctx context.Context, env *cli.Env, kube *cli.Kube, args []string,
) (rest []string, err error) {
	if len(args) == 0 || f.Named() {
		return args, nil
	}
	is, full := managed.IsName(args[0])
	if !is || !full && exists(args[0]) {
		return args, nil
	}
	name, err := managed.ParseName(args[0])
	if err != nil {
		return nil, err
	}
	namespace, _, err := kube.Namespace()
	if err != nil {
		return nil, err
	}
	client, err := f.Connect(ctx, env, kube, nil)
	if err != nil {
		return nil, err
	}
	if f.Managed, err = managed.Get(ctx, client, namespace, name); err != nil {
		return nil, err
	}
	if f.Managed.Elsewhere() {
		return nil, &managed.ElsewhereError{Set: f.Managed}
	}
	if record := f.Managed.Record(); record.Format == managed.App {
		f.App = record.Name
	} else {
		f.Record = record.Name
	}
	return args[1:], nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// UnrecordedError reports a Set that has deployed nothing yet, so that there is no record.
type UnrecordedError struct{ Set *managed.Set }

func (e *UnrecordedError) Error() string {
	state, reason := e.Set.State()
	text := fmt.Sprintf("%s in namespace %s has deployed nothing yet: it is %s", e.Set.Title(),
		e.Set.Namespace, state)
	if reason != "" {
		text += ": " + reason
	}
	if source := e.Set.SourceError(); source != "" && source != reason {
		text += "; the source could not be fetched: " + source
	}
	return text
}

// Unrecorded returns an *UnrecordedError for the error that there is no record, if the command is
// about a Set, and other errors without a change.
func (f *Flags) Unrecorded(err error) error {
	if f.Managed == nil {
		return err
	}
	if errors.As(err, new(*packages.NoRecordError)) || errors.As(err, new(*sets.NoRecordError)) ||
		errors.Is(err, packages.ErrNoDefinition) {
		return &UnrecordedError{f.Managed}
	}
	return err
}

// CompleteArgument completes the argument of a command that shows a set: the folder of a package,
// or set/NAME.
func CompleteArgument(kube *cli.Kube) cobra.CompletionFunc {
	return func(
		cmd *cobra.Command, args []string, typed string,
	) ([]string, cobra.ShellCompDirective) {
		if names, done := completeSetArgument(cmd, kube, args, typed); done {
			return names, cobra.ShellCompDirectiveNoFileComp
		}
		return cli.CompleteFolders(cmd, args, typed)
	}
}

// completeSetArgument completes an argument that begins with set/, unless there is such a folder.
func completeSetArgument(
	cmd *cobra.Command, kube *cli.Kube, args []string, typed string,
) (names []string, done bool) {
	kind, _, found := strings.Cut(typed, "/")
	if is, full := managed.IsName(kind + "/x"); len(args) > 0 || !found || !is ||
		!full && exists(filepath.Clean(kind)) {
		return nil, false
	}
	return CompleteSets(cmd, kube, kind+"/"), true
}

// CompleteSets returns the names of the Sets in the namespace, each after a prefix.
func CompleteSets(cmd *cobra.Command, kube *cli.Kube, prefix string) []string {
	return kube.Ask(cmd, func(ctx context.Context, c *cluster.Client) []string {
		namespace, _, err := kube.Namespace()
		if err != nil {
			return nil
		}
		found, _ := managed.List(ctx, c, namespace) // what cannot be listed is left out
		names := make([]string, len(found))
		for i, s := range found {
			names[i] = prefix + s.Name
		}
		return names
	})
}
