package setflags

import (
	"context"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/show/changes"
	"github.com/muster-deploy/muster/internal/show/view"
)

// Differences are flags for how the differences of objects are printed.
type Differences struct {
	Full bool   // nothing is folded or put together
	Tool string // the program that shows them; empty for none
}

// Add adds the flags.
func (f *Differences) Add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&f.Full, changes.FullFlag, false, "Print each difference in full: do not fold "+
		"long blocks, and do not put equal changes of several objects together")
	flags.StringVar(&f.Tool, "diff-tool", "", "Show differences by this program, as in 'diff -ru': "+
		"it gets two folders with a file for each object that changes")
}

// Shown is what Print prints.
type Shown struct {
	Changes       []changes.Change
	Totals        string // the last line; empty for none
	Before, After string // the names of both sides for programs
}

// Print prints changes as text to an output. If there is a program for differences, that prints
// them.
func (f Differences) Print(
	ctx context.Context, env *cli.Env, out io.Writer, t view.Terminal, s Shown,
) error {
	list := s.Changes
	if f.Tool != "" {
		list = slices.Clone(list)
		for i := range list {
			list[i].Before, list[i].After = nil, nil
		}
	}
	err := changes.Print(out, t, list, s.Totals, changes.Options{Full: f.Full})
	if err != nil || f.Tool == "" {
		return err
	}
	return changes.Tool{
		Command: f.Tool, Before: s.Before, After: s.After, In: env.In, Out: out, Err: env.Err,
	}.Show(ctx, s.Changes)
}
