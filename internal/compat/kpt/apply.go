package kpt

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/cli/packageflags"
	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/ready"
	"github.com/muster-deploy/muster/internal/sets/operation"
	"github.com/muster-deploy/muster/internal/sets/packages"
	"github.com/muster-deploy/muster/internal/sets/packages/inventory"
	"github.com/muster-deploy/muster/internal/sets/policy"
	"github.com/muster-deploy/muster/internal/show/view"
)

// applyFlags are the flags of apply.
type applyFlags struct {
	packageflags.ApplyFlags
	dryRun bool
	root   string
	output cli.Choice
}

// newApply returns the command apply below the given words, whose tables have the given columns.
func newApply(env *cli.Env, kube *cli.Kube, words string, table columns) *cobra.Command {
	f := applyFlags{
		ApplyFlags: packageflags.ApplyFlags{PlanFlags: planFlags(), Lock: lockFlags()}, output: outputs(),
	}
	name := env.Name() + " " + words
	cmd := &cobra.Command{
		Use:   "apply [FOLDER | -]",
		Short: "Apply a package: create, update, wait until ready, prune",
		Long: `Apply the package in a folder (default: the working folder) or on the standard input
(-). Objects are created or updated in the order of their kinds and dependencies and waited for
until they are ready; objects that the package deployed earlier and no longer has are pruned.

` + cli.ExitCodes,
		Example: "  " + name + " apply wordpress --dry-run\n" +
			"  " + name + " apply wordpress --reconcile-timeout=2m",
		Args:              cobra.ArbitraryArgs, // all but the first are ignored
		ValidArgsFunction: cli.CompleteFolders,
		RunE: func(cmd *cobra.Command, args []string) error {
			f.InstallGiven = cmd.Flags().Changed("install-resource-group")
			return runApply(cmd.Context(), env, kube, table, cli.Folder(args), f)
		},
	}
	f.Add(cmd)
	packageflags.AddRoot(cmd.Flags(), &f.root)
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false,
		"Only print what would be done; with --server-side, the server validates it")
	f.output.AddTo(cmd, "output", "Output format")
	return cmd
}

func runApply(
	ctx context.Context, env *cli.Env, kube *cli.Kube, table columns, dir string, f applyFlags,
) (err error) {
	if err := f.Check(&f.output); err != nil {
		return err
	}
	show := runOptions(env, f.Options().Adoption(), table, f.output.Value)
	show.Statuses, show.Waves = f.Statuses, f.Waves()
	p, op, err := f.prepare(ctx, env, kube, dir)
	if err != nil {
		return err
	}
	if !f.dryRun {
		held, run, refused := f.Lock.Acquire(ctx, env, op.Cluster, packages.LockSet(p.Inventory),
			"apply")
		if refused != nil {
			return show.Fail(refused)
		}
		defer func(ctx context.Context) { err = cli.Release(ctx, held, err) }(ctx)
		ctx, show.Lock = run, held
	}
	if err := makePlan(ctx, env, op, p.Inventory); err != nil {
		return show.Fail(listErrors(err))
	}
	if err := op.CheckRecordNamespace(ctx); err != nil {
		return err
	}
	show.Children = operation.ChildRows(ctx, op.Cluster, op.Rules)
	mode := engine.DryRunNone
	switch {
	case f.dryRun && f.ServerSide:
		mode = engine.DryRunServer
	case f.dryRun:
		mode = engine.DryRunClient
	}
	return cli.RunPlan(ctx, op.Plan(), op.Run, f.RunOptions(mode, false), show.RunOptions,
		show.Lock)
}

// prepare opens the package and connects. A dry run that does not install the definition of
// ResourceGroup needs it.
func (f applyFlags) prepare(
	ctx context.Context, env *cli.Env, kube *cli.Kube, dir string,
) (*packages.Package, *operation.Operation, error) {
	p, err := packages.Open(ctx, packageflags.Input(env, dir, f.root))
	if err != nil {
		return nil, nil, err
	}
	options := f.ApplyOptions(f.dryRun, env.Notice)
	options.OnlyInventories = true
	if options.Rules, err = readRules(ctx, f.RuleFiles, dir); err != nil {
		return nil, nil, err
	}
	client, err := kube.Client()
	if err != nil {
		return nil, nil, err
	}
	namespace, explicit, err := kube.Namespace()
	if err != nil {
		return nil, nil, err
	}
	scope := packages.Scope{Namespace: namespace, Enforced: explicit}
	op, err := p.Prepare(ctx, client, scope, options)
	if err != nil {
		return nil, nil, err
	}
	if f.dryRun && !f.InstallGiven {
		if err := packages.CheckDefinition(ctx, op.Cluster, p.Inventory); err != nil {
			return nil, nil, err
		}
	}
	kube.SetSources(op.Sources())
	return p, op, nil
}

// readRules returns the rules of files and of a folder and, last, one that waits for no object of
// another kind that kpt live would not wait for.
func readRules(ctx context.Context, files []string, folder string) ([]ready.Rule, error) {
	rules, err := policy.ReadRules(ctx, files, folder)
	return append(rules, ready.LikeKstatus()), err
}

// makePlan makes the plan of an operation on the package of an inventory, and notes which objects
// of others it changes: kpt live recognizes no owners but packages.
func makePlan(
	ctx context.Context, env *cli.Env, op *operation.Operation, inv *inventory.Inventory,
) error {
	if err := op.MakePlan(ctx); err != nil {
		return err
	}
	packages.NoteTaken(ctx, op.Cluster, inv, op.Plan(), env.Notice)
	return nil
}

// The flags below have kpt's defaults, and its words for values that are not allowed.

func planFlags() packageflags.PlanFlags {
	f := packageflags.NewPlanFlags("waves", true)
	f.Adoption, f.Propagation = adoptions(), propagations(f.Propagation)
	return f
}

// propagations returns a choice with kpt's default.
func propagations(c cli.Choice) cli.Choice {
	c.Value, c.Default = "Background", ""
	return c
}

// lockFlags returns the flags of locks. kpt says nothing if leases are forbidden.
func lockFlags() cli.LockFlags {
	f := cli.NewLockFlags()
	f.Quiet = true
	return f
}

func adoptions() cli.Choice {
	c := packageflags.Adoptions()
	c.Refusal = "inventory policy must be one of strict, adopt"
	return c
}

func outputs() cli.Choice {
	return cli.Choice{
		Value: "events", Meaning: "output", Refusal: "unknown output type %q",
		Allowed: []string{"events", view.OutputJSON, view.OutputTable},
	}
}
