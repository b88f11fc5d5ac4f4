package look

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/cli/setflags"
	"github.com/muster-deploy/muster/internal/history"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/sets"
	"github.com/muster-deploy/muster/internal/sets/policy"
)

// whyFlags are the flags of why.
type whyFlags struct {
	setflags.Flags
	revision int
	logLines int
	rules    []string
	output   cli.Choice
}

// NewWhy returns the command that explains what is not ready.
func NewWhy(env *cli.Env, kube *cli.Kube) *cobra.Command {
	f := &whyFlags{output: cli.Choice{
		Value: outputText, Meaning: "output",
		Allowed: []string{outputText, cli.OutputJSON, cli.OutputYAML},
	}}
	cmd := &cobra.Command{
		Use:   "why [FOLDER | set/NAME] [KIND/NAME] | -a NAME [KIND/NAME] | --record NAME [KIND/NAME]",
		Short: "Explain what of a package or an app is not ready, and why",
		Long: `Explain which objects of a set are not ready: the causes, found on them and on what controllers
created for them, the last log lines of containers that failed, the latest warnings of the cluster,
the objects that wait for them, and what the last run did not create. The set is the package in a
folder (default: the working folder), an app (-a), a package without its folder (--record), or what
a Set of the controller keeps (set/NAME), with what the Set says about itself. KIND/NAME, as in
deployment/web, names one of its objects. What waits for what is in the files of the set or, if they
are not given, in its last revision.

With --revision, explain what failed in an earlier run, as its revision in the history has it. The
objects need not exist any more.

Exit codes:
  0    all objects are ready, and so is the Set; with --revision: no object failed
  1    that could not be found out: the error says why
  3    an object or the Set is not ready; with --revision: the run did not succeed
  130  interrupted`,
		Example: "  " + env.Name() + " why wordpress\n" +
			"  " + env.Name() + " why -a web deployment/front\n" +
			"  " + env.Name() + " why wordpress --revision 7",
		Args:              cli.Arguments(0, 2),
		ValidArgsFunction: setflags.CompleteArgument(kube),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd.Context(), env, kube, args)
		},
	}
	f.AddRecord(cmd)
	cmd.Flags().IntVar(&f.revision, "revision", 0, "Explain the run that left this revision")
	cli.AddLogLines(cmd, &f.logLines)
	cli.AddRules(cmd, &f.rules)
	f.output.AddShortTo(cmd, "output", "o", "Output format")
	return cmd
}

// outputText is the output format for people.
const outputText = "text"

func (f *whyFlags) run(ctx context.Context, env *cli.Env, kube *cli.Kube, args []string) error {
	if err := errors.Join(f.output.Check(), cli.CheckLogLines(f.logLines)); err != nil {
		return err
	}
	if f.revision < 0 {
		return fmt.Errorf("--revision %d: revisions begin with 1", f.revision)
	}
	args, err := f.UseSet(ctx, env, kube, args)
	if err != nil {
		return err
	}
	folder, name, err := f.arguments(args)
	if err != nil {
		return err
	}
	find := f.explainNow
	if f.revision > 0 {
		find = f.explainRevision
	}
	e, err := find(ctx, env, kube, folder, name)
	err = f.Unrecorded(err)
	if errors.As(err, new(*setflags.UnrecordedError)) && name == "" && f.revision == 0 {
		e, err = f.explainUnrecorded(), nil
	}
	if err != nil {
		return err
	}
	if f.output.Value == outputText {
		err = e.print(env)
	} else {
		err = cli.Encode(env.Out, f.output.Value, e)
	}
	if err == nil && !e.Ready {
		return &cli.ResultError{}
	}
	return err
}

// arguments divides arguments into the folder of a package and the name of an object.
func (f *whyFlags) arguments(args []string) (folder []string, name string, err error) {
	named := f.Named()
	switch {
	case len(args) == 0:
		return nil, "", nil
	case named && len(args) == 1:
		name = args[0]
	case named:
		return nil, "", fmt.Errorf("%q and %q are given: name one object", args[0], args[1])
	case len(args) == 2:
		folder, name = args[:1], args[1]
	default:
		if _, err := os.Stat(args[0]); err == nil || strings.Count(args[0], "/") != 1 {
			return args, "", nil
		}
		name = args[0]
	}
	if kind, rest, ok := strings.Cut(name, "/"); !ok || kind == "" || rest == "" {
		return nil, "", fmt.Errorf("%q is not an object: write KIND/NAME, as in deployment/web", name)
	}
	return folder, name, nil
}

// explainNow explains the present state of the objects of a set.
func (f *whyFlags) explainNow(
	ctx context.Context, env *cli.Env, kube *cli.Kube, folder []string, name string,
) (*explanation, error) {
	rules, err := f.ReadyRules(ctx, env, kube, folder, f.rules)
	if err != nil {
		return nil, err
	}
	set, client, err := f.OpenRecord(ctx, env, kube, folder, nil)
	if err != nil {
		return nil, err
	}
	targets, err := set.Targets(ctx, client)
	if err != nil {
		return nil, err
	}
	setflags.WarnOfHidden(env, targets)
	w := wanted{expected: f.expect(ctx, env, kube, folder, set, client), client: client,
		flags: env.ClusterFlags(), finished: sets.Finished(client, set, env.Now)}
	w.missing = w.unwritten(targets.All)
	w.refs, err = chooseObjects(append(targets.All.Refs(), w.missing...), name, set.Title())
	if err != nil {
		return nil, err
	}
	w.needed = w.neededBy(w.refs)
	w.judge, err = policy.NewRuleSet(ctx, client, rules, slices.Concat(w.refs, w.needed))
	if err != nil {
		return nil, err
	}
	namespace, _ := set.Name()
	e := &explanation{
		Set: set.Title(), Namespace: namespace, Objects: []*unready{}, total: len(w.refs),
	}
	late, err := w.observe(ctx, e, f.logLines)
	if err != nil {
		return nil, err
	}
	e.Run = runOf(ctx, client, targets.Locks)
	if e.Ready = len(e.Objects) == 0; name == "" {
		e.addSet(f.Managed)
	}
	if len(e.Objects) == 0 {
		return e, nil
	}
	w.explain(e, w.missing, late)
	return e, w.addWarnings(ctx, e)
}

// explainUnrecorded explains a Set that has deployed nothing yet.
func (f *whyFlags) explainUnrecorded() *explanation {
	record := f.Managed.Record()
	e := &explanation{
		Set:       fmt.Sprintf("%s %q", record.Format, record.Name),
		Namespace: record.Namespace, Objects: []*unready{},
	}
	e.addSet(f.Managed)
	return e
}

// explainRevision explains what failed in the run that left a revision.
func (f *whyFlags) explainRevision(
	ctx context.Context, env *cli.Env, kube *cli.Kube, folder []string, name string,
) (*explanation, error) {
	s, title, err := f.OpenHistory(ctx, env, kube, folder)
	if err != nil {
		return nil, err
	}
	r, err := s.Read(ctx, f.revision)
	if err != nil {
		return nil, err
	}
	e := &explanation{
		Set: title, Namespace: s.Set.Namespace, Revision: r.Number, Time: r.Time, Outcome: r.Outcome,
		Failures: r.Failures, Objects: []*unready{},
		Ready: r.Outcome == history.Succeeded || r.Outcome == history.Applied,
		total: r.Meta.Objects,
	}
	var refs []object.Ref
	for _, v := range r.Evidence {
		refs = append(refs, v.Object)
	}
	if name != "" {
		for _, obj := range r.Objects {
			refs = append(refs, object.RefOf(obj.Unstructured))
		}
		if refs, err = chooseObjects(refs, name, title); err != nil {
			return nil, err
		}
		e.Failures, e.total = nil, 1
	}
	for _, v := range r.Evidence {
		if slices.Contains(refs, v.Object) {
			e.Objects = append(e.Objects, newEvidence(v))
		}
	}
	e.Ready = e.Ready || name != "" && len(e.Objects) == 0
	return e, nil
}

// chooseObjects returns the objects that a name KIND/NAME stands for; all for an empty one. The
// kind is that of kubectl, with or without its group.
func chooseObjects(refs []object.Ref, name, title string) ([]object.Ref, error) {
	if name == "" {
		return refs, nil
	}
	kind, own, _ := strings.Cut(strings.ToLower(name), "/")
	var found []object.Ref
	for _, ref := range refs {
		short, _, _ := strings.Cut(ref.Short(), "/")
		plain, _, _ := strings.Cut(short, ".")
		kinds := []string{short, plain, plain + "s", plain + "es"}
		if ref.Name == own && slices.Contains(kinds, kind) && !slices.Contains(found, ref) {
			found = append(found, ref)
		}
	}
	if len(found) > 0 {
		return found, nil
	}
	return nil, fmt.Errorf("%s has no object %s%s", title, name, didYouMean(name, refs))
}
