// Package locks holds the commands that show and remove the locks of packages and apps.
package locks

import (
	"context"
	"errors"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/muster-deploy/muster/internal/base/plaintext"
	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/lock"
	"github.com/muster-deploy/muster/internal/sets"
	"github.com/muster-deploy/muster/internal/sets/app"
	"github.com/muster-deploy/muster/internal/sets/packages"
)

// Commands returns the commands lock, unlock and locks.
func Commands(env *cli.Env, kube *cli.Kube) []*cobra.Command {
	return []*cobra.Command{newLock(env, kube), newUnlock(env, kube), newLocks(env, kube)}
}

// target is the set that a command is about.
type target struct {
	app    string
	record string
	output cli.Choice
}

func (t *target) add(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&t.app, "app", "a", "",
		"Name of an app, instead of the folder of a package")
	cmd.Flags().StringVar(&t.record, "record", "",
		"Name of the package's record in the namespace of -n, instead of its folder")
	cmd.Args = cli.Arguments(0, 1)
	cmd.ValidArgsFunction = cli.CompleteFolders
}

// newOutput returns the choice of the output format.
func newOutput() cli.Choice {
	return cli.Choice{Value: "text", Meaning: "output",
		Allowed: []string{"text", cli.OutputJSON, cli.OutputYAML}}
}

// set returns the set, and connects to its cluster.
func (t *target) set(
	ctx context.Context, env *cli.Env, kube *cli.Kube, args []string,
) (set lock.Set, c cluster.Writer, err error) {
	switch {
	case t.app != "" && t.record != "":
		err = errors.New("--app names an app and --record a package: give one of them")
	case t.app != "" && len(args) > 0:
		err = errors.New("give either the folder of a package or --app, not both")
	case t.record != "" && len(args) > 0:
		err = errors.New("--record names a package without its folder: give one of them")
	}
	if err != nil {
		return set, nil, err
	}
	client, err := kube.Client()
	if err != nil {
		return set, nil, err
	}
	namespace, _, err := kube.Namespace()
	switch {
	case err != nil:
		return set, nil, err
	case t.app != "":
		set, err = appLock(ctx, client, namespace, t.app)
		return set, client, err
	case t.record != "":
		set, err = recordSet(ctx, client, namespace, t.record)
		return set, client, err
	}
	folder := "."
	if len(args) > 0 {
		folder = args[0]
	}
	inv, err := packages.OpenInventory(ctx, packages.Input{
		Folder: folder, Stream: env.In, Notice: env.Notice,
	})
	if err != nil {
		return set, nil, err
	}
	return packages.LockSet(inv), client, nil
}

// appLock returns the app of a name. The first run of one locks it before there is a record.
func appLock(
	ctx context.Context, c cluster.Writer, namespace, name string,
) (lock.Set, error) {
	set := app.LockSet(app.Name{Name: name, Namespace: namespace})
	if held, err := lock.Get(ctx, c, set); err != nil || held != nil {
		return set, err
	}
	named, err := sets.OpenRecord(ctx, sets.Request{App: name, Namespace: namespace})
	if err != nil {
		return set, err
	}
	_, err = sets.OpenHistory(ctx, c, named)
	none, elsewhere := (*sets.NoRecordError)(nil), (*sets.ElsewhereError)(nil)
	if errors.As(err, &none) || errors.As(err, &elsewhere) {
		return set, err
	}
	return set, nil // a record that cannot be read may be that of the app
}

// recordSet returns the package with a record. The first run of one whose files do not name the
// record locks it before there is a record.
func recordSet(
	ctx context.Context, c cluster.Writer, namespace, name string,
) (set lock.Set, err error) {
	inv, err := packages.FindInventory(ctx, c, namespace, name)
	if err == nil {
		return packages.LockSet(inv), nil
	}
	if !errors.As(err, new(*packages.NoRecordError)) {
		return set, err
	}
	if inv, err = packages.NewInventory(namespace, name); err != nil {
		return set, err
	}
	held, err := lock.Get(ctx, c, packages.LockSet(inv))
	if err == nil && held == nil {
		_, err = sets.Find(ctx, c, sets.Request{Namespace: namespace, Record: name}) // with a hint
	}
	return packages.LockSet(inv), err
}

func newLock(env *cli.Env, kube *cli.Kube) *cobra.Command {
	t := target{output: newOutput()}
	cmd := &cobra.Command{
		Use:   "lock [FOLDER] | -a NAME | --record NAME",
		Short: "Show which run holds the lock of a package or an app",
		Long: `Show which run holds the lock of the package in a folder (default: the working folder), of an app
(-a), or of a package without its folder (--record): who runs what, since when, how far it is, and
when it renewed the lock. A run renews its lock every 10 seconds; one that was not renewed for 25
seconds is taken over by the next run.

Exit codes:
  0  the lock was shown, or there is none
  1  it could not be read: the error says why`,
		Example: "  " + env.Name() + " lock wordpress\n  " + env.Name() + " lock -a web -n shop\n" +
			"  " + env.Name() + " lock --record wordpress -n blog -o json",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := t.output.Check(); err != nil {
				return err
			}
			set, c, err := t.set(cmd.Context(), env, kube, args)
			if err != nil {
				return err
			}
			info, err := lock.Get(cmd.Context(), c, set)
			if err != nil {
				return err
			}
			if t.output.Value != "text" {
				return cli.Encode(env.Out, t.output.Value, info)
			}
			if info == nil {
				return env.Print(set.Name + " is not locked")
			}
			return env.Print(fmt.Sprintf("%s is locked by %s, renewed %s ago", set.Name,
				info.Holder.Describe(env.Now()), age(env, info.Renewed)))
		},
	}
	t.add(cmd)
	t.output.AddShortTo(cmd, "output", "o", "Output format")
	return cmd
}

func newUnlock(env *cli.Env, kube *cli.Kube) *cobra.Command {
	var t target
	var force bool
	cmd := &cobra.Command{
		Use:   "unlock [FOLDER] | -a NAME | --record NAME",
		Short: "Remove a lock that no run renews",
		Long: `Remove the lock of the package in a folder (default: the working folder), of an app (-a), or of a
package without its folder (--record). It first watches for 12 seconds whether a run renews the
lock, and leaves it then. That is seldom needed: the next run takes over a lock that was not renewed
for 25 seconds.

Exit codes:
  0  the lock was removed, or there was none
  1  a run renews it, or it could not be removed: the error says which`,
		Example: "  " + env.Name() + " unlock wordpress\n  " + env.Name() + " unlock -a web --force",
		RunE: func(cmd *cobra.Command, args []string) error {
			set, c, err := t.set(cmd.Context(), env, kube, args)
			if err != nil {
				return err
			}
			info, err := lock.Remove(cmd.Context(), c, set, force)
			switch {
			case err != nil:
				return err
			case info == nil:
				return env.Print(set.Name + " is not locked")
			}
			return env.Print(fmt.Sprintf("%s unlocked; it was locked by %s", set.Name,
				info.Holder.Describe(env.Now())))
		},
	}
	t.add(cmd)
	cmd.Flags().BoolVar(&force, "force", false,
		"Remove the lock of a run that renews it: that run notices it within 10 seconds and "+
			"begins no more writes")
	return cmd
}

func newLocks(env *cli.Env, kube *cli.Kube) *cobra.Command {
	all, output := false, newOutput()
	cmd := &cobra.Command{
		Use:   "locks",
		Short: "List the locks of a namespace, or of all",
		Long: `List the locks of packages and apps whose records are in a namespace, or in all namespaces.

Exit codes:
  0  the locks were listed
  1  they could not be listed: the error says why`,
		Example: "  " + env.Name() + " locks -A",
		Args:    cli.Arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := output.Check(); err != nil {
				return err
			}
			return runLocks(cmd.Context(), env, kube, all, output.Value)
		},
	}
	cmd.Flags().BoolVarP(&all, "all-namespaces", "A", false, "List the locks of all namespaces")
	output.AddShortTo(cmd, "output", "o", "Output format")
	return cmd
}

func runLocks(
	ctx context.Context, env *cli.Env, kube *cli.Kube, all bool, output string,
) error {
	client, err := kube.Client()
	if err != nil {
		return err
	}
	namespace := ""
	if !all {
		if namespace, _, err = kube.Namespace(); err != nil {
			return err
		}
	}
	locks, err := lock.List(ctx, client, namespace)
	if err != nil {
		return err
	}
	if output != "text" {
		return cli.Encode(env.Out, output, locks)
	}
	if len(locks) == 0 {
		env.Notice("No locks found")
		return nil
	}
	table := tabwriter.NewWriter(env.Out, 0, 8, 3, ' ', 0)
	fmt.Fprintln(table, "NAMESPACE\tSET\tHOLDER\tRENEWED")
	for _, one := range locks {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", one.Namespace, plaintext.Line(one.Set),
			plaintext.Line(one.Holder.Describe(env.Now())), age(env, one.Renewed))
	}
	return table.Flush()
}

// age returns how long ago a time is, by the clock of this machine.
func age(env *cli.Env, t time.Time) string {
	if t.IsZero() {
		return "<unknown>"
	}
	return duration.HumanDuration(max(0, env.Now().Sub(t)))
}
