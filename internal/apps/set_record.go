package apps

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/apps/app"
	"github.com/muster-deploy/muster/internal/apps/change"
	"github.com/muster-deploy/muster/internal/apps/input"
	"github.com/muster-deploy/muster/internal/apps/resource"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/record"
)

// Load returns the objects that carry the label of the app, with what is recorded of each, and the
// live objects. Objects that controllers created with this label are no members.
func (s *Set) Load(ctx context.Context) (*record.State, error) {
	labelled, err := s.readLabelled(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.checkRecordName(input.CheckLabels(labelled)); err != nil {
		return nil, err
	}
	s.live.objects = labelled
	return stateOf(s.app, labelled), nil
}

// stateOf returns the state of an app with the given live objects.
func stateOf(of *app.App, labelled []liveObject) *record.State {
	state := &record.State{Live: map[object.Ref]*unstructured.Unstructured{}}
	_, state.Holders = of.Holders()
	recorded := map[object.Ref]record.Member{}
	list, listed := of.Members()
	for _, m := range list {
		recorded[m.Ref] = m
	}
	last := of.Meta.LastDeployment
	killed := last.Successful == nil && !last.StartedAt.IsZero()
	unproven := !listed && last.Successful != nil && !*last.Successful
	for _, obj := range labelled {
		ref := object.RefOf(obj)
		m, known := recorded[ref]
		// What the record lists is a member although somebody has removed its identity.
		if resource.IsTransient(obj) && (!known || metav1.GetControllerOf(obj) != nil) {
			continue
		}
		m.Ref = ref
		switch {
		case killed: // nobody knows how the write of it ended
			m, state.Unwritten = record.Member{Ref: ref}, append(state.Unwritten, ref)
		case unproven:
			m.Strategy, m.Reconcile = record.Apply, record.Pending
		}
		if _, twice := state.Live[ref]; !twice {
			state.Members = append(state.Members, m)
		}
		state.Live[ref] = obj
	}
	return state
}

// Exists reports whether the app has a record.
func (s *Set) Exists() bool { return s.app.Exists() }

// Unfinished reports whether the last run of the app did not succeed.
func (s *Set) Unfinished() bool { return !s.lastSucceeded() }

// Holds reports whether an object is the record of the app.
func (s *Set) Holds(obj *unstructured.Unstructured) bool { return holds(s.app, obj) }

func holds(of *app.App, obj *unstructured.Unstructured) bool {
	ref, _ := of.Holders()
	return object.RefOf(obj) == ref
}

// Save records the beginning of the run, or how it ended, and the members. It creates the record
// of a new app.
func (s *Set) Save(ctx context.Context, state *record.State) error {
	if err := s.commit(ctx); err != nil {
		return err
	}
	s.listMembers(state)
	switch {
	case state.Result == "":
		s.begun = true
		s.app.AddKinds(usedKinds(s.inputs, withoutTransient(s.live.objects)))
		return s.app.Begin(ctx, s.describePlan(), s.namespaces(), s.req.KeepChanges > 0)
	case !s.begun:
		if state.Result == record.RunSucceeded {
			return s.recordProven(ctx)
		}
		return nil
	case state.Result == record.RunInterrupted:
		return s.app.Interrupted(ctx)
	}
	namespaces := s.namespaces()
	if state.Result == record.RunSucceeded {
		left := s.leftAfter(state)
		versions, kinds := usedKinds(s.inputs, left)
		s.app.SetKinds(versions, kinds, slices.Collect(maps.Keys(s.live.missed)))
		namespaces = append(namespacesOf(s.inputs, left), s.unlistedNamespaces()...)
	}
	return s.app.Finish(ctx, state.Result == record.RunSucceeded, namespaces)
}

// Delete returns an error: a deployment does not delete the record of its app.
func (s *Set) Delete(context.Context, []object.Ref, record.Before) error {
	return errors.New("a deployment does not delete the record of its app")
}

// commit creates or updates the record, once.
func (s *Set) commit(ctx context.Context) error {
	if s.committed {
		return nil
	}
	s.committed = true
	return s.app.Commit(ctx, s.record)
}

// namespaces returns those of the objects before the run, those that it creates, and those that
// could not be listed.
func (s *Set) namespaces() []string {
	return append(namespacesOf(s.inputs, withoutTransient(s.live.objects)),
		s.unlistedNamespaces()...)
}

// leftAfter returns the objects of the app that exist after a run. It has those whose deletion
// nothing waited for, while they exist.
func (s *Set) leftAfter(state *record.State) []liveObject {
	left := object.NewSet(state.Refs()...)
	planned := s.plan.Index()
	return slices.DeleteFunc(withoutTransient(s.live.objects), func(obj liveObject) bool {
		ref := object.RefOf(obj)
		i, ok := planned[ref]
		return ok && s.plan.Steps[i].Op == plan.Delete && !left.Has(ref)
	})
}

// recordProven records a run that had nothing to do, if the last one did not succeed or was killed:
// all of the app is in place now. A run that did not see all of it, or did not check that it is
// ready, records nothing.
func (s *Set) recordProven(ctx context.Context) error {
	if !s.sawAll() || s.lastSucceeded() && !s.app.LostMembers() {
		return nil
	}
	if err := s.app.CloseLast(ctx); err != nil {
		return err
	}
	namespaces := s.namespaces()
	if err := s.app.Begin(ctx, s.describePlan(), namespaces, s.req.KeepChanges > 0); err != nil {
		return err
	}
	return s.app.Finish(ctx, true, namespaces)
}

// sawAll reports whether the plan leaves out no object of the app, and waits for the others.
func (s *Set) sawAll() bool {
	waits := len(s.plan.Steps) == 0
	for i := range s.plan.Steps {
		step := &s.plan.Steps[i]
		leaves := step.Op == plan.Skip && step.ReasonCode != plan.ReasonCreateOnly
		if leaves || step.Op == plan.Keep {
			return false
		}
		waits = waits || step.Wait
	}
	return waits && !s.req.Patch
}

// listMembers sets the members that the record lists: those of a run, and recorded ones that it did
// not touch, because their kind cannot be listed.
func (s *Set) listMembers(state *record.State) {
	members, listed := slices.Clone(state.Members), object.NewSet(state.Refs()...)
	recorded, _ := s.app.Members()
	planned := s.plan.Index()
	for _, m := range recorded {
		i, decided := planned[m.Ref]
		// A patch deletes nothing, and a filter may leave out an object that somebody has deleted.
		left := !decided && (s.req.Patch || s.live.missed.hide(m.Ref)) ||
			decided && s.plan.Steps[i].Op == plan.Skip
		if left && listed.Insert(m.Ref) {
			members = append(members, m)
		}
	}
	if !s.app.SetMembers(members) && state.Result == "" {
		s.Printer.Info(fmt.Sprintf("the record does not list the objects of the app, which are too many "+
			"for it (%d): their label says what the app has", len(members)))
	}
}

// describePlan returns the description of the plan for the record of the deployment, in kapp's
// words.
func (s *Set) describePlan() string {
	counts := change.Counts{}
	for i := range s.plan.Steps {
		step := &s.plan.Steps[i]
		counts.Add(opsOf[step.Op], waitOf(step))
	}
	op, wait := counts.Text()
	return "update: Op: " + op + " / Wait to: " + wait
}

// opsOf are kapp's operations for those of steps. What has none is not counted.
var opsOf = map[plan.Op]change.Op{
	plan.Create: change.Add, plan.Update: change.Update, plan.Delete: change.Delete,
	plan.AwaitCreated: change.Exists,
}

// waitOf returns what kapp calls the wait of a step.
func waitOf(step *plan.Step) change.WaitOp {
	switch {
	case !step.Wait || !step.Op.Writes() && !step.Op.External():
		return change.AwaitNothing
	case step.Op.AwaitsDeletion():
		return change.AwaitDelete
	default:
		return change.AwaitReconcile
	}
}

// SetRun sets the context of the run.
func (s *Set) SetRun(context.Context) {}

// Finish makes what follows a run: it deletes the oldest records of deployments, or decides about
// an app whose record others have deleted meanwhile, for which it returns another error.
func (s *Set) Finish(ctx context.Context, err error) error {
	if s.begun {
		defer s.trim(ctx)
	}
	lost := (*app.RecordDeletedError)(nil)
	if s.begun && !isBeforeRun(err) && errors.As(err, &lost) {
		closing, cancel := context.WithTimeout(closingContext(ctx), closingTime)
		defer cancel()
		return s.resolveLostRecord(closing, lost, s.namespaces())
	}
	return err
}
