package apps

import (
	"context"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/apps/config"
	"github.com/muster-deploy/muster/internal/apps/resource"
	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/owner"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/record"
)

// SetDeletion is the deletion of an app as the planner of all sets sees one. It is for one
// operation, and for as long as the app is locked.
type SetDeletion struct {
	*Deletion
	plan    *plan.Plan // nil before SetPlan
	running context.Context
	begun   bool
}

// OpenSetDeletion finds an app that is to be deleted. One that does not exist has no objects.
func (c *Client) OpenSetDeletion(ctx context.Context, r DeleteRequest) (*SetDeletion, error) {
	d, err := c.openDeletion(ctx, r)
	if err != nil {
		return nil, err
	}
	if d.Found() {
		if err := checkLabel(d.app); err != nil {
			return nil, err
		}
	}
	return &SetDeletion{Deletion: d}, nil
}

// SetPlan sets the plan that is going to be run.
func (s *SetDeletion) SetPlan(_ context.Context, p *plan.Plan) error {
	s.plan = p
	return nil
}

// Plan returns the plan; nil before SetPlan.
func (s *SetDeletion) Plan() *plan.Plan { return s.plan }

// Config returns the built-in rules.
func (s *SetDeletion) Config() *config.Config { return config.Default() }

// Shape adds to a policy how the objects of the app are marked.
func (s *SetDeletion) Shape(p *plan.Policy) {
	if s.Found() {
		shapePolicy(p, s.app, nil)
	}
}

// Owners returns the owners of a live object other than the app.
func (s *SetDeletion) Owners(live, applied liveObject) []owner.Owner {
	if !s.Found() {
		return nil
	}
	return ownersOf(s.app, live, applied)
}

// Load returns the objects that carry the label of the app, and the live objects. Objects that
// controllers created with this label are members only if they are annotated for it. An app that
// may have more objects than can be listed is an *UnlistableError.
func (s *SetDeletion) Load(ctx context.Context) (*record.State, error) {
	if !s.Found() {
		return &record.State{}, nil
	}
	if err := s.readLive(ctx); err != nil {
		return nil, err
	}
	if s.unlistable.keepsRecord() {
		return nil, s.unlistable.refuseDelete(s.app)
	}
	state := stateOf(s.app, s.objects)
	for _, obj := range s.objects {
		deleted := resource.IsGenerated(obj) || resource.HasAnnotation(obj, resource.AnnOwnedForDeletion)
		if ref := object.RefOf(obj); deleted && state.Live[ref] == nil {
			state.Members, state.Live[ref] = append(state.Members, record.Member{Ref: ref}), obj
		}
	}
	return state, nil
}

// Exists reports whether the app has a record.
func (s *SetDeletion) Exists() bool { return s.Found() && s.app.Exists() }

// Unfinished reports whether the last run of the app did not succeed.
func (s *SetDeletion) Unfinished() bool { return s.Found() && !lastSucceeded(s.app) }

// Holds reports whether an object is the record of the app.
func (s *SetDeletion) Holds(obj *unstructured.Unstructured) bool {
	return s.Found() && holds(s.app, obj)
}

// SetRun sets the context of the run.
func (s *SetDeletion) SetRun(ctx context.Context) { s.running = ctx }

// Save records the beginning of the run, or how it ended, and the members that are left. The
// namespaces of the app stay recorded: a user who may not list all needs them to find its objects.
func (s *SetDeletion) Save(ctx context.Context, state *record.State) error {
	if !s.Found() {
		return nil
	}
	if s.begun {
		if err := cluster.PermitAtEnd(s.running, ctx); err != nil {
			return err // a run that has the lock now has taken the record over, too
		}
	}
	s.app.SetMembers(slices.Clone(state.Members))
	switch {
	case state.Result == "":
		s.begun = true
		return s.app.Begin(ctx, "delete", s.namespaces(), false)
	case !s.begun:
		return nil
	case state.Result == record.RunInterrupted:
		return s.app.Interrupted(ctx)
	}
	if left := state.Refs(); state.Result == record.RunSucceeded && len(left) > 0 {
		s.Printer.Info("the record of the app stays until these objects are gone, which nothing waits " +
			"for; destroy it again then: " + strings.Join(s.describe(left), ", "))
	}
	return s.app.Finish(ctx, state.Result == record.RunSucceeded, s.namespaces())
}

// describe returns the names of objects.
func (s *SetDeletion) describe(refs []object.Ref) []string {
	some := object.NewSet(refs...)
	return describeAll(slices.DeleteFunc(slices.Clone(s.objects), func(o liveObject) bool {
		return !some.Has(object.RefOf(o))
	}))
}

// Delete deletes the record of an app without objects, and the records of its deployments. It looks
// for objects once more, and keeps the record if it finds some or cannot look.
func (s *SetDeletion) Delete(
	ctx context.Context, _ []object.Ref, before record.Before,
) error {
	if !s.Found() {
		if before != nil {
			return before(ctx, func(context.Context) error { return nil })
		}
		return nil
	}
	if err := cluster.PermitAtEnd(s.running, ctx); err != nil {
		return err // a run that has the lock now has taken the record over, too
	}
	deleted, err := s.deleteRecord(ctx, before)
	if deleted || !s.begun {
		return err
	}
	s.app.SetMembers(nil)
	if failed := s.app.Finish(ctx, err == nil, s.namespaces()); err == nil {
		err = failed
	}
	return err
}

// namespaces returns those of the objects and of the last deployment.
func (s *SetDeletion) namespaces() []string {
	return append(namespacesOf(nil, withoutTransient(s.objects)),
		s.app.Meta.LastDeployment.Namespaces...)
}

// Finish makes what follows a run: it deletes the oldest records of deployments of an app that
// could not be deleted.
func (s *SetDeletion) Finish(ctx context.Context, err error) error {
	if !s.begun || !s.app.Exists() {
		return err
	}
	closing, cancel := context.WithTimeout(closingContext(ctx), closingTime)
	defer cancel()
	_, _, failed := s.app.TrimRecords(closing, fewChanges)
	if err == nil {
		err = failed
	}
	return err
}
