package run

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/muster-deploy/muster/internal/base/atomicfile"
	"github.com/muster-deploy/muster/internal/base/plaintext"
	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/cli/look"
	"github.com/muster-deploy/muster/internal/cli/setflags"
	"github.com/muster-deploy/muster/internal/history/origin"
	"github.com/muster-deploy/muster/internal/sets"
)

// acceptance is the change of files by what drifted, while it is prepared and written.
type acceptance struct {
	*driftFlags
	env    *cli.Env
	kube   *cli.Kube
	text   bool // the output is for people
	result *look.DriftResult
	*sets.Acceptance
}

// runAccept writes what drifted into the files of the set.
func (f *driftFlags) runAccept(
	cmd *cobra.Command, env *cli.Env, kube *cli.Kube, args []string,
) error {
	ctx := cmd.Context()
	format, _ := f.Output()
	x := &acceptance{driftFlags: f, env: env, kube: kube, text: format != cli.OutputJSON}
	var err error
	if x.result, err = f.Find(ctx, env, kube, args); err != nil {
		return err
	}
	if x.text {
		look.WarnOfUnserved(env, x.result.Drift)
		err = x.result.Print(env.Err, env.Now())
		if err != nil {
			return fmt.Errorf("write the output: %w", err)
		}
	}
	x.Acceptance, err = x.result.Baseline.Accept(ctx, x.result.Request, x.result.Drift)
	if err != nil {
		return err
	}
	x.result.Accepted = look.NewAcceptedDocument(x.Acceptance)
	x.print()
	if !f.apply.dryRun.Is() {
		err = x.write(ctx)
	}
	if !x.text {
		err = errors.Join(err, f.Print(env, x.result))
	}
	switch {
	case err != nil:
		return err
	case len(x.Left) > 0, len(x.Files) > 0 && f.apply.dryRun.Is():
		return &cli.ExitCodeError{Code: look.ExitDrift}
	}
	return x.result.Drift.Incomplete
}

// print prints how the files change, and what is not accepted.
func (x *acceptance) print() {
	for _, file := range x.Files {
		if x.text {
			fmt.Fprint(x.env.Out, look.FileDifference(file))
		}
	}
	for _, left := range x.Left {
		x.env.Notice(plaintext.Printable("note: " + left.Name() + " is not accepted: " + left.Reason))
	}
}

// write writes the files once the user has agreed. If one cannot be written, nothing is.
func (x *acceptance) write(ctx context.Context) error {
	if len(x.Files) == 0 {
		return nil
	}
	for _, file := range x.Files {
		if err := atomicfile.CheckReplace(file.Path, file.Before); err != nil {
			return err
		}
	}
	if !x.apply.yes && x.env.IsInteractive() {
		place, err := x.kube.Place(x.result.Cluster.Host())
		if err != nil {
			return err
		}
		what := "Write these changes of the cluster to the files"
		err = answered(x.env.Confirm(ctx, cli.Question{What: what, Place: place}))
		if err != nil {
			return err
		}
	}
	var files []atomicfile.Replacement
	for _, file := range x.Files {
		files = append(files, atomicfile.Replacement{
			Path: file.Path, Before: file.Before, After: file.After,
		})
	}
	replaced, err := atomicfile.ReplaceFiles(files)
	for i, file := range files[:replaced] {
		x.result.Accepted.Files[i].Written = true
		if x.text {
			fmt.Fprintln(x.env.Out, plaintext.Printable(file.Path)+" changed")
		}
	}
	if err != nil {
		return fmt.Errorf("%w (%d of %d files are written)", err, replaced, len(files))
	}
	x.env.Notice("next: commit the files, and apply them: " + x.applyCommand())
	return nil
}

// applyCommand returns the command that applies the set in the cluster of this one.
func (x *acceptance) applyCommand() string {
	words := append([]string{x.env.Name(), "apply"}, setflags.Words(x.result.Request)...)
	return plaintext.Printable(origin.Command(append(words, x.kube.GivenFlags()...)))
}
