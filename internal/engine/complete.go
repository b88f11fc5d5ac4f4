package engine

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/mutation"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/ready"
)

// sources returns the objects that are kept because steps take values from them or wait for their
// creation.
func sources(p *plan.Plan) map[object.Ref]bool {
	found := map[object.Ref]bool{}
	for _, step := range p.Steps {
		for _, s := range step.Substitutions {
			found[s.Source] = true
		}
		if step.Op == plan.AwaitCreated {
			found[step.Ref] = true
		}
	}
	return found
}

// look judges the object of a step. It is called by several goroutines.
func (r *run) look(i int, s cluster.ObjectEvent) observation {
	step := &r.plan.Steps[i]
	seen := look(r.engine.rules(), s, step.Op.AwaitsDeletion())
	if r.observing != nil && s.Object == nil {
		if why, ok := r.observing.finished[step.Ref]; ok {
			seen.verdict.Status = ready.Status{State: ready.Current, Message: why}
		}
	}
	if r.options.Pods.Check && s.Object != nil && !step.Op.AwaitsDeletion() {
		seen.checkPods(s.Object)
	}
	if r.sources[step.Ref] || step.Returns {
		seen.object = s.Object
	}
	return seen
}

// sourceObjects returns the ready objects that a step takes values from, as far as they were seen.
func (r *run) sourceObjects(step *plan.Step) map[object.Ref]*unstructured.Unstructured {
	known := map[object.Ref]*unstructured.Unstructured{}
	for _, s := range step.Substitutions {
		if i, ok := r.index[s.Source]; ok {
			seen := r.tracks[i].seen
			if seen.before(r.tracks[i].base) {
				seen = r.tracks[i].base // what was seen is from before our write
			}
			if seen.object != nil && seen.verdict.State == ready.Current {
				known[s.Source] = seen.object
			}
		}
	}
	return known
}

// complete returns the step to execute: a step that takes values from other objects gets them now,
// from the known objects or by reading them.
func (r *run) complete(
	ctx context.Context, step *plan.Step, known map[object.Ref]*unstructured.Unstructured,
) (*plan.Step, error) {
	var targets []cluster.Target
	asked := object.NewSet()
	for _, s := range step.Substitutions {
		if known[s.Source] == nil && asked.Insert(s.Source) {
			targets = append(targets, cluster.Target{Ref: s.Source, Version: r.version(s.Source)})
		}
	}
	if len(targets) > 0 {
		snapshot, err := r.engine.Cluster.Read(ctx, targets)
		if err != nil {
			return nil, &mutation.Error{Err: fmt.Errorf("read the values: %w", err)}
		}
		for ref, obj := range snapshot.Objects {
			known[ref] = obj
		}
	}
	completed, err := r.plan.Complete(*step, known)
	return &completed, err
}

// version returns the API version in which the set uses the kind of an object; empty for the
// preferred one.
func (r *run) version(ref object.Ref) string {
	if i, ok := r.index[ref]; ok && r.plan.Steps[i].Want != nil {
		return r.plan.Steps[i].Want.GroupVersionKind().Version
	}
	return ""
}

// act carries a step out, once it is complete. Known are the objects that need not be read for
// that.
func (r *run) act(
	ctx context.Context, step *plan.Step, known map[object.Ref]*unstructured.Unstructured,
) *result {
	if step.Op == plan.AwaitCreated {
		return r.find(ctx, step)
	}
	if r.options.DryRun == DryRunClient {
		return r.confirm(ctx, step)
	}
	if home := r.missingPrerequisite(step); home != nil && step.Op.Applies() {
		return r.dryRunElsewhere(ctx, step, home)
	}
	if step.Draft == nil || r.options.DryRun != DryRunNone {
		published := r.published(ctx, step)
		done := r.tryWrite(ctx, step, &r.options)
		done.published = published
		return done
	}
	completed, err := r.complete(ctx, step, known)
	switch {
	case err != nil:
		return &result{op: step.Op, outcome: event.Failed, err: err}
	case completed.Op == plan.Unchanged:
		return r.withoutWriting(completed)
	default:
		return act(ctx, r.engine.Cluster, r.plan, completed, &r.options)
	}
}

// unknownResult returns the result, in a dry run, of a step whose values are not known yet: a
// success if the same run would create them, else a failure.
func (r *run) unknownResult(step *plan.Step) *result {
	_, err := r.plan.Preview(*step, r.index)
	if missing := (*mutation.MissingError)(nil); errors.As(err, &missing) {
		if i, ok := r.index[missing.Source]; ok && r.plan.Steps[i].Op.Writes() {
			return &result{op: step.Op, outcome: event.Succeeded,
				reason: fmt.Sprintf("to be completed: %s has no value at %s yet", missing.Source, missing.Path)}
		}
	}
	return &result{op: step.Op, outcome: event.Failed, err: err}
}

// tryWrite sends what a complete step decided. A dry run does not fail for what depends on the run.
func (r *run) tryWrite(ctx context.Context, step *plan.Step, o *Options) *result {
	done := act(ctx, r.engine.Cluster, r.plan, step, o)
	if needed := r.dependsOn(step, done.err); needed != nil {
		return &result{op: step.Op, outcome: event.Succeeded, reason: unvalidated(needed)}
	}
	return done
}
