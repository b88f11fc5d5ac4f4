package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/cli/setflags"
	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/feature/managed"
	"github.com/muster-deploy/muster/internal/sets"
)

// renameFlags are the flags of rename.
type renameFlags struct {
	setflags.Flags
	lock      cli.LockFlags
	name      string
	namespace string
	yes       bool
}

func newRename(env *cli.Env, kube *cli.Kube) *cobra.Command {
	f := renameFlags{lock: cli.NewLockFlags()}
	cmd := &cobra.Command{
		Use:   "rename [FOLDER] | -a NAME | --record NAME",
		Short: "Give a package or an app another name, or move its record to another namespace",
		Long: `Give a set another name, or move its record to another namespace. Deployed objects do not
change. The set is the package in a folder (default: the working folder), an app (-a), or a package
without its folder (--record). The file of a package that describes its inventory gets the new name
and keeps its comments; with --record it has to be changed by hand.

The record lists the objects of the set at every moment. If the command is interrupted, the same
command continues.

Exit codes:
  0    the set has the new name
  1    it could not be renamed: the error says why
  3    the command lost its lock: the error says to whom
  130  interrupted; the same command continues`,
		Example: "  " + env.Name() + " rename wordpress --new-name blog\n" +
			"  " + env.Name() + " rename -a web --new-name shop\n" +
			"  " + env.Name() + " rename -a web -n staging --new-namespace live",
		ValidArgsFunction: cli.CompleteFolders,
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd.Context(), env, kube, args)
		},
	}
	f.AddRecordName(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.name, "new-name", "", "New name")
	flags.StringVar(&f.namespace, "new-namespace", "", "New namespace of the record")
	flags.BoolVarP(&f.yes, "yes", "y", false, "Do not ask on a terminal before the set is renamed")
	f.lock.Add(flags)
	return cmd
}

func (f *renameFlags) run(
	ctx context.Context, env *cli.Env, kube *cli.Kube, args []string,
) error {
	if f.name == "" && f.namespace == "" {
		return errors.New("give the new name with --new-name, or the new namespace with --new-namespace")
	}
	set, client, err := f.OpenRecord(ctx, env, kube, args, nil)
	if err != nil {
		return err
	}
	namespace, name := set.Name()
	toName, toNamespace := cmp.Or(f.name, name), cmp.Or(f.namespace, namespace)
	if err := checkNewName(toNamespace, toName); err != nil {
		return err
	}
	renaming, err := set.PrepareRename(client, toNamespace, toName)
	if err != nil {
		return err
	}
	records := recordsOf(renaming.Locks...)
	for _, r := range records {
		records = append(records, managed.Record{
			Format: r.Format, Namespace: toNamespace, Name: toName,
		})
	}
	if err := refuseManaged(ctx, env, client, records); err != nil {
		return err
	}
	target := fmt.Sprintf("%q", toName)
	if f.namespace != "" {
		target += " in namespace " + toNamespace
	}
	if !f.yes {
		noteUnasked(env)
	}
	if !f.yes && env.IsInteractive() {
		place, err := kube.Place(client.Host())
		if err != nil {
			return err
		}
		what := fmt.Sprintf("Rename %s in namespace %s to %s", set.Title(), namespace, target)
		if err := answered(env.Confirm(ctx, cli.Question{What: what, Place: place})); err != nil {
			return err
		}
	}
	changed, err := f.locked(ctx, env, client, renaming)
	if err != nil {
		return err
	}
	if !changed {
		return env.Print(fmt.Sprintf("%s is called %s already", set.Title(), target))
	}
	return env.Print(fmt.Sprintf("%s renamed to %s", set.Title(), target))
}

// locked renames a set while both its names are locked.
func (f *renameFlags) locked(
	ctx context.Context, env *cli.Env, client cluster.Writer, r *sets.Renaming,
) (changed bool, err error) {
	run := ctx
	for _, set := range r.Locks {
		held, locked, refused := f.lock.Acquire(run, env, client, set, "rename")
		if refused != nil {
			return false, refused
		}
		defer func() { err = cli.Release(ctx, held, err) }()
		run = locked
	}
	return r.Run(run)
}

// checkNewName returns an error for a namespace or a name that no record can have.
func checkNewName(namespace, name string) error {
	if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 {
		return fmt.Errorf("the new name %q: %s", name, problems[0])
	}
	if problems := validation.IsDNS1123Label(namespace); len(problems) > 0 {
		return fmt.Errorf("the new namespace %q: %s", namespace, problems[0])
	}
	return nil
}
