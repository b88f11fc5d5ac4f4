package cmd

import (
	"context"
	"errors"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/apps/change"
	"github.com/muster-deploy/muster/internal/apps/judge"
	"github.com/muster-deploy/muster/internal/apps/lastapplied"
	"github.com/muster-deploy/muster/internal/apps/resource"
	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/ready"
)

// run carries the changes out, which were laid out, and tells of it. The error is that of the run: the first bad end, or all of them.
func (r *rollout) run(ctx context.Context) error {
	t := r.newTelling()
	stop := t.tick()
	e := &engine.Engine{Cluster: r.client}
	summary, err := e.Apply(ctx, r.order, engine.Options{
		Idle: r.apply.waitTimeout, Concurrency: r.apply.applyAtOnce,
		RetryEvery: r.apply.applyInterval, RetryFor: r.apply.applyTimeout,
		EndOnWriteError: r.apply.earlyApplyError, EndOnWaitError: r.apply.earlyWaitError,
		Patient: true, Dialect: r.dialect(ctx),
	}, t.take)
	stop()
	t.progress.End(err == nil && summary.Failures() == 0)
	switch {
	case err != nil:
		return err
	case summary.Interrupted:
		return errors.New("Interrupted: what was begun is in the record (hint: run the command again to continue)")
	}
	return t.result()
}

// dialect is what this dialect decides during a run.
func (r *rollout) dialect(ctx context.Context) engine.Dialect {
	var mu sync.Mutex // of what the changes share: masks are numbered
	return engine.Dialect{
		Rework: func(step *plan.Step, live *unstructured.Unstructured, refused error) (*plan.Step, error) {
			mu.Lock()
			defer mu.Unlock()
			return r.rework(ctx, step, live, refused)
		},
		Amend:    r.amend,
		Judge:    r.judge,
		Children: made,
		Again:    func(_ int, err error) bool { return cluster.WebhookUnavailable(err) }, // the webhook may be a part of the app
	}
}

// made says which objects others make for an object: those that copy the labels by which it was deployed. Apps that are given by labels
// have none of their own.
func made(_ int, obj *unstructured.Unstructured) ([]schema.GroupKind, map[string]string) {
	labels := map[string]string{}
	for _, key := range []string{resource.LabelApp, resource.LabelAssociation} {
		if value, ok := obj.GetLabels()[key]; ok {
			labels[key] = value
		}
	}
	if labels[resource.LabelAssociation] == "" {
		return nil, nil
	}
	return judge.Children(obj), labels
}

// amend is the second write of a change: the history of the object, unless it was foreseen right. The object that the server
// stored first is what the history tells of, also if somebody has changed it by the time it is written.
func (r *rollout) amend(step *plan.Step, stored *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	c := r.changeOf(step)
	if c.New == nil {
		return nil, nil
	}
	sum, known := r.sums.Load(step.Ref)
	if !known {
		made := stored
		if carried, ok := r.carried.Load(step.Ref); ok && step.Op == plan.Update { // one that was replaced is its own
			made = carried.(*change.Change).Unmoved(stored)
		}
		var err error
		if sum, err = lastapplied.Fingerprint(made, c.New, r.config); err != nil {
			return nil, err
		}
		r.sums.Store(step.Ref, sum)
	}
	again, err := lastapplied.Record(stored, c.New, sum.(string), r.config)
	if err == nil && again != nil && r.order.ServerSide && step.Have != nil {
		again = lastapplied.Transfer(again, step.Want)
	}
	return again, err
}

// changeOf is the change that a step carries out.
func (r *rollout) changeOf(step *plan.Step) *change.Change { return r.byRef[step.Ref] }

// rework decides what becomes of a change whose object is not as it was when it was shown.
func (r *rollout) rework(ctx context.Context, step *plan.Step, live *unstructured.Unstructured, refused error) (*plan.Step, error) {
	c := r.changeOf(step)
	if step.Op == plan.Create {
		r.met.Store(step.Ref, true)
	}
	again, err := c.Rework(live, asked(c, c.ApplyOp(), refused), r.masker)
	if err == nil && c.ApplyOp() == change.Add && again.Op == change.Update {
		err = r.owned(ctx, c.New, live)
	}
	if err != nil {
		return nil, err
	}
	r.carried.Store(step.Ref, again)
	next, err := r.step(again)
	if err != nil {
		return nil, err
	}
	next.Ref, next.Source, next.Wait, next.Timeout = step.Ref, step.Source, step.Wait, step.Timeout
	return &next, nil
}

// judge judges an object that is waited for.
func (r *rollout) judge(step int, obj *unstructured.Unstructured, made []*unstructured.Unstructured) engine.Verdict {
	c := r.changes[r.at[step]]
	if c.WaitOp() == change.Gone {
		return engine.Verdict{Status: status(judge.Gone(c.Description(), obj))}
	}
	j := judge.Of(obj, made, change.Rules(r.config, r.kinds.ignoreFailing)...)
	verdict := engine.Verdict{Status: status(j)}
	if !j.Done {
		_, verdict.Release, _ = r.config.Judge(obj)
	}
	for _, child := range j.Children {
		verdict.Children = append(verdict.Children, event.Child{Ref: child.Ref, Version: child.Version, Status: status(child)})
	}
	return verdict
}

// status is a judgement in neutral terms.
func status(j judge.Judgement) ready.Status {
	state := ready.InProgress
	switch {
	case j.Done && j.Successful:
		state = ready.Current
	case j.Done:
		state = ready.Failed
	}
	return ready.Status{State: state, Message: j.Message}
}
