package engine

import (
	"context"
	"errors"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/diff"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/plan"
)

// ImmutableError reports an update that cannot be made because of fields that only a new object can
// have. The object was not changed.
type ImmutableError struct {
	Fields []string // in the form spec.template
	Hint   string   // what the user may do about it
	Err    error    // the answer of the server; nil if it could not be asked
}

// maxAnswer is the length of the longest line of the server's answer that is printed. A longer one
// quotes whole fields.
const maxAnswer = 300

func (e *ImmutableError) Error() string {
	text := e.Summary()
	if e.Err == nil {
		return text
	}
	for line := range strings.SplitSeq(e.Err.Error(), "\n") {
		if len(line) <= maxAnswer {
			text += "\n" + line
		}
	}
	return text
}

// Summary returns the error in one line, without the answer of the server.
func (e *ImmutableError) Summary() string { return e.reason() + "; " + e.Hint }

func (e *ImmutableError) reason() string {
	return strings.Join(e.Fields, ", ") + " cannot be changed"
}

// Unwrap returns the answer of the server.
func (e *ImmutableError) Unwrap() error { return e.Err }

// explainInvalid returns an *ImmutableError if the server refuses an update because of fields that
// are known to be immutable, and would create the same object. Then the step says what is created
// in place of the live object. If the step wants that, any refusal will do. Other errors are
// returned unchanged: they may depend on fields of the live object.
func explainInvalid(
	ctx context.Context, c cluster.Writer, p *plan.Plan, step *plan.Step, err error, o *Options,
) (*plan.Step, error) {
	if p.RecreateHint == "" || step.Op != plan.Update || step.Have == nil ||
		!apierrors.IsInvalid(err) || cluster.RefusalOf(err).ByAdmission() {
		return step, err
	}
	next, fields, planErr := plannedRecreation(p, step)
	if planErr != nil {
		return step, err
	}
	if len(fields) == 0 {
		fields = ownFields(step.Want, immutableFields(step, err))
	}
	switch {
	case len(fields) > 0:
	case step.Replace == plan.ReplaceImmutable:
		fields = ownFields(step.Want, invalidFields(err))
	default:
		return step, err
	}
	refused := tryCreation(ctx, c, p, next, o)
	if refused != nil && !apierrors.IsAlreadyExists(refused) &&
		cluster.RefusalOf(refused) != cluster.ByQuota { // the live object counts in quotas, too
		return step, err
	}
	return next, &ImmutableError{Fields: fields, Hint: p.Advice(step, fields), Err: err}
}

// plannedRecreation returns a step with the object that is created in place of the live one, and
// the changed fields that are known to be immutable.
func plannedRecreation(p *plan.Plan, step *plan.Step) (*plan.Step, []string, error) {
	manifest, err := p.Manifest(step)
	if err != nil {
		return nil, nil, err
	}
	next := *step
	next.Recreate = manifest
	if step.ServerSide { // the result of the merge is unknown
		return &next, nil, nil
	}
	return &next, diff.ImmutableChanges(step.Have, step.Want), nil
}

// immutableTexts are parts of the texts by which servers say that an update cannot change a field:
// there is no reason of the API for that.
var immutableTexts = []string{
	"immutable", "may not change", "may not be changed", "cannot be changed", "can not be changed",
	"cannot change roleRef", "may not be updated", "cannot be updated", "may not be modified",
	"updates to ",
}

// immutableFields returns the fields that a refusal calls immutable, and those for which the plan
// knows what helps instead of a new object.
func immutableFields(step *plan.Step, err error) (fields []string) {
	status := apierrors.APIStatus(nil)
	if !errors.As(err, &status) || status.Status().Details == nil {
		return nil
	}
	for _, cause := range status.Status().Details.Causes {
		says := func(text string) bool { return strings.Contains(cause.Message, text) }
		known := slices.ContainsFunc(immutableTexts, says) ||
			plan.HasWay(step.Ref.GroupKind(), cause.Field)
		if known && !slices.Contains(fields, cause.Field) {
			fields = append(fields, cause.Field)
		}
	}
	return fields
}

// invalidFields returns the fields that a refusal names.
func invalidFields(err error) []string {
	fields := []string{"a field"}
	status := apierrors.APIStatus(nil)
	if !errors.As(err, &status) || status.Status().Details == nil {
		return fields
	}
	for i, cause := range status.Status().Details.Causes {
		if i == 0 {
			fields = nil
		}
		if !slices.Contains(fields, cause.Field) {
			fields = append(fields, cause.Field)
		}
	}
	return fields
}

// ownFields returns those fields that a manifest sets, or all if it sets none: a server names
// fields too that it derives from others, as the selector of a Job.
func ownFields(manifest *unstructured.Unstructured, fields []string) []string {
	own := slices.DeleteFunc(slices.Clone(fields), func(field string) bool {
		path, _, _ := strings.Cut(field, "[")
		_, ok, err := unstructured.NestedFieldNoCopy(manifest.Object, strings.Split(path, ".")...)
		return !ok || err != nil
	})
	if len(own) == 0 {
		return fields
	}
	return own
}

// recreate returns the result of a step whose object has to be recreated to get immutable fields:
// that of the recreation if the step wants it, else the error. A dry run only reports it.
func recreate(
	ctx context.Context, c cluster.Writer, p *plan.Plan, step *plan.Step,
	because *ImmutableError, o *Options,
) *result {
	held := heldBack(p, step, because)
	switch {
	case step.Replace != plan.ReplaceImmutable, held != nil && p.Holds(step):
		return &result{op: step.Op, outcome: event.Failed, err: because}
	case held != nil:
		return held
	case o.DryRun != DryRunNone:
		return &result{
			op: step.Op, outcome: event.Succeeded, recreates: true, would: p.Planned(step),
			reason: "to be recreated: " + because.reason() + lossOf(step),
		}
	}
	next := *step
	next.Reason = "recreated: " + because.reason()
	done := replace(ctx, c, p, &next, because, o)
	if done.outcome == event.Succeeded {
		done.reason = next.Reason
	}
	return done
}

// refusedConfirmation returns the result of a client dry run if the server refused to confirm the
// update: see refused. Fields that are known to be immutable are the failure also if the server
// says something else.
func (r *run) refusedConfirmation(
	ctx context.Context, step *plan.Step, refused error, planned *result,
) *result {
	if apierrors.IsInvalid(refused) && replaces(step, plan.ReplaceInvalid) {
		return tryRecreation(ctx, r.engine.Cluster, r.plan, step, refused, &r.options)
	}
	next, err := explainInvalid(ctx, r.engine.Cluster, r.plan, step, refused, &r.options)
	immutable := (*ImmutableError)(nil)
	if !errors.As(err, &immutable) {
		if r.plan.RecreateHint == "" {
			return planned
		}
		if planned = r.refused(step, refused, planned); planned.outcome == event.Failed {
			return planned
		}
		var fields []string
		next, fields, err = plannedRecreation(r.plan, step)
		if err != nil || len(fields) == 0 {
			return planned
		}
		immutable = &ImmutableError{Fields: fields, Hint: r.plan.Advice(step, fields)}
	}
	return recreate(ctx, r.engine.Cluster, r.plan, next, immutable, &r.options)
}
