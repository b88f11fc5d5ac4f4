package cmd

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/apps/change"
	"github.com/muster-deploy/muster/internal/apps/lastapplied"
	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/record"
)

// work is the tag of a step: the change that it applies, and how that went so far. It belongs to the goroutine that has the
// step: a worker while the step is written, else the run.
type work struct {
	change   *change.Change // as the user approved it
	rebased  *change.Change // as it was rebased onto an object that others changed meanwhile; else nil
	existed  bool           // the object to be created existed
	original string         // fingerprint of the object as the server stored it first; empty before that
}

// workOf returns the tag of a step; nil for a step that only joins others.
func workOf(tag any) *work {
	w, _ := tag.(*work)
	return w
}

// run applies the plan of the changes and prints what happens. The error is that of the run: the first failure, or all.
func (r *rollout) run(ctx context.Context) error {
	p := r.newEventPrinter()
	stop := p.startTicking()
	e := &engine.Engine{Cluster: r.client, Records: record.Discard{}, Rules: r.readyRules()}
	summary, err := e.Apply(ctx, r.order, engine.Options{
		Limits:      engine.Limits{Idle: r.apply.waitTimeout},
		Retry:       engine.Retry{Every: r.apply.applyInterval, For: r.apply.applyTimeout},
		StopOn:      engine.StopOn{WriteError: r.apply.earlyApplyError, WaitError: r.apply.earlyWaitError, Stuck: r.apply.failFast},
		Concurrency: r.apply.applyAtOnce,
		NoCauses:    !r.native,
		LogLines:    r.apply.logLines,
	}, p.print)
	stop()
	p.progress.End(err == nil && summary.Failures() == 0)
	switch {
	case err != nil:
		return err
	case summary.Interrupted:
		return errors.New("Interrupted: what was begun is in the record (hint: run the command again to continue)")
	}
	return p.result()
}

// decider makes the decisions of an app that depend on the answers of the server; see plan.Decider.
type decider struct {
	*rollout
	ctx context.Context // of the run, for looking up the owners of objects
}

// Amend returns the object with the record of what was applied, unless the first write had the right one.
func (d decider) Amend(step *plan.Step, stored *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	w := workOf(step.Tag)
	wanted := w.change.New
	if wanted == nil {
		return nil, nil
	}
	if w.original == "" {
		applied := stored
		if w.rebased != nil && step.Op == plan.Update { // a recreated object has no changes of others
			applied = w.rebased.WithoutChangesByOthers(stored)
		}
		var err error
		if w.original, err = lastapplied.Fingerprint(applied, wanted, d.config); err != nil {
			return nil, err
		}
	}
	next, err := lastapplied.Correction(stored, wanted, w.original, d.config)
	if err == nil && next != nil && d.order.ServerSide && step.Have != nil {
		next = lastapplied.CopyAnnotations(next, step.Want)
	}
	return next, err
}

// Replan returns the step for a change whose object is not as it was when the change was shown.
func (d decider) Replan(step *plan.Step, live *unstructured.Unstructured, refused error) (*plan.Step, error) {
	d.deciding.Lock() // masked values are numbered across all changes
	defer d.deciding.Unlock()
	w := workOf(step.Tag)
	c := w.change
	w.existed = w.existed || step.Op == plan.Create
	rebased, err := c.Rework(live, asked(c, c.ApplyOp(), refused), d.masker)
	if err == nil && c.ApplyOp() == change.Add && rebased.Op == change.Update {
		err = d.owned(d.ctx, c.New, live)
	}
	if err != nil {
		return nil, err
	}
	w.rebased = rebased
	next, err := d.step(rebased)
	if err != nil {
		return nil, err
	}
	next.Ref, next.Source, next.Wait, next.Timeout, next.Tag = step.Ref, step.Source, step.Wait, step.Timeout, w
	return &next, nil
}
