package engine

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/diff"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
)

// apiServiceKind is the kind that some servers fail to merge: they break the connection instead of answering.
var apiServiceKind = schema.GroupKind{Group: "apiregistration.k8s.io", Kind: "APIService"}

// attempts is how often a write is sent in all that fails because somebody else changed the object meanwhile.
const attempts = 5

// reworks is how often it is sent where a dialect reworks it each time.
const reworks = 10

// apply carries a step out that creates or updates, and gives it as it was carried out: where the object is not as it was when
// the plan was made, it is decided on anew. An object that comes with an error was stored before that.
func apply(ctx context.Context, c Cluster, p *plan.Plan, step *plan.Step, o *Options) (*plan.Step, *unstructured.Unstructured, error) {
	rework := o.Dialect.Rework
	for attempt := 1; ; attempt++ {
		stored, err := write(ctx, c, p, step, o)
		switch {
		case !overtaken(step, err) || stored != nil || rework != nil && apierrors.IsNotFound(err):
			return step, stored, err
		case attempt == attempts && rework == nil:
			return step, nil, err
		case attempt == reworks:
			return step, nil, &ContestedError{attempt, cluster.Redact(err, step.HoldsSecret())}
		}
		before := step.Have
		if rework != nil {
			before = nil // whether it may be another object is for the dialect to say
		}
		refused := err
		live, err := again(ctx, c, step.Want, before, err)
		if err != nil {
			return step, nil, err
		}
		switch {
		case live == nil && step.Have != nil:
			return step, nil, refused
		case live == nil:
			continue // what was in the way of creating it is gone
		}
		next := step
		if rework != nil {
			next, err = rework(step, live, refused)
		} else {
			next, err = p.Replan(step, live)
		}
		if err != nil {
			return step, nil, err
		}
		if step = next; !step.Op.Writes() {
			return step, nil, nil
		}
	}
}

// overtaken reports that a write was refused because the object is not as it was when the plan was made.
func overtaken(step *plan.Step, err error) bool {
	if step.Have == nil {
		return apierrors.IsAlreadyExists(err)
	}
	ofFields := apierrors.HasStatusCause(err, metav1.CauseTypeFieldManagerConflict) // it would be the same again
	return apierrors.IsNotFound(err) || apierrors.IsConflict(err) && !ofFields
}

// again reads the object of a write that was refused. It must be the same as before, if there was one; nil means that there is
// still none.
func again(ctx context.Context, c Cluster, obj, before *unstructured.Unstructured, refused error) (*unstructured.Unstructured, error) {
	ref := object.RefOf(obj)
	snapshot, err := c.Read(ctx, []cluster.Target{{Ref: ref, Version: obj.GroupVersionKind().Version, ManagedFields: true}})
	if err != nil {
		return nil, err
	}
	live := snapshot.Objects[ref]
	switch {
	case snapshot.Unserved.Has(ref):
		return nil, refused
	case before == nil:
		return live, nil
	case live == nil:
		return nil, &vanishedError{refused}
	case live.GetUID() != before.GetUID():
		return nil, errors.New("it was replaced by another object meanwhile")
	default:
		return live, nil
	}
}

// vanishedError says that somebody deleted an object after it was read.
type vanishedError struct{ cause error }

func (e *vanishedError) Error() string {
	return "it was deleted by somebody else meanwhile; apply once more to create it"
}

// Unwrap gives the server's answer.
func (e *vanishedError) Unwrap() error { return e.cause }

// write sends the object of a step, in as many requests as its way of applying needs. As to the result, see apply.
func write(ctx context.Context, c Cluster, p *plan.Plan, step *plan.Step, o *Options) (*unstructured.Unstructured, error) {
	if p.ServerSide && p.Preconditions && step.Have != nil && len(step.Patch.Data) == 0 {
		var err error
		if step, err = takeUpdates(ctx, c, p, step); err != nil {
			return nil, err
		}
	}
	live, err := c.Write(ctx, request(p, step, step.Want, o))
	switch {
	case !p.ServerSide:
		return live, err
	case step.Ref.GroupKind() == apiServiceKind && cluster.BrokenStream(err):
		return writeInstead(ctx, c, p, step, o)
	case err != nil || p.LastApplied == "" || diff.ClientSideManagers(live, p.LastApplied).Len() == 0:
		return live, err
	case o.DryRun != DryRunNone:
		return p.MigrationResult(step, live) // the server could not say it without having taken the first step
	default:
		return takeOver(ctx, c, p, step, live)
	}
}

// writeInstead applies an object on the client's side that the server could not merge.
func writeInstead(ctx context.Context, c Cluster, p *plan.Plan, step *plan.Step, o *Options) (*unstructured.Unstructured, error) {
	merged, err := p.ReplanClientSide(step, step.Have)
	if err != nil {
		return nil, err
	}
	if merged.Op == plan.Unchanged {
		return step.Have, nil
	}
	w := request(p, merged, merged.Want, o)
	if merged.Op == plan.Create {
		w.Method = cluster.Create
	}
	return c.Write(ctx, w)
}
