package setflags

import (
	"cmp"
	"context"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/feature/artifact"
	"github.com/muster-deploy/muster/internal/history"
	"github.com/muster-deploy/muster/internal/sets"
)

// Complete completes the flags of a command, and of those below it, that name a set: apps and
// packages with a record in the namespace; and those that name a cluster, kinds or namespaces of
// objects, or a folder.
func Complete(cmd *cobra.Command, kube *cli.Kube) {
	for _, child := range cmd.Commands() {
		Complete(child, kube)
	}
	completeObjects(cmd, kube)
	if cmd.Flags().Lookup("expect-cluster") != nil {
		kube.CompleteExpected(cmd)
	}
	for flag, kind := range map[string]string{"app": sets.KindApp, "record": sets.KindPackage} {
		if cmd.Flags().Lookup(flag) == nil {
			continue
		}
		cli.CompleteFlag(cmd, flag, func(cmd *cobra.Command) []string {
			return kube.Ask(cmd, func(ctx context.Context, c *cluster.Client) []string {
				return namesOf(ctx, c, kube, kind)
			})
		})
	}
}

// completeObjects completes the flags that choose objects, if the command has them.
func completeObjects(cmd *cobra.Command, kube *cli.Kube) {
	flags := cmd.Flags()
	if flags.Lookup("filter-kind") != nil {
		kube.CompleteKinds(cmd, "filter-kind", false)
	}
	for _, flag := range []string{"filter-ns", "namespaces", "new-namespace"} {
		if flags.Lookup(flag) != nil {
			kube.CompleteNamespaces(cmd, flag)
		}
	}
	if flags.Lookup("kustomize") != nil {
		// The only error is a flag that does not exist.
		_ = cmd.MarkFlagDirname("kustomize")
	}
}

// namesOf returns the names of the sets of a kind in the namespace.
func namesOf(ctx context.Context, c cluster.Writer, kube *cli.Kube, kind string) []string {
	namespace, _, err := kube.Namespace()
	if err != nil {
		return nil
	}
	listed, _ := sets.List(ctx, c, namespace) // what cannot be listed is left out
	var names []string
	for _, l := range listed {
		if l.Kind == kind {
			names = append(names, l.Name)
		}
	}
	return names
}

// CompleteStates completes a flag that names a state of the set: a revision with its age and
// outcome, last, good, live, the files, or a path.
func (f *Flags) CompleteStates(cmd *cobra.Command, kube *cli.Kube, flag string) {
	f.completeFlag(cmd, kube, flag, []string{
		sets.Live + "\tthe objects in the cluster", sets.Folder + "\tthe files of the set",
	}, cobra.ShellCompDirectiveDefault)
}

// CompleteRevisionFlag completes a flag that names a revision of the set: its number with the age
// and the outcome, last, or good. More are other values, each with a tab and a description.
func (f *Flags) CompleteRevisionFlag(
	cmd *cobra.Command, kube *cli.Kube, flag string, more ...string,
) {
	f.completeFlag(cmd, kube, flag, more, cobra.ShellCompDirectiveNoFileComp)
}

func (f *Flags) completeFlag(
	cmd *cobra.Command, kube *cli.Kube, flag string, more []string, files cobra.ShellCompDirective,
) {
	// The only error is a flag that does not exist or has a completion already.
	_ = cmd.RegisterFlagCompletionFunc(flag,
		func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			values := append(f.revisions(cmd, kube, args), namedRevisions...)
			return append(values, more...), files | cobra.ShellCompDirectiveKeepOrder
		})
}

// namedRevisions are the names of revisions with their meanings.
var namedRevisions = []string{
	history.Last + "\tthe newest revision", history.Good + "\tthe newest revision that succeeded",
}

// CompleteRevisionArgument completes the last argument, a revision, of a command whose other
// argument may be a folder.
func (f *Flags) CompleteRevisionArgument(kube *cli.Kube) cobra.CompletionFunc {
	return func(
		cmd *cobra.Command, args []string, word string,
	) ([]string, cobra.ShellCompDirective) {
		if names, done := completeSetArgument(cmd, kube, args, word); done {
			return names, cobra.ShellCompDirectiveNoFileComp
		}
		named := f.Named()
		switch {
		case len(args) > 1 || len(args) == 1 && named:
			return nil, cobra.ShellCompDirectiveNoFileComp
		case len(args) == 1 || named:
			return f.revisions(cmd, kube, args), cobra.ShellCompDirectiveNoFileComp |
				cobra.ShellCompDirectiveKeepOrder
		}
		// The folder may be left out.
		return f.revisions(cmd, kube, nil), cobra.ShellCompDirectiveDefault
	}
}

// revisions returns the numbers of the revisions of the set, the newest first, each with its age,
// outcome and author.
func (f *Flags) revisions(cmd *cobra.Command, kube *cli.Kube, args []string) []string {
	if slices.ContainsFunc(slices.Concat(f.Files, args), artifact.IsReference) {
		return nil // nothing is fetched for a completion
	}
	quiet := &cli.Env{ // a completion prints nothing else
		In: strings.NewReader(""), Out: io.Discard, Err: io.Discard, Getenv: os.Getenv, Now: time.Now,
	}
	return kube.Ask(cmd, func(ctx context.Context, c *cluster.Client) []string {
		args, err := f.UseSet(ctx, quiet, kube, args)
		if err != nil {
			return nil
		}
		r, err := f.Request(ctx, quiet, kube, args, nil)
		if err != nil {
			return nil
		}
		_, s, err := sets.OpenRevisions(ctx, c, r)
		if err != nil {
			return nil
		}
		heads, err := s.List(ctx)
		if err != nil {
			return nil
		}
		values := make([]string, len(heads))
		for i, h := range heads {
			values[i] = strconv.Itoa(h.Number) + "\t" + describeRevision(h, quiet.Now())
		}
		return values
	})
}

// describeRevision returns the age, the outcome and the author of a revision.
func describeRevision(h history.Head, now time.Time) string {
	parts := []string{duration.HumanDuration(now.Sub(h.Time)) + " ago", string(h.Outcome)}
	if h.Err != nil {
		parts = []string{"unreadable"}
	}
	if author := cmp.Or(h.User, h.Login); author != "" {
		parts = append(parts, author)
	}
	if h.Message != "" {
		parts = append(parts, h.Message)
	}
	if h.Pinned {
		parts = append(parts, "pinned")
	}
	return strings.Join(strings.Fields(strings.Join(parts, ", ")), " ")
}
