package kpt

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/base/jsonvalue"
	"github.com/muster-deploy/muster/internal/base/yamltext"
	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/cli/packageflags"
	"github.com/muster-deploy/muster/internal/diff"
	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/manifest"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/sets/packages"
	"github.com/muster-deploy/muster/internal/sets/policy"
	"github.com/muster-deploy/muster/internal/show/view"
)

// newPlan returns the command plan of kpt: always a server-side dry run, and exit code 0
// whatever it finds.
func newPlan(env *cli.Env, kube *cli.Kube) *cobra.Command {
	f := applyFlags{dryRun: true}
	f.ServerSide, f.Adoption = true, adoptions()
	output := "text"
	cmd := &cobra.Command{
		Use:               "plan [PKG_PATH | -]",
		Short:             "Show what apply would do, as the server sees it",
		Args:              cobra.ArbitraryArgs, // all but the first are ignored
		ValidArgsFunction: cli.CompleteFolders,
		RunE: func(cmd *cobra.Command, args []string) error {
			if output != "text" && output != "krm" {
				return fmt.Errorf("unknown output format %q. Must be either 'text' or 'krm'", output)
			}
			if err := f.Adoption.Check(); err != nil {
				return err
			}
			return runPlan(cmd.Context(), env, kube, cli.Folder(args), f, output)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.ForceConflicts, "force-conflicts", false,
		"If true, server-side apply will force the changes against conflicts")
	flags.StringVar(&f.FieldManager, "field-manager", policy.DefaultManager,
		"Name of the manager used to track field ownership")
	flags.StringVar(&output, "output", output, "Output format. One of: (text, krm)")
	packageflags.AddRoot(flags, &f.root)
	f.Adoption.AddTo(cmd, "inventory-policy", "Which existing objects may be adopted")
	return cmd
}

func runPlan(
	ctx context.Context, env *cli.Env, kube *cli.Kube, dir string, f applyFlags, output string,
) error {
	p, op, err := f.prepare(ctx, env, kube, dir)
	if err != nil {
		return err
	}
	if err := makePlan(ctx, env, op, p.Inventory); err != nil {
		return listErrors(err)
	}
	if err := op.CheckRecordNamespace(ctx); err != nil {
		return err
	}
	outlooks, err := cli.Outlooks(ctx, env, op.Plan(), op.Run, engine.DryRunServer, "")
	if err != nil {
		return err
	}
	if output == "krm" {
		return packages.PlanKRM(env.Out, outlooks)
	}
	return livePlanText(env.Out, env.Getenv("NO_COLOR") == "", outlooks, p.Objects)
}

// liveActions are the signs of operations and their colours.
var liveActions = map[view.Verb]struct{ sign, colour string }{
	view.ToCreate:    {"+", "\x1b[32m"},
	view.ToConfigure: {" ", ""},
	view.ToRecreate:  {" ", ""},
	view.ToLeave:     {"", ""},
	view.ToPrune:     {"-", "\x1b[31m"},
	view.ToOrphan:    {"=", "\x1b[33m"},
	view.ToKeep:      {"=", "\x1b[33m"},
	view.ToSkip:      {"=", "\x1b[33m"},
	view.ToFail:      {"!", ""},
}

// The indents of an action and of its content, and the end of a colour.
const (
	actionIndent  = "\t"
	contentIndent = "\t\t"
	resetColour   = "\x1b[0m"
)

// livePlanText prints the plan as kpt does: each object that changes, and an empty line after every
// object. Colours are printed to any output.
func livePlanText(
	out io.Writer, colour bool, outlooks []view.Outlook, objects []manifest.Object,
) error {
	if !slices.ContainsFunc(
		outlooks, func(o view.Outlook) bool { return o.Verb() != view.ToLeave },
	) {
		_, err := fmt.Fprintln(out, "no changes found")
		return err
	}
	w := &livePlan{colour: colour}
	w.WriteString("kpt will perform the following actions:\n")
	for _, o := range outlooks {
		if err := w.action(o, objects); err != nil {
			return fmt.Errorf("%s: %w", o.Step.Ref, err)
		}
		w.WriteString("\n")
	}
	_, err := io.WriteString(out, w.String())
	return err
}

type livePlan struct {
	strings.Builder
	colour bool
}

func (w *livePlan) paint(colour, text string) {
	if w.colour && colour != "" {
		text = colour + text + resetColour
	}
	w.WriteString(text)
}

func (w *livePlan) content(text string) {
	for line := range strings.Lines(text) {
		w.WriteString(contentIndent + strings.TrimSuffix(line, "\n") + "\n")
	}
}

func (w *livePlan) action(o view.Outlook, objects []manifest.Object) error {
	v, ref := o.Verb(), o.Step.Ref
	if v == view.ToLeave {
		return nil
	}
	w.paint(liveActions[v].colour, fmt.Sprintf(
		"%s%s %s/%s %s/%s\n", actionIndent, liveActions[v].sign, ref.Group, ref.Kind,
		ref.Namespace, ref.Name,
	))
	if o.Step.Sensitive && (v == view.ToCreate || v == view.ToConfigure) {
		w.content(view.ContentHidden)
		return nil
	}
	switch v {
	case view.ToCreate:
		text, err := yamltext.MarshalAsLibrary(withOrigin(o, objects).Object)
		if err != nil {
			return fmt.Errorf("write the object as YAML: %w", err)
		}
		w.content(string(text))
	case view.ToConfigure:
		before, after := o.BeforeAfter()
		w.differences(before.Object, after.Object)
	case view.ToFail:
		w.content(liveConflict(o.Err))
	default:
		w.content(o.Reason)
	}
	return nil
}

// withOrigin returns an object as it would be sent, with the annotations for its file that kpt
// adds.
func withOrigin(o view.Outlook, objects []manifest.Object) *unstructured.Unstructured {
	_, masked := diff.Mask(nil, o.Step.Want)
	shown := masked.DeepCopy()
	for _, obj := range objects {
		if object.RefOf(obj.Unstructured) == o.Step.Ref {
			annotations := shown.GetAnnotations() // never nil: the owner is among them
			annotations[packages.LegacyPathKey] = obj.Origin.Path
			annotations[packages.PathKey] = obj.Origin.Path
			shown.SetAnnotations(annotations)
		}
	}
	return shown
}

// differences writes the fields that differ, a line for the old value and one for the new.
func (w *livePlan) differences(before, after map[string]any) {
	jsonvalue.Walk(before, after, jsonvalue.Options{}, func(d jsonvalue.Difference) {
		path := livePath(d.Path)
		if d.InOld {
			w.line("-", path, d.Old)
		}
		if d.InNew {
			w.line("+", path, d.New)
		}
	})
}

// livePath returns a path in kpt's form, with a dot before keys and indexes alike.
func livePath(path jsonvalue.Path) string {
	var b strings.Builder
	for _, step := range path {
		b.WriteString(".")
		if step.Kind == jsonvalue.ListIndex {
			b.WriteString(strconv.Itoa(step.Index))
		} else {
			b.WriteString(step.Key)
		}
	}
	return b.String()
}

// line writes one value. Fields that every write changes are left out.
func (w *livePlan) line(sign, path string, value any) {
	if path == ".metadata.generation" || path == ".metadata.managedFields.0.time" {
		return
	}
	colour := liveActions[view.ToPrune].colour
	if sign == "+" {
		colour = liveActions[view.ToCreate].colour
	}
	w.paint(colour,
		fmt.Sprintf("%s%s%s: %s\n", contentIndent, sign, path, strings.TrimSpace(fmt.Sprint(value))))
}
