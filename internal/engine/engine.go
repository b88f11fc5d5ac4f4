// Package engine plans a set of objects, runs the plan and records the result.
//
// Its input is a cluster, a record and policy; its output is events. It prints nothing, asks
// nothing, and knows neither the annotations nor the wording of any tool.
//
// # Runs
//
// The goroutine of the loop owns all state of a run. Workers, one for each write, and watches send
// it messages. A step starts when its edges allow it and a slot is free. It holds the slot during
// its write, not while it is waited for, and settles exactly once. A paused step holds no slot. It
// resumes at a time, or when a watch shows that its object was deleted or created, and it ends with
// the run.
//
// # Readiness
//
// Observations from before the run's own write are ignored; resource versions identify them. Two
// statuses are doubted for a while: Current because no controller has reported anything, and Failed
// because of a condition from before the write. An object that failed may recover while others are
// waited for. The run ends early if all objects that it waits for have failed, nothing is being
// written and no step can start.
//
// With Options.Pods a workload that is ready by its status is judged by its pods, too. They are
// watched when the first workload of a namespace becomes ready, unless they are for causes. Its own
// status often shows that nothing has happened to a workload that the run did not change.
//
// Rules may need child objects. They are watched once an object is judged not ready: with a watch
// for the labels of each object, or, if a run has many objects of the kind in a namespace, with one
// for the labels that all have in common.
//
// # Causes
//
// An object makes no progress if its controller has seen it and nothing changes for a moment. The
// run then watches related objects: those of the kinds that its ready.Evidence names, such as the
// pods of workloads, and Warning events. One watch selects the related objects of a few objects by
// a label; for many objects it covers a kind in a namespace. It is not started if a watch for the
// rules reports these objects. Each is reduced to a ready.Evidence; only rules keep whole objects,
// until the steps that need them have settled. New causes are emitted at once, and those of failed
// objects once more after the record is saved.
package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/ready"
	"github.com/muster-deploy/muster/internal/record"
)

// Engine runs plans against one cluster and keeps one record. It may be used for one run at a time.
type Engine struct {
	Cluster cluster.Writer
	Records record.Store // record.Discard for objects that belong to no set
	Rules   Rules        // nil means the rules of package ready alone
}

// rules returns the rules of the engine.
func (e *Engine) rules() Rules {
	if e.Rules == nil {
		return (*ready.RuleSet)(nil)
	}
	return e.Rules
}

// Request is what is wanted.
type Request struct {
	Desired []plan.Desired
	Policy  plan.Policy

	// Settle returns what is desired beside the live objects, if that depends on them, and the
	// recorded objects that stay unchanged. Nil means that Desired is it. The live objects are those
	// of Desired and of the record.
	Settle func(
		desired []plan.Desired, recorded []object.Ref, live map[object.Ref]*unstructured.Unstructured,
	) ([]plan.Desired, *object.Set, error)

	// Only makes a plan that is not run: it need not be possible to create all objects.
	Only bool

	// Protect returns those objects that must not be deleted, of those that the plan deletes. Nil
	// means none.
	Protect func(ctx context.Context, deleted []object.Ref) (map[object.Ref]plan.Protection, error)
}

// Plan reads the record and the live objects and decides what to do. It changes nothing.
func (e *Engine) Plan(ctx context.Context, req Request) (*plan.Plan, error) {
	p, err := e.makePlan(ctx, req)
	if err == nil && req.Policy.RecreateDeleted && !req.Only {
		err = CheckNamespaces(ctx, e.Cluster, p)
	}
	return p, err
}

func (e *Engine) makePlan(ctx context.Context, req Request) (*plan.Plan, error) {
	state, err := e.Records.Load(ctx)
	if err != nil {
		return nil, err
	}
	in, err := e.read(ctx, req, state)
	if err != nil {
		return nil, err
	}
	in.Unwritten = object.NewSet(state.Unwritten...)
	in.Unproven = append(state.Unproven(), state.Unwritten...)
	in.Policy.Owner.Records = state.Holders
	if in.Autoscalers, err = Autoscalers(ctx, e.Cluster, in.ScaledNamespaces()); err != nil {
		return nil, err
	}
	p, err := plan.Build(in)
	if err == nil {
		p, err = e.withOwners(ctx, in, p)
	}
	if err != nil || req.Protect == nil {
		return p, err
	}
	var deleted []object.Ref
	for _, step := range p.Steps {
		if step.Op == plan.Delete {
			deleted = append(deleted, step.Ref)
		}
	}
	if in.Protect, err = req.Protect(ctx, deleted); err != nil || len(in.Protect) == 0 {
		return p, err
	}
	return plan.Build(in)
}

// read returns what the plan is made from. It reads what the record has not read on the way.
func (e *Engine) read(
	ctx context.Context, req Request, state *record.State,
) (plan.Input, error) {
	recorded := state.Refs()
	in := plan.Input{Desired: req.Desired, Recorded: recorded, Policy: req.Policy}
	known := object.NewSet(slices.Collect(maps.Keys(state.Live))...)
	targets := targetsOf(req, req.Desired, known)
	for _, ref := range recorded {
		if known.Insert(ref) {
			targets = append(targets, cluster.Target{
				Ref: ref, ManagedFields: req.Settle != nil && req.Policy.NeedsOwners(),
			})
		}
	}
	live, err := e.readFresh(ctx, targets, object.NewSet(recorded...))
	if err != nil {
		return in, fmt.Errorf("read the cluster: %w", err)
	}
	in.Live, in.Unserved, in.NoKind = live.Objects, live.Unserved, live.NoKind
	in.Doubts = live.Doubts
	maps.Copy(in.Live, state.Live)
	if req.Settle == nil {
		return in, nil
	}
	if in.Desired, in.Staying, err = req.Settle(req.Desired, recorded, live.Objects); err != nil {
		return in, err
	}
	if targets = targetsOf(req, in.Desired, known); len(targets) == 0 {
		return in, nil
	}
	if live, err = e.Cluster.Read(ctx, targets); err != nil {
		return in, fmt.Errorf("read the cluster: %w", err)
	}
	maps.Copy(in.Live, live.Objects)
	return in, nil
}

// readFresh returns the live objects among the targets. If the server seems not to have the kind of
// one of some objects, which may be forgotten then, it reads the kinds of the server and these
// objects again: what is known of the kinds may be as old as the connection.
func (e *Engine) readFresh(
	ctx context.Context, targets []cluster.Target, some *object.Set,
) (*cluster.Snapshot, error) {
	live, err := e.Cluster.Read(ctx, targets)
	if err != nil {
		return nil, err
	}
	unserved := slices.DeleteFunc(slices.Clone(targets), func(target cluster.Target) bool {
		return !live.Unserved.Has(target.Ref) && !live.NoKind.Has(target.Ref)
	})
	if !slices.ContainsFunc(unserved, func(t cluster.Target) bool { return some.Has(t.Ref) }) {
		return live, nil
	}
	if err := e.Cluster.Rediscover(ctx); err != nil {
		return nil, err
	}
	again, err := e.Cluster.Read(ctx, unserved)
	if err != nil {
		return nil, err
	}
	doubts := map[schema.GroupKind]error{}
	for _, target := range unserved {
		// a definition is going to be applied: the server may have another one
		if ref := target.Ref; some.Has(ref) && again.NoKind.Has(ref) && !again.Unserved.Has(ref) {
			if doubt := e.Cluster.WhyHidden(ctx, ref.GroupKind()); doubt != nil {
				doubts[ref.GroupKind()] = doubt
			}
		}
	}
	again.Hide(doubts)
	maps.Copy(live.Objects, again.Objects)
	live.Unserved, live.NoKind = again.Unserved, again.NoKind
	live.Broken, live.Doubts = again.Broken, again.Doubts
	return live, nil
}

// targetsOf returns the desired objects that are to be read beside the known ones, which they join.
func targetsOf(req Request, desired []plan.Desired, known *object.Set) []cluster.Target {
	var targets []cluster.Target
	for _, d := range desired {
		if ref := object.RefOf(d.Object); known.Insert(ref) {
			targets = append(targets, cluster.Target{
				Ref: ref, Version: d.Object.GroupVersionKind().Version,
				ManagedFields: req.Policy.NeedsOwnersOf(d.Object),
			})
		}
	}
	return targets
}

// withOwners returns a plan that knows who owns the fields that it overwrites, or that the set may
// have applied server-side. Only for these objects does it read the managed fields, which are a
// large part of an object.
func (e *Engine) withOwners(ctx context.Context, in plan.Input, p *plan.Plan) (*plan.Plan, error) {
	var targets []cluster.Target
	for i := range p.Steps {
		if step := &p.Steps[i]; p.LacksOwners(step) {
			targets = append(targets, cluster.Target{
				Ref: step.Ref, Version: step.Want.GroupVersionKind().Version, ManagedFields: true,
			})
		}
	}
	if len(targets) == 0 {
		return p, nil
	}
	live, err := e.Cluster.Read(ctx, targets)
	if err != nil {
		return nil, fmt.Errorf("read the owners of fields: %w", err)
	}
	for ref, obj := range live.Objects {
		in.Live[ref] = obj
	}
	return plan.Build(in)
}

// Autoscalers returns the autoscalers in some namespaces; none of one in which they may not be
// listed.
func Autoscalers(
	ctx context.Context, c cluster.Reader, namespaces []string,
) (found []*unstructured.Unstructured, err error) {
	for _, namespace := range namespaces {
		list, err := c.List(ctx, plan.AutoscalerKind, namespace, nil)
		unknown := (*cluster.UnknownKindError)(nil)
		if err != nil && !apierrors.IsForbidden(err) && !errors.As(err, &unknown) {
			return nil, fmt.Errorf("read the autoscalers: %w", err)
		}
		found = append(found, list...)
	}
	return found, nil
}
