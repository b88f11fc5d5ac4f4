package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/cli/look"
	"github.com/muster-deploy/muster/internal/cli/setflags"
	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/feature/managed"
	"github.com/muster-deploy/muster/internal/lock"
)

// recordsOf returns the records of sets that are locked. The set of another tool, which is adopted,
// has none.
func recordsOf(locked ...lock.Set) (records []managed.Record) {
	for _, set := range locked {
		r := managed.Record{Format: managed.Package, Namespace: set.Namespace, Name: set.Name}
		prefix, _, found := strings.Cut(set.ID, "/")
		if found {
			r.Format = prefix
		}
		if r.Format == managed.Package || r.Format == managed.App {
			records = append(records, r)
		}
	}
	return records
}

// refuseManaged returns an error if the controller keeps the set of one of the records, and would
// undo what a command changes.
func refuseManaged(
	ctx context.Context, env *cli.Env, c cluster.Writer, records []managed.Record,
) error {
	for _, record := range records {
		unknown, err := managed.CheckOwner(ctx, c, record)
		if owned := (*managed.OwnedError)(nil); errors.As(err, &owned) {
			return fmt.Errorf("%w: change the source, or let the controller leave the Set alone first: "+
				"%s", err, env.Command("suspend", owned.Set.Title(), "-n", record.Namespace))
		}
		if err != nil {
			return err
		}
		if unknown != nil {
			env.Notice(fmt.Sprintf("note: it is not known whether a Set owns %s in namespace %s: %v",
				record.Name, record.Namespace, unknown))
		}
	}
	return nil
}

// setArgument is the Set that a command is about.
type setArgument struct {
	client *cluster.Client
	set    *managed.Set
}

// openSet connects and returns the Set that an argument names.
func openSet(ctx context.Context, kube *cli.Kube, argument string) (a setArgument, err error) {
	name, err := managed.ParseName(argument)
	if err != nil {
		return a, err
	}
	namespace, _, err := kube.Namespace()
	if err != nil {
		return a, err
	}
	if a.client, err = kube.Client(); err != nil {
		return a, err
	}
	a.set, err = managed.Get(ctx, a.client, namespace, name)
	return a, err
}

// completeSets completes the names of the Sets in the namespace.
func completeSets(kube *cli.Kube) cobra.CompletionFunc {
	return func(
		cmd *cobra.Command, args []string, typed string,
	) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		prefix := ""
		if i := strings.Index(typed, "/"); i >= 0 {
			prefix = typed[:i+1]
		}
		return setflags.CompleteSets(cmd, kube, prefix), cobra.ShellCompDirectiveNoFileComp
	}
}

// newSuspend returns the command that suspends a Set, or the one that ends that.
func newSuspend(env *cli.Env, kube *cli.Kube, suspended bool) *cobra.Command {
	word, short := "suspend", "Let the controller leave a Set alone"
	long := `Set spec.suspend of a Set, so that the controller neither reads nor writes its objects. A run that
is in progress finishes the writes that it has begun. apply, destroy and the other commands work on
the package or app of a suspended Set. A later resume makes it what the source has.`
	if !suspended {
		word, short = "resume", "Let the controller keep a Set again that was suspended"
		long = `Unset spec.suspend of a Set. The controller then makes its objects what the source has, with
what others have changed meanwhile.`
	}
	return &cobra.Command{
		Use:   word + " SET",
		Short: short,
		Long: long + `

Exit codes:
  0  done, or it was so already
  1  it could not be done: the error says why`,
		Example: "  " + env.Name() + " " + word + " shop\n" +
			"  " + env.Name() + " " + word + " set/shop -n shop",
		Args:              cli.Arguments(1, 1),
		ValidArgsFunction: completeSets(kube),
		RunE: func(cmd *cobra.Command, args []string) error {
			return suspend(cmd.Context(), env, kube, args[0], suspended)
		},
	}
}

func suspend(
	ctx context.Context, env *cli.Env, kube *cli.Kube, argument string, suspended bool,
) error {
	a, err := openSet(ctx, kube, argument)
	if err != nil {
		return err
	}
	state, already := "suspended", ""
	if !suspended {
		state = "resumed"
	}
	if a.set.Spec.Suspend == suspended {
		already = " already"
		if !suspended {
			state, already = "not suspended", ""
		}
	} else if err := managed.Suspend(ctx, a.client, a.set, suspended); err != nil {
		return err
	}
	return env.Print(fmt.Sprintf("%s %s%s", a.set.Title(), state, already))
}

// setLine is a line of JSON about a Set.
type setLine struct {
	Type string `json:"type"` // always "set"
	*look.SetStatus
}

// printJSONLine prints a value as JSON in one line.
func printJSONLine(env *cli.Env, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(env.Out, string(text)); err != nil {
		return fmt.Errorf("write the output: %w", err)
	}
	return nil
}
