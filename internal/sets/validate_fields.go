package sets

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/base/suggest"
	"github.com/muster-deploy/muster/internal/builtin"
	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/openapi"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/record"
)

// fieldCheck finds fields that the server does not know.
type fieldCheck struct {
	cluster cluster.Writer
	op      *Operation

	writes     map[object.Ref]plan.Op // objects that would be created or updated
	found      map[object.Ref][]Finding
	incomplete error
	// defined are the objects whose definition is in the set: the server may not know it yet.
	defined map[object.Ref]bool
}

// find sets what the check finds.
func (f *fieldCheck) find(ctx context.Context) error {
	f.writes, f.found = map[object.Ref]plan.Op{}, map[object.Ref][]Finding{}
	f.defined = map[object.Ref]bool{}
	drafts := map[object.Ref]bool{}
	steps := f.op.Plan.Steps
	for i := range steps {
		if op := steps[i].Op; op == plan.Create || op == plan.Update {
			f.writes[steps[i].Ref] = op
			drafts[steps[i].Ref] = steps[i].Draft != nil
		}
	}
	if len(f.writes) == 0 {
		return nil
	}
	unknown, err := f.unknown(ctx)
	if err != nil {
		return err
	}
	var versions []schema.GroupVersion
	defined := definitions(f.op, unknown)
	for _, d := range unknown {
		gv := d.Object.GroupVersionKind().GroupVersion()
		if defined[d.Object.GroupVersionKind()] == nil && !slices.Contains(versions, gv) {
			versions = append(versions, gv)
		}
	}
	documents, err := f.cluster.Schemas(ctx, versions)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	f.incomplete = err
	for _, d := range unknown {
		ref, gvk := object.RefOf(d.Object), d.Object.GroupVersionKind()
		document := cmp.Or(defined[gvk], documents[gvk.GroupVersion()])
		if document == nil {
			continue
		}
		f.defined[ref] = defined[gvk] != nil
		problems, _ := document.Check(gvk.Kind, d.Object.Object)
		for _, p := range problems {
			if p.Want == "" || !drafts[ref] { // values that are filled in later have any type
				f.found[ref] = append(f.found[ref], findingOf(d, p))
			}
		}
	}
	return f.confirm(ctx)
}

// unknown returns the described objects that would be written, without those of built-in kinds that
// the server is known to have with all their fields.
func (f *fieldCheck) unknown(ctx context.Context) (unknown []plan.Desired, err error) {
	newest, err := f.cluster.Kind(ctx, builtin.Newest.GroupKind())
	if err != nil && !errors.As(err, new(*cluster.UnknownKindError)) {
		return nil, err
	}
	complete := slices.Contains(newest.Served, builtin.Newest.Version)
	for _, d := range f.op.Described {
		writes := f.writes[object.RefOf(d.Object)] != ""
		if writes && !(complete && builtin.Knows(d.Object.Object)) {
			unknown = append(unknown, d)
		}
	}
	return unknown, nil
}

// definitions returns the schemas of the kinds of objects whose definitions are in a set, as they
// will be when it is applied.
func definitions(
	op *Operation, objects []plan.Desired,
) map[schema.GroupVersionKind]*openapi.Document {
	used := map[schema.GroupKind]bool{}
	for _, d := range objects {
		used[d.Object.GroupVersionKind().GroupKind()] = true
	}
	applied := map[object.Ref]bool{}
	for i := range op.Plan.Steps {
		if step := &op.Plan.Steps[i]; step.Op.Applies() && step.Op != plan.Skip {
			applied[step.Ref] = true
		}
	}
	found := map[schema.GroupVersionKind]*openapi.Document{}
	for _, d := range op.Described {
		ref := object.RefOf(d.Object)
		gk, ok := plan.DefinedKind(d.Object)
		if !ok || !used[gk] || !applied[ref] || ref.GroupKind() != plan.DefinitionKind {
			continue
		}
		for version, document := range openapi.Definition(d.Object.Object, builtin.MetadataFields()) {
			found[gk.WithVersion(version)] = document
		}
	}
	return found
}

// findingOf returns the finding for a problem of an object. It does not quote values.
func findingOf(d plan.Desired, p openapi.Problem) Finding {
	f := Finding{Ref: object.RefOf(d.Object), Source: d.Source, Field: p.Path}
	if p.Want == "" {
		f.Text = fmt.Sprintf("unknown field %q", p.Path) + suggest.Hint(p.Name, p.Known, "")
		return f
	}
	f.Text = fmt.Sprintf("the field %q must be %s, not %s", p.Path, article(p.Want), article(p.Got))
	if p.Want == "string" && p.Got != "object" && p.Got != "array" {
		f.Text += "; put it in quotes"
	}
	return f
}

// article returns the name of a type with its article.
func article(name string) string {
	switch name[0] {
	case 'a', 'i', 'o':
		return "an " + name
	}
	return "a " + name
}

// confirm sends the objects with findings to the server in a dry run, and removes the findings of
// those that it accepts: what it has said of a kind may be older than the kind, by a second for
// definitions, and by a minute for other API servers. It cannot be asked about kinds that the set
// defines.
func (f *fieldCheck) confirm(ctx context.Context) error {
	p := *f.op.Plan
	p.Steps = nil
	for _, step := range f.op.Plan.Steps {
		writes := step.Op == plan.Create || step.Op == plan.Update
		if writes && len(f.found[step.Ref]) > 0 && !f.defined[step.Ref] && step.Unknown == "" {
			step.Needs, step.After = nil, nil // one error does not hide another
			p.Steps = append(p.Steps, step)
		}
	}
	if len(p.Steps) == 0 {
		return nil
	}
	options := engine.Options{
		DryRun: engine.DryRunServer, FieldValidation: cluster.FieldsStrict, NoCauses: true,
	}
	e := &engine.Engine{Cluster: f.cluster, Records: record.Discard{}}
	_, err := e.Apply(ctx, &p, options, func(e event.Event) {
		if e.Kind == event.Acted && e.Outcome == event.Succeeded && e.Reason == "" {
			delete(f.found, p.Steps[e.Step].Ref)
		}
	})
	return cmp.Or(err, context.Cause(ctx))
}
