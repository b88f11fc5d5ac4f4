package setflags

import (
	"context"
	"fmt"

	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/cli/packageflags"
	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/sets"
)

// OfferInventory asks on a terminal whether a folder without an inventory becomes a package, with
// the name of the folder, and writes its inventory if so. None is the error of the folder, which is
// returned if nobody can be asked or the answer is no. A new inventory is worth nothing unless it
// is kept, so that no flag answers for the user.
func (f *Flags) OfferInventory(
	ctx context.Context, env *cli.Env, kube *cli.Kube, args []string, none error,
) error {
	r, err := f.FilesRequest(ctx, env, kube, args, nil)
	if err != nil || !env.IsInteractive() || len(r.Files) != 1 || r.Files[0] == "-" {
		return none
	}
	i, err := packageflags.PrepareInventory(ctx, env, kube, r.Files[0], r.Root)
	if err != nil {
		return err
	}
	if err := i.CheckName(ctx, env, kube); err != nil {
		return fmt.Errorf("%w of init", err)
	}
	env.Notice(r.Files[0] + " has no inventory, which names the record of what is deployed.")
	yes, err := env.Confirm(ctx, cli.Question{
		What: fmt.Sprintf("Create %s (%s in namespace %s)", i.Path, i.Name, i.Namespace),
	})
	if err != nil {
		return err
	}
	if !yes {
		return none
	}
	if err := i.Write(); err != nil {
		return err
	}
	env.Notice(fmt.Sprintf("created %s: commit it with the manifests", i.Path))
	return nil
}

// HintAccess adds to an error about missing permissions how to find out about all of them.
func (f *Flags) HintAccess(env *cli.Env, args []string, err error) error {
	if cluster.RefusalOf(err) != cluster.ByRights {
		return err
	}
	return fmt.Errorf("%w; %s", err, f.AccessHint(env, args))
}

// AccessHint returns the command that prints which permissions the set needs, and what it prints.
func (f *Flags) AccessHint(env *cli.Env, args []string) string {
	return env.Command(append([]string{"check-access"}, f.Words(args)...)...) +
		" prints roles with all permissions that are missing"
}

// Named reports whether flags name the set, so that no argument does.
func (f *Flags) Named() bool { return f.ByRecord() || len(f.Files) > 0 || f.Kustomize != "" }

// ByRecord reports whether a flag names the set by its record.
func (f *Flags) ByRecord() bool { return f.App != "" || f.Record != "" }

// Words returns the words that name a set and its files in a command line.
func Words(r sets.Request) []string {
	if r.App == "" {
		return r.Files
	}
	words := []string{"-a", r.App}
	for _, file := range r.Files {
		words = append(words, "-f", file)
	}
	return words
}

// RecordWords returns the words that name the set in the command line of a command that has no
// flags for the manifests of an app.
func (f *Flags) RecordWords(args []string) []string {
	if f.App != "" {
		return []string{"-a", f.App}
	}
	return f.Words(args)
}

// Words returns the words that name the set in a command line, as they were given.
func (f *Flags) Words(args []string) (words []string) {
	if f.App != "" {
		words = append(words, "-a", f.App)
	}
	if f.Record != "" {
		words = append(words, "--record", f.Record)
	}
	for _, file := range f.Files {
		words = append(words, "-f", file)
	}
	if f.Kustomize != "" {
		words = append(words, "-k", f.Kustomize)
	}
	if f.Root != "" {
		words = append(words, "--root", f.Root)
	}
	return append(words, args...)
}
