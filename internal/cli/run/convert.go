package run

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/cli/output"
	"github.com/muster-deploy/muster/internal/cli/packageflags"
	"github.com/muster-deploy/muster/internal/cli/setflags"
	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/lock"
	"github.com/muster-deploy/muster/internal/sets"
	"github.com/muster-deploy/muster/internal/sets/operation"
	"github.com/muster-deploy/muster/internal/show/view"
)

// The kinds of set that --to takes.
const toApp, toPackage = "app", "package"

// convertFlags are the flags of convert.
type convertFlags struct {
	applyFlags
	to cli.Choice

	handover *sets.Handover // once prepare has found the sets
}

func newConvert(env *cli.Env, kube *cli.Kube) *cobra.Command {
	f := convertFlags{
		applyFlags: newApplyFlags(output.RunKinds),
		to:         cli.Choice{Meaning: "--to", Allowed: []string{toApp, toPackage}},
	}
	f.addRun(&cobra.Command{}) // the defaults of the flags that the command does not have
	cmd := &cobra.Command{
		Use:   "convert FOLDER --to app NAME | -a NAME --to package FOLDER",
		Short: "Make an app of a package, or a package of an app",
		Long: `Give the objects of a package to an app, or those of an app to a package. Nothing but the marks
that say who owns an object changes: labels and annotations of its metadata, and never a pod
template. The command fails before it changes anything if an object would change otherwise.

The app gets the manifests of the folder, from which the inventory is removed at the end. The
package is written to a folder that must not exist yet: the objects as the app deployed them. The
record stays in its namespace. A new history begins; revisions of the old set stay until it is
destroyed by its name.

A record covers the objects at every moment. If the command is interrupted, the same command
continues.

` + cli.ExitCodes,
		Example: "  " + env.Name() + " convert wordpress --to app blog\n" +
			"  " + env.Name() + " convert -a blog --to package wordpress",
		Args:              cli.Arguments(1, 2),
		ValidArgsFunction: cli.CompleteFolders,
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd.Context(), env, kube, args)
		},
	}
	f.add(cmd)
	return cmd
}

// add adds the flags.
func (f *convertFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	f.AddName(cmd)
	f.AddRoot(cmd)
	f.to.AddTo(cmd, "to", "The kind of set that the objects are given to")
	f.Lock.Add(flags)
	f.history.add(cmd)
	f.dryRun.Add(cmd, "Only print what would be done")
	flags.BoolVarP(&f.yes, "yes", "y", false, "Do not ask on a terminal before anything is changed")
	flags.BoolVar(&f.wait, "wait", true, "Wait until the objects are ready")
	flags.DurationVar(&f.timeout, "timeout", 0, "Time for the whole run; 0 means no limit")
	f.output.Add(cmd)
}

// check returns an error for flags and arguments that do not fit.
func (f *convertFlags) check(args []string) error {
	switch {
	case f.to.Value == "":
		return errors.New("give the kind of set with --to: app or package")
	case f.to.Check() != nil:
		return f.to.Check()
	case strings.Contains(args[0], "://"):
		return fmt.Errorf("%s is no folder on this machine: pull it first", args[0])
	case f.to.Value == toApp && f.App != "":
		return fmt.Errorf("-a %s names the app that is converted, and --to app a new one: name the "+
			"folder of the package instead, as in convert FOLDER --to app NAME", f.App)
	case f.to.Value == toApp && len(args) != 2:
		return errors.New("name the folder of the package and the app: convert FOLDER --to app NAME")
	case f.to.Value == toPackage && f.App == "":
		return errors.New("name the app with -a: convert -a NAME --to package FOLDER")
	case f.to.Value == toPackage && len(args) != 1:
		return errors.New("name one folder for the package: convert -a NAME --to package FOLDER")
	}
	return errors.Join(f.history.check(), cli.CheckTimeout("timeout", f.timeout))
}

func (f *convertFlags) run(
	ctx context.Context, env *cli.Env, kube *cli.Kube, args []string,
) error {
	if err := f.check(args); err != nil {
		return err
	}
	client, err := f.open(ctx, env, kube, args)
	if done := (*sets.ConvertedError)(nil); errors.As(err, &done) { // the answer was lost before
		env.Notice(done.Error())
		return nil
	}
	if err != nil {
		return err
	}
	r, err := f.newRun(env, "convert")
	if err != nil {
		return err
	}
	if f.history.message == "" {
		f.history.message = f.handover.Message()
	}
	r.recorder = func(t setflags.Target, op *sets.Operation) *sets.Recorder {
		return f.history.recorder(env, kube, t, op, "")
	}
	r.check = func(context.Context, *sets.Operation) error { return nil }
	r.review = func(_ context.Context, outlooks []view.Outlook) ([]string, error) {
		return nil, f.handover.Check(outlooks)
	}
	prepare := func(ctx context.Context) (setflags.Target, *sets.Operation, error) {
		return f.prepare(ctx, env, kube, client)
	}
	if f.dryRun.Is() {
		return f.preview(ctx, env, r, prepare)
	}
	if err := refuseManaged(ctx, env, client, recordsOf(f.handover.Lock())); err != nil {
		return err
	}
	r.locks, r.locksIn = []lock.Set{f.handover.Lock()}, client
	text := r.outputs.Text()
	r.finish = func(ctx context.Context) error { return f.finish(ctx, env, text) }
	return r.do(ctx, prepare)
}

// open finds the two sets.
func (f *convertFlags) open(
	ctx context.Context, env *cli.Env, kube *cli.Kube, args []string,
) (cluster.Writer, error) {
	request, err := f.FilesRequest(ctx, env, kube, args[:1], nil)
	if err != nil {
		return nil, err
	}
	client, err := f.Connect(ctx, env, kube, nil)
	if err != nil {
		return nil, err
	}
	if f.to.Value == toApp {
		f.handover, err = sets.ToApp(ctx, client, request, args[1])
	} else {
		options := packageflags.InventoryOptions(ctx, env, args[0], f.Root)
		f.handover, err = sets.ToPackage(ctx, client, request, args[0], options)
	}
	if err != nil {
		return nil, err
	}
	return client, f.Cluster.Check(ctx, env, kube, client, expected(f.handover.From))
}

// expected returns the cluster that a set belongs to.
func expected(set sets.Set) cli.ExpectedCluster {
	value, where := set.Expected()
	return cli.ExpectedCluster{Value: value, Where: where}
}

// prepare returns the operation that marks the objects as those of the new set.
func (f *convertFlags) prepare(
	ctx context.Context, env *cli.Env, kube *cli.Kube, client cluster.Writer,
) (t setflags.Target, op *sets.Operation, err error) {
	options := f.ApplyOptions(f.dryRun.Mode(false) != engine.DryRunNone, env.Notice)
	options.Options = f.options(env.Now())
	options.InventoryPolicy = policies["unowned"] // the handover refuses such objects by name
	if options.Definition == operation.InstallDefinition {
		options.Definition = operation.InstallAtRun
	}
	if op, err = f.handover.PrepareApply(ctx, options); err != nil {
		return t, nil, err
	}
	kube.SetSources(sourcesOf(op))
	t, err = setflags.NewTarget(kube, client, f.handover.To)
	return t, op, err
}

// finish deletes the old record and prints what the user has to know.
func (f *convertFlags) finish(ctx context.Context, env *cli.Env, text bool) error {
	h := f.handover
	file, err := h.Finish(ctx)
	if err != nil {
		return err
	}
	if file != "" {
		env.Notice("note: " + withoutInventory(file) + ": commit that")
	}
	line := fmt.Sprintf("%s is now %s", h.From.Title(), h.To.Title())
	if !text { // the standard output is for programs
		env.Notice(line)
		return nil
	}
	return env.Print(line)
}

// withoutInventory returns what was done to the file of an inventory. One that describes nothing
// else is deleted.
func withoutInventory(file string) string {
	if _, err := os.Lstat(file); errors.Is(err, fs.ErrNotExist) {
		return file + " is deleted, which described the inventory"
	}
	return file + " does not describe an inventory any more"
}
