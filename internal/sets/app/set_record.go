package app

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/record"
	"github.com/muster-deploy/muster/internal/sets/policy/resource"
)

// Load returns the objects that carry the label of the app, with what is recorded of each, and the
// live objects. Objects that controllers created with this label are no members. What the record
// lists is a member although it has lost the label, so that a plan says that it stays.
func (s *Set) Load(ctx context.Context) (*record.State, error) {
	if err := checkLabel(s.app); err != nil {
		return nil, err
	}
	labelled, err := s.ReadLabelled(ctx)
	if err == nil {
		err = s.Hold(labelled)
	}
	if err == nil {
		err = s.checkSeen()
	}
	if err != nil {
		return nil, err
	}
	known := slices.Concat(labelled, Unwrap(s.inputs))
	unmarked, _, err := s.unlabelled(ctx, s.app, known, s.missed)
	if err != nil {
		return nil, err
	}
	state := stateOf(s.app, labelled)
	for _, obj := range unmarked {
		ref := object.RefOf(obj)
		state.Members, state.Live[ref] = append(state.Members, record.Member{Ref: ref}), obj
	}
	return state, nil
}

// checkSeen returns an *UnseenError if the run would delete objects of the record that the user may
// not list. Those that the filter leaves out, or that nobody can list for now, stay in the record.
func (s *Set) checkSeen() error {
	if s.req.Patch {
		return nil
	}
	matching, err := s.req.Filter.ResourceFilter(s.Now())
	if err != nil {
		return err
	}
	known := object.NewSet()
	for _, obj := range slices.Concat(Unwrap(s.inputs), s.live) {
		known.Insert(object.RefOf(obj))
	}
	unseen := &UnseenError{}
	recorded, _ := s.app.Members()
	for _, m := range recorded {
		if !known.Has(m.Ref) && s.missed.forbid(m.Ref) && matching.MayMatch(identityOf(m.Ref)) {
			unseen.Objects = append(unseen.Objects, m.Ref)
		}
	}
	if len(unseen.Objects) == 0 {
		return nil
	}
	return unseen
}

// identityOf returns an object that has nothing but an identity, for filters.
func identityOf(ref object.Ref) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{}}
	obj.SetGroupVersionKind(ref.GroupKind().WithVersion("v1"))
	obj.SetNamespace(ref.Namespace)
	obj.SetName(ref.Name)
	return obj
}

// stateOf returns the state of an app with the given live objects.
func stateOf(of *App, labelled []liveObject) *record.State {
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
func (s *Set) Unfinished() bool { return !s.app.LastSucceeded() }

// Holds reports whether an object is the record of the app.
func (s *Set) Holds(obj *unstructured.Unstructured) bool { return holds(s.app, obj) }

func holds(of *App, obj *unstructured.Unstructured) bool {
	ref, _ := of.Holders()
	return object.RefOf(obj) == ref
}

// Save records the beginning of the run, or how it ended, and the members. It creates the record
// of a new app.
func (s *Set) Save(ctx context.Context, state *record.State) error {
	if err := s.Commit(ctx); err != nil {
		return err
	}
	s.listMembers(state)
	switch {
	case state.Result == "":
		return s.Begin(ctx, s.describePlan())
	case !s.begun && state.Result == record.RunSucceeded && s.sawAll():
		return s.Prove(ctx, s.describePlan())
	case !s.begun:
		return nil
	case state.Result == record.RunInterrupted:
		return s.app.Interrupted(ctx)
	}
	return s.End(ctx, state.Result == record.RunSucceeded, s.leftAfter(state))
}

// Delete returns an error: a deployment does not delete the record of its app.
func (s *Set) Delete(context.Context, []object.Ref, record.Before) error {
	return errors.New("a deployment does not delete the record of its app")
}

// Commit creates or updates the record, once.
func (s *Set) Commit(ctx context.Context) error {
	if s.committed {
		return nil
	}
	s.committed = true
	return s.app.Commit(ctx, s.record)
}

// Begin records that a run begins, with all kinds and namespaces that may have objects of the app
// from now on.
func (s *Set) Begin(ctx context.Context, description string) error {
	s.begun = true
	before := WithoutTransient(s.live)
	s.app.AddKinds(usedKinds(s.inputs, before))
	s.namespaces = append(namespacesOf(s.inputs, before), s.unlistedNamespaces()...)
	return s.app.Begin(ctx, description, s.namespaces, s.req.KeepChanges > 0)
}

// Begun reports whether a run of the app has begun.
func (s *Set) Begun() bool { return s.begun }

// End records how a run ended. Left are the objects of the app that exist after one that succeeded.
func (s *Set) End(ctx context.Context, succeeded bool, left []liveObject) error {
	if succeeded {
		versions, kinds := usedKinds(s.inputs, left)
		s.app.SetKinds(versions, kinds, slices.Collect(maps.Keys(s.missed)))
		s.namespaces = append(namespacesOf(s.inputs, left), s.unlistedNamespaces()...)
	}
	return s.app.Finish(ctx, succeeded, s.namespaces)
}

// Prove records a run that saw all of the app and had nothing to do, if the last one did not
// succeed or was killed: all of the app is in place now.
func (s *Set) Prove(ctx context.Context, description string) error {
	if s.app.LastSucceeded() && !s.app.LostMembers() {
		return nil
	}
	if err := s.app.CloseLast(ctx); err != nil {
		return err
	}
	namespaces := append(namespacesOf(s.inputs, WithoutTransient(s.live)), s.unlistedNamespaces()...)
	if err := s.app.Begin(ctx, description, namespaces, s.req.KeepChanges > 0); err != nil {
		return err
	}
	return s.app.Finish(ctx, true, namespaces)
}

// leftAfter returns the objects of the app that exist after a run. It has those whose deletion
// nothing waited for, while they exist.
func (s *Set) leftAfter(state *record.State) []liveObject {
	left := object.NewSet(state.Refs()...)
	planned := s.plan.Index()
	return slices.DeleteFunc(WithoutTransient(s.live), func(obj liveObject) bool {
		ref := object.RefOf(obj)
		i, ok := planned[ref]
		return ok && s.plan.Steps[i].Op == plan.Delete && !left.Has(ref)
	})
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
// not touch, because their kind cannot be listed. Before a run all recorded ones stay.
func (s *Set) listMembers(state *record.State) {
	members, listed := slices.Clone(state.Members), object.NewSet(state.Refs()...)
	gone := slices.Clone(state.Gone)
	recorded, _ := s.app.Members()
	planned := s.plan.Index()
	for _, m := range recorded {
		i, decided := planned[m.Ref]
		// A patch deletes nothing, and a filter may leave out an object that somebody has deleted.
		left := state.Result == "" || !decided && (s.req.Patch || s.missed.hide(m.Ref)) ||
			decided && s.plan.Steps[i].Op == plan.Skip
		switch {
		case left && listed.Insert(m.Ref):
			members = append(members, m)
		case !decided:
			gone = append(gone, m.Ref) // it did not exist when the plan was made
		}
	}
	if !s.app.SetMembers(members, gone) && state.Result == "" {
		s.Printer.Info(fmt.Sprintf("the record does not list the objects of the app, which are too many "+
			"for it (%d): their label says what the app has", len(members)))
	}
}

// describePlan returns the description of the plan for the record of the deployment, in kapp's
// words.
func (s *Set) describePlan() string {
	counts := Counts{}
	for i := range s.plan.Steps {
		counts.add(&s.plan.Steps[i])
	}
	return counts.Description()
}

// Finish makes what follows a run: it deletes the oldest records of deployments, or decides about
// an app whose record others have deleted meanwhile, for which it returns another error.
func (s *Set) Finish(ctx context.Context, err error) error {
	if !s.begun {
		return err
	}
	defer s.Trim(ctx)
	_, err = s.ResolveLost(ctx, err)
	return err
}

// unlistedNamespaces returns the recorded namespaces that may hold objects which the user may not
// list.
func (s *Set) unlistedNamespaces() []string {
	return s.unlistable.within(s.app.Meta.LastDeployment.Namespaces)
}

// Trim deletes the oldest change records, and returns how many it deleted.
func (s *Set) Trim(ctx context.Context) (deleted int) {
	if ctx.Err() == nil {
		deleted, _, _ = s.app.TrimRecords(ctx, s.req.KeepChanges) // the next run tries again
	}
	return deleted
}
