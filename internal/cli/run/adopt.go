package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/cli/output"
	"github.com/muster-deploy/muster/internal/cli/packageflags"
	"github.com/muster-deploy/muster/internal/cli/setflags"
	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/feature/adopt"
	"github.com/muster-deploy/muster/internal/lock"
	"github.com/muster-deploy/muster/internal/sets"
	"github.com/muster-deploy/muster/internal/sets/operation"
	"github.com/muster-deploy/muster/internal/show/view"
)

// The tools whose sets are apps and packages already.
const fromKapp, fromKpt = "kapp", "kpt"

// adoptFlags are the flags of adopt.
type adoptFlags struct {
	applyFlags
	from       cli.Choice
	to         cli.Choice
	dropLabels bool
	undo       bool
	finish     bool

	request  sets.AdoptRequest
	adoption *sets.Adoption // once prepare has read the sets
	looked   bool           // the look was printed
}

func newAdopt(env *cli.Env, kube *cli.Kube) *cobra.Command {
	f := adoptFlags{
		applyFlags: newApplyFlags(output.RunKinds),
		from: cli.Choice{
			Meaning: "--from", Allowed: slices.Concat(adopt.Tools(), []string{fromKapp, fromKpt}),
		},
		to: cli.Choice{
			Value: toPackage, Meaning: "--to", Allowed: []string{toPackage, toApp},
		},
	}
	f.addRun(&cobra.Command{}) // the defaults of the flags that the command does not have
	cmd := &cobra.Command{
		Use:   "adopt --from TOOL SET [NAME] [FOLDER]",
		Short: "Take a set over from another tool, as a package or an app",
		Long: `Take over what another tool has deployed. SET is what the tool calls it: the name of a Helm
release, of an Application of Argo CD or of an app of kapp; secret/NAME, configmap/NAME or
KIND.GROUP/NAME for an ApplySet; kustomization/NAME or helmrelease/NAME for Flux; a label selector
for kubectl apply --prune; the folder of a package of kpt. -n is its namespace.

The manifests are written to a folder (default: ./SET), as those of a package or, with --to app, of
an app, whose name (default: SET) comes before the folder. If the folder exists, it has to describe
the same objects, and is used instead.

First a preview is printed: which objects exist and whom they belong to, what differs from the
manifests, and what has no equivalent. Nothing is changed if an object belongs to another set too, or
if the tool is changing the set or would change it back. Then each object gets the marks of the new
set and loses those of the old one. Nothing else of any object changes, so that no pod is restarted.
At last the record of the old tool is hidden from it. An interrupted run is continued by the same
command.

--undo, with the folder or -a NAME, restores the marks and the record of the old tool. --finish
deletes what --undo needs, and the stored revisions of a Helm release. Sets of kapp are apps, and
those of kpt are packages: adopt converts them to the other kind, as convert does.

` + cli.ExitCodes,
		Example: "  " + env.Name() + " adopt --from helm shop -n shop --dry-run\n" +
			"  " + env.Name() + " adopt --from helm shop -n shop ./shop\n" +
			"  " + env.Name() + " adopt --from selector app=shop --to app shop ./manifests\n" +
			"  " + env.Name() + " adopt --undo ./shop",
		Args:              cli.Arguments(0, 3),
		ValidArgsFunction: cli.CompleteFolders,
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd.Context(), env, kube, args)
		},
	}
	f.add(cmd)
	return cmd
}

// add adds the flags.
func (f *adoptFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	f.from.AddTo(cmd, "from", "Tool that has deployed the set")
	f.to.AddTo(cmd, "to", "Kind of the new set")
	flags.BoolVar(&f.dropLabels, "drop-labels", false, "With --from selector: remove the labels of "+
		"the selector from the objects, so that kubectl apply --prune does not find them; pod "+
		"templates and selectors keep theirs")
	flags.BoolVar(&f.undo, "undo", false, "Restore what an adoption has changed")
	flags.BoolVar(&f.finish, "finish", false, "Make an adoption final; --undo cannot follow")
	f.AddRecordName(cmd)
	f.AddRoot(cmd)
	f.Lock.Add(flags)
	f.history.add(cmd)
	f.dryRun.Add(cmd, "Only print what would be done")
	flags.BoolVarP(&f.yes, "yes", "y", false, "Do not ask on a terminal before anything is changed")
	flags.DurationVar(&f.timeout, "timeout", 0, "Time for the whole run; 0 means no limit")
	f.output.Add(cmd)
}

// check returns an error for flags and arguments that do not fit.
func (f *adoptFlags) check(args []string) error {
	switch {
	case f.from.Value == "":
		return errors.New("--from names the tool that has deployed the set: one of " +
			strings.Join(f.from.Allowed, ", "))
	case f.from.Check() != nil || f.to.Check() != nil:
		return errors.Join(f.from.Check(), f.to.Check())
	case f.ByRecord():
		return errors.New("-a and --record name a set for --undo and --finish; the new set is named by " +
			"the arguments")
	case f.dropLabels && f.from.Value != string(adopt.Selector):
		return errors.New("--drop-labels is for --from selector")
	case len(args) == 0:
		return fmt.Errorf("name the set of %s that is adopted", f.from.Value)
	case f.to.Value == toPackage && len(args) > 2:
		return fmt.Errorf("a package has one folder, but %s and %s were given", args[1], args[2])
	case f.from.Value == fromKapp && f.to.Value == toApp:
		return fmt.Errorf("the apps of kapp are apps of muster: apply -a %s -f FILES continues it",
			args[0])
	case f.from.Value == fromKpt && f.to.Value == toPackage:
		return fmt.Errorf("the packages of kpt are packages of muster: apply %s continues it", args[0])
	}
	return errors.Join(f.history.check(), cli.CheckTimeout("timeout", f.timeout))
}

func (f *adoptFlags) run(
	ctx context.Context, env *cli.Env, kube *cli.Kube, args []string,
) error {
	if f.undo || f.finish {
		return f.end(ctx, env, kube, args)
	}
	if err := f.check(args); err != nil {
		return err
	}
	if f.from.Value == fromKapp || f.from.Value == fromKpt {
		return f.convert(ctx, env, kube, args)
	}
	client, err := f.open(ctx, env, kube, args)
	if err != nil {
		return err
	}
	r, err := f.newRun(env, "adopt")
	if err != nil {
		return err
	}
	r.noWait = true
	r.recorder = func(t setflags.Target, op *sets.Operation) *sets.Recorder {
		return f.history.recorder(env, kube, t, op, "")
	}
	text := r.outputs.Text()
	r.check = func(context.Context, *sets.Operation) error { return f.look(env, text) }
	prepare := func(ctx context.Context) (setflags.Target, *sets.Operation, error) {
		return f.prepare(ctx, env, kube, client)
	}
	if f.dryRun.Is() {
		r.review = func(context.Context, []view.Outlook) ([]string, error) { return nil, nil }
		return f.preview(ctx, env, r, prepare)
	}
	r.locks, r.locksIn = []lock.Set{sets.AdoptionLock(f.request.From)}, client
	r.finish = func(ctx context.Context) error { return f.complete(ctx, env, text) }
	return r.do(ctx, prepare)
}

// convert converts an app of kapp to a package, or a package of kpt to an app.
func (f *adoptFlags) convert(
	ctx context.Context, env *cli.Env, kube *cli.Kube, args []string,
) error {
	c := convertFlags{applyFlags: f.applyFlags, to: f.to}
	name, folder, app := f.names(args)
	if f.from.Value == fromKapp {
		c.App = name
		return c.run(ctx, env, kube, []string{folder})
	}
	return c.run(ctx, env, kube, []string{name, app})
}

// names returns the names in the arguments: that of the old set, and the folder and the app of the
// new one.
func (f *adoptFlags) names(args []string) (set, folder, app string) {
	set, rest := args[0], args[1:]
	short := strings.TrimSuffix(set, "/")
	short = short[strings.LastIndexAny(short, "/=")+1:]
	if f.to.Value == toApp {
		app = short
		if len(rest) > 0 {
			app, rest = rest[0], rest[1:]
		}
	}
	if folder = short; len(rest) > 0 {
		folder = rest[0]
	}
	return set, folder, app
}

// open sets the request and connects.
func (f *adoptFlags) open(
	ctx context.Context, env *cli.Env, kube *cli.Kube, args []string,
) (cluster.Writer, error) {
	name, folder, app := f.names(args)
	f.App = app // the client of apps
	to, err := f.FilesRequest(ctx, env, kube, []string{folder}, nil)
	if err != nil {
		return nil, err
	}
	to.Enforced = false // manifests have their namespaces
	f.request = sets.AdoptRequest{
		From: adopt.Canonical(adopt.Request{
			Tool: adopt.Tool(f.from.Value), Name: name, Namespace: to.Namespace, DropLabels: f.dropLabels,
		}),
		To: to, Init: packageflags.InventoryOptions(ctx, env, folder, f.Root),
	}
	if app != "" {
		f.request.Init.Name = app
	}
	return f.Connect(ctx, env, kube, nil)
}

// prepare returns the operation that marks the objects as those of the new set.
func (f *adoptFlags) prepare(
	ctx context.Context, env *cli.Env, kube *cli.Kube, client cluster.Writer,
) (t setflags.Target, op *sets.Operation, err error) {
	if f.adoption, err = sets.PrepareAdoption(ctx, client, f.request); err != nil {
		return t, nil, err
	}
	to, from := f.adoption.To, f.adoption.From
	if err := f.Cluster.Check(ctx, env, kube, client, expected(to)); err != nil {
		return t, nil, err
	}
	if f.history.message == "" {
		f.history.message = "adopted from " + titleOf(from)
	}
	options := f.ApplyOptions(f.dryRun.Mode(false) != engine.DryRunNone, env.Notice)
	options.Options = f.options(env.Now())
	options.InventoryPolicy = policies["unowned"]
	if options.Definition == operation.InstallDefinition {
		options.Definition = operation.InstallAtRun
	}
	if op, err = f.adoption.PrepareApply(ctx, options); err != nil {
		return t, nil, err
	}
	kube.SetSources(sourcesOf(op))
	t, err = setflags.NewTarget(kube, client, to)
	return t, op, err
}

// titleOf returns the title of a set of another tool, with its version.
func titleOf(from *adopt.Set) string {
	if from.Version == "" {
		return from.Title
	}
	return from.Title + ", " + from.Version
}

// complete hides the record of the old tool, and prints what the user has to know. The objects are
// marked: an error is that of a run that has changed something.
func (f *adoptFlags) complete(ctx context.Context, env *cli.Env, text bool) error {
	a := f.adoption
	if err := a.Finish(ctx); err != nil {
		env.Notice("error: " + err.Error())
		return &cli.ResultError{Interrupted: errors.Is(err, context.Canceled)}
	}
	line := fmt.Sprintf("%s is now %s", a.From.Title, a.To.Title())
	if !text { // the standard output is for programs
		env.Notice(line)
		return nil
	}
	return env.Print(line)
}
