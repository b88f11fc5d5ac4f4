package look

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/history"
	"github.com/muster-deploy/muster/internal/sets"
)

// find returns the revision that an argument names, and the history of the set.
func (f *showHistoryFlags) find(
	ctx context.Context, env *cli.Env, kube *cli.Kube, args []string, revision string,
) (*history.Store, history.Head, error) {
	if !history.IsName(revision) {
		return nil, history.Head{}, fmt.Errorf("%q is not the number of a revision; %s history prints "+
			"them", revision, env.Name())
	}
	args, err := f.UseSet(ctx, env, kube, args)
	if err != nil {
		return nil, history.Head{}, err
	}
	s, title, err := f.OpenHistory(ctx, env, kube, args)
	if err != nil {
		return nil, history.Head{}, f.Unrecorded(err)
	}
	heads, err := s.List(ctx)
	if err != nil {
		return nil, history.Head{}, err
	}
	head, err := s.Find(heads, revision)
	list := env.Command(append([]string{"history"}, f.RecordWords(args)...)...)
	none := (*history.NotFoundError)(nil)
	switch {
	case errors.As(err, &none) && none.Number == 0:
		err = fmt.Errorf("there are no revisions of %s in namespace %s", title, s.Set.Namespace)
	case errors.As(err, &none):
		err = fmt.Errorf("there is no revision %s of %s in namespace %s; %s prints those that are "+
			"kept", revision, title, s.Set.Namespace, list)
	case errors.Is(err, history.ErrNoneGood):
		err = fmt.Errorf("%w of %s; %s prints all", err, title, list)
	}
	return s, head, err
}

// newHistoryPin returns the command that keeps a revision, or the one that does not any more.
func newHistoryPin(env *cli.Env, kube *cli.Kube, pinned bool) *cobra.Command {
	f := showHistoryFlags{}
	word, short := "pin", "Keep a revision, however many follow"
	long := `Keep a revision beyond --history-limit, until 'history unpin'. A destroy deletes it all the same,
unless it has --keep-history.`
	if !pinned {
		word, short = "unpin", "Let a revision be deleted when it is old"
		long = `Undo 'history pin': the revision is deleted when --history-limit newer ones follow.`
	}
	cmd := &cobra.Command{
		Use:   word + " [FOLDER | set/NAME] REVISION | -a NAME REVISION | --record NAME REVISION",
		Short: short,
		Long: long + ` The revision is a
number, last for the newest one, or good for the newest one that succeeded.

Exit codes:
  0  done, or it was so already
  1  it could not be done: the error says why`,
		Example: "  " + env.Name() + " history " + word + " wordpress 8\n" +
			"  " + env.Name() + " history " + word + " -a web 8",
		Args:              cli.Arguments(1, 2),
		ValidArgsFunction: f.CompleteRevisionArgument(kube),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.pin(cmd.Context(), env, kube, args, pinned)
		},
	}
	f.AddFolder(cmd)
	return cmd
}

func (f *showHistoryFlags) pin(
	ctx context.Context, env *cli.Env, kube *cli.Kube, args []string, pinned bool,
) error {
	s, head, err := f.find(ctx, env, kube, args[:len(args)-1], args[len(args)-1])
	if err != nil {
		return err
	}
	s.Manager = sets.HistoryManager
	if err := s.Pin(ctx, head, pinned); err != nil {
		return err
	}
	state, already := "pinned", ""
	if !pinned {
		state = "not pinned"
	}
	if head.Pinned == pinned {
		already = " already"
	}
	return env.Print(fmt.Sprintf("revision %d is%s %s", head.Number, already, state))
}
