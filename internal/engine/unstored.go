package engine

import (
	"fmt"
	"maps"
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

// checkStored returns an *UnstoredError if the answer to a write lacks fields that a definition of
// the run declares.
func (o *Options) checkStored(step *plan.Step, live *unstructured.Unstructured) error {
	undeclared, known := o.changed.undeclared(step.Want)
	if !known || o.DryRun != DryRunNone || step.Reverts != nil {
		return nil
	}
	var lost []string
	for _, key := range slices.Sorted(maps.Keys(step.Want.Object)) {
		if key != "metadata" && key != "status" {
			lost = append(lost, lacking(key, step.Want.Object[key], live.Object[key])...)
		}
	}
	lost = slices.DeleteFunc(lost, func(path string) bool { return slices.Contains(undeclared, path) })
	if len(lost) == 0 {
		return nil
	}
	return &UnstoredError{lost}
}

// lacking returns the paths of the values that a stored value lacks. Lists are compared item by
// item if they have the same length: others were merged.
func lacking(path string, sent, stored any) (paths []string) {
	switch s := sent.(type) {
	case nil:
		return nil
	case map[string]any:
		if fields, ok := stored.(map[string]any); ok {
			for _, key := range slices.Sorted(maps.Keys(s)) {
				paths = append(paths, lacking(path+"."+key, s[key], fields[key])...)
			}
			return paths
		}
	case []any:
		if items, ok := stored.([]any); ok {
			for i := range s {
				if len(items) == len(s) {
					paths = append(paths, lacking(fmt.Sprintf("%s[%d]", path, i), s[i], items[i])...)
				}
			}
			return paths
		}
	}
	if stored == nil {
		return []string{path}
	}
	return nil
}

// unstored returns the result of a step whose answer lacks fields: it is sent again, as an update
// of the stored object.
func unstored(
	p *plan.Plan, step *plan.Step, live *unstructured.Unstructured, lacks error,
) *result {
	done := &result{op: step.Op, outcome: event.Failed, err: lacks, stored: true}
	next := *step
	next.Op, next.Have, next.Patch = plan.Update, live, diff.Patch{}
	done.rest = &next
	switch {
	case p.ServerSide:
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
