package look

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/cli/setflags"
)

// NewLabel returns the command that prints what marks the objects of a set.
func NewLabel(env *cli.Env, kube *cli.Kube) *cobra.Command {
	f := setflags.Flags{}
	cmd := &cobra.Command{
		Use:   "label [FOLDER | -] | -a NAME | --record NAME",
		Short: "Print the label or annotation that the objects of a package or an app carry",
		Long: `Print what marks the objects of a set, as KEY=VALUE: the label of an app (-a), which is a
selector for kubectl, or the annotation of the package in a folder (default: the working folder), on
the standard input (-) or with a record (--record). kubectl cannot select annotations; a line on the
standard error says so.

Exit codes:
  0  it was printed
  1  the set does not exist or could not be read: the error says why`,
		Example: "  " + env.Name() + " label wordpress\n" +
			"  kubectl get pods -l \"$(" + env.Name() + " label -a web)\"",
		ValidArgsFunction: cli.CompleteFolders,
		RunE: func(cmd *cobra.Command, args []string) error {
			return printMark(cmd.Context(), &f, env, kube, args)
		},
	}
	f.AddRecordName(cmd)
	return cmd
}

// printMark prints what marks the objects of the set.
func printMark(
	ctx context.Context, f *setflags.Flags, env *cli.Env, kube *cli.Kube, args []string,
) error {
	set, client, err := f.OpenRecord(ctx, env, kube, args, nil)
	if err != nil {
		return err
	}
	mark, err := set.Mark(ctx, client)
	if err != nil {
		return err
	}
	if mark.Annotation {
		env.Notice("note: this is an annotation, which kubectl cannot select; muster inspect lists " +
			"the objects")
	}
	return env.Print(mark.Text)
}
