package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/builtin"
	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/diff"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/openapi"
	"github.com/muster-deploy/muster/internal/plan"
)

// UnstoredError reports fields that the answer to a write lacks, although the definition that the
// same run has written declares them.
type UnstoredError struct{ Fields []string }

func (e *UnstoredError) Error() string {
	return fmt.Sprintf("the server did not store %s, which the definition of its kind in the same "+
		"run declares; apply again", strings.Join(e.Fields, ", "))
}

// schemas are the schemas of the kinds whose definitions a run creates or changes, by version.
type schemas map[schema.GroupKind]map[string]*openapi.Document

// changedSchemas returns the schemas that a plan changes.
func changedSchemas(definitions map[schema.GroupKind]*plan.Step) schemas {
	found := schemas{}
	for gk, step := range definitions {
		if step.Op == plan.Create || step.Op == plan.Update && changesVersions(step) {
			found[gk] = openapi.Definition(step.Want.Object, builtin.MetadataFields())
		}
	}
	return found
}

// undeclared returns the paths of the fields of an object that its changed definition does not
// have. Known is false if the run does not change the definition.
func (s schemas) undeclared(obj *unstructured.Unstructured) (paths []string, known bool) {
	gvk := obj.GroupVersionKind()
	document := s[gvk.GroupKind()][gvk.Version]
	if document == nil {
		return nil, false
	}
	problems, known := document.Check(gvk.Kind, obj.Object)
	for _, p := range problems {
		if p.Want == "" {
			paths = append(paths, p.Path)
		}
	}
	return paths, known
}

// validation returns what the server does about unknown fields of an object. It must refuse those
// of an object that agrees with a definition of the run: a server that has not taken up the
// definition yet would drop them.
func (o *Options) validation(obj *unstructured.Unstructured) string {
	if paths, known := o.changed.undeclared(obj); known && len(paths) == 0 && o.DryRun == DryRunNone {
		return cluster.FieldsStrict
	}
	return o.FieldValidation
}

// unstored returns the paths of the values of a step's manifest that were sent, and that the answer
// of the server lacks.
func unstored(p *plan.Plan, step *plan.Step, answer *unstructured.Unstructured) []string {
	if answer == nil || step.Want == nil || len(diff.Unstored(step.Want, answer)) == 0 {
		return nil // the manifest is a part of what was sent
	}
	manifest, err := p.Manifest(step)
	if err != nil {
		return nil // it is not known
	}
	lost := diff.Unstored(manifest, answer)
	if len(lost) == 0 {
		return nil
	}
	left := diff.Unstored(manifest, step.Want) // to others, so that it was not sent
	return slices.DeleteFunc(lost, func(path string) bool { return slices.Contains(left, path) })
}

// checkServed returns an *UnstoredError if lost fields are declared by a definition of the run that
// the server may not serve yet. One that has published the definition before the write does not
// store the fields for another reason, such as a webhook.
func (o *Options) checkServed(
	ctx context.Context, c cluster.Writer, step *plan.Step, lost []string,
) error {
	undeclared, known := o.changed.undeclared(step.Want)
	if !known || o.DryRun != DryRunNone || step.Reverts != nil {
		return nil
	}
	declared := slices.DeleteFunc(slices.Clone(lost), func(path string) bool {
		return slices.Contains(undeclared, path) || strings.HasPrefix(path, "metadata.")
	})
	if len(declared) == 0 {
		return nil
	}
	if _, served := o.served.Load(step.Ref); served {
		return nil
	}
	if isPublished(ctx, c, step.Want, declared) {
		o.served.Store(step.Ref, true)
	}
	return &UnstoredError{declared}
}

// isPublished reports whether the schema that the server publishes of an object's kind has fields.
func isPublished(
	ctx context.Context, c cluster.Writer, obj *unstructured.Unstructured, fields []string,
) bool {
	gvk := obj.GroupVersionKind()
	documents, err := c.Schemas(ctx, []schema.GroupVersion{gvk.GroupVersion()})
	document := documents[gvk.GroupVersion()]
	if err != nil || document == nil {
		return false
	}
	problems, known := document.Check(gvk.Kind, obj.Object)
	return known && !slices.ContainsFunc(problems, func(p openapi.Problem) bool {
		return p.Want == "" && slices.ContainsFunc(fields, func(field string) bool {
			return strings.HasPrefix(p.Path, field)
		})
	})
}

// resend returns the result of a step whose answer lacks fields: it is sent again, as an update
// of the stored object.
func resend(
	p *plan.Plan, step *plan.Step, live *unstructured.Unstructured, lacks error,
) *result {
	done := &result{op: step.Op, outcome: event.Failed, err: lacks, stored: true}
	next := *step
	next.Op, next.Have, next.Patch = plan.Update, live, diff.Patch{}
	done.rest = &next
	switch {
	case step.ServerSide:
	case p.Decider != nil:
		next.FullReplace = true
	default:
		replanned, err := p.Replan(step, live)
		if err != nil {
			return &result{op: step.Op, outcome: event.Failed, err: err, stored: true}
		}
		done.rest = replanned
	}
	return done
}
