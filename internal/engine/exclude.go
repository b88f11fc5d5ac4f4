package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/diff"
	"github.com/muster-deploy/muster/internal/plan"
)

// BesideError reports an update that the server refuses as invalid, and what others have set beside
// fields of the manifest, which may be why: other members of a union.
type BesideError struct {
	Fields []diff.ContestedField
	Hint   string // what helps besides taking the fields away
	Err    error  // the answer of the server
}

func (e *BesideError) Error() string {
	fields := make([]string, len(e.Fields))
	for i, f := range e.Fields {
		names := make([]string, len(f.Owners))
		for k, owner := range f.Owners {
			names[k] = owner.Manager
		}
		fields[i] = f.Field + ", by " + strings.Join(names, " and ")
	}
	return fmt.Sprintf("%v\nbeside fields of the manifest, others have set %s; remove what the "+
		"manifest excludes, or: %s", e.Err, strings.Join(fields, "; "), e.Hint)
}

// Unwrap returns the answer of the server.
func (e *BesideError) Unwrap() error { return e.Err }

// maxExcluded is how many fields of others are tried out.
const maxExcluded = 8

// exclude returns the step of an update that the server has refused as invalid, decided again
// without what others have set beside fields of the manifest; nil if that does not help. The server
// names maps that would have too many fields. Of other unions of custom resources, such as those of
// oneOf and of rules, dry runs show whether it accepts the update without fields of others. If it
// does without each of several, it is not known which may stay: the error is the refusal with them.
func exclude(
	ctx context.Context, c cluster.Writer, p *plan.Plan, step *plan.Step, refused error,
) (*plan.Step, error) {
	if next, ok := p.Exclude(step, tooMany(refused)); ok {
		return next, nil
	}
	if step.Op != plan.Update || step.Have == nil || step.FullReplace || p.RecreateHint == "" {
		return nil, refused
	}
	step, err := withOwners(ctx, c, step)
	if err != nil {
		return nil, refused
	}
	fields, err := p.Beside(step)
	if err != nil {
		return nil, refused
	}
	fields = fieldsNear(fields, refused)
	without := func(fields ...diff.ContestedField) *plan.Step {
		names := make([]string, len(fields))
		for i, f := range fields {
			names[i] = f.Name()
		}
		next, ok := p.Exclude(step, names)
		if !ok {
			return nil
		}
		if _, err := write(ctx, c, p, next, &Options{DryRun: DryRunServer}); err != nil {
			return nil
		}
		return next
	}
	next := without(fields...)
	if next == nil || len(fields) == 1 {
		return next, refused
	}
	var helps []diff.ContestedField
	for _, f := range fields[:min(len(fields), maxExcluded)] {
		if found := without(f); found != nil {
			next, helps = found, append(helps, f)
		}
	}
	switch len(helps) {
	case 0:
		helps = fields
	case 1:
		return next, nil
	}
	return nil, &BesideError{Fields: helps, Hint: p.Advice(step, nil), Err: refused}
}

// withOwners returns a step whose live object has managed fields. The error says that the object
// has changed.
func withOwners(ctx context.Context, c cluster.Writer, step *plan.Step) (*plan.Step, error) {
	if len(step.Have.GetManagedFields()) > 0 {
		return step, nil
	}
	live, err := reread(ctx, c, step.Have, errReplaced)
	switch {
	case err != nil:
		return nil, err
	case live == nil || live.GetResourceVersion() != step.Have.GetResourceVersion():
		return nil, errReplaced
	}
	next := *step
	next.Have = live
	return &next, nil
}

// fieldsNear returns those fields of which a refusal may speak: it names them or something above,
// something else in their map, or nothing.
func fieldsNear(fields []diff.ContestedField, refused error) (near []diff.ContestedField) {
	status := apierrors.APIStatus(nil)
	if !errors.As(refused, &status) || status.Status().Details == nil {
		return nil
	}
	for _, f := range fields {
		for _, cause := range status.Status().Details.Causes {
			name, around := f.Name(), mapOf(f.Name())
			if named := cause.Field; named == "" || named == "<nil>" || mapOf(named) == around ||
				strings.HasPrefix(name+".", named+".") {
				near = append(near, f)
				break
			}
		}
	}
	return near
}

// mapOf returns the map that a field is in.
func mapOf(field string) string { return field[:max(strings.LastIndex(field, "."), 0)] }

// tooMany returns the maps of which a refusal says that they may have one field only.
func tooMany(err error) (fields []string) {
	status := apierrors.APIStatus(nil)
	if !errors.As(err, &status) || status.Status().Details == nil {
		return nil
	}
	for _, cause := range status.Status().Details.Causes {
		if cause.Type == metav1.CauseType(field.ErrorTypeTooMany) &&
			strings.Contains(cause.Message, "must have at most 1 ") {
			fields = append(fields, cause.Field)
		}
	}
	return fields
}
