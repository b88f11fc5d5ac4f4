package app

import (
	"context"
	"errors"
	"fmt"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/sets/policy/resource"
)

// ResolveLost decides about an app whose record others have deleted during a run that wrote, and
// reports whether they have: then the error that it returns takes the place of that of the run.
func (s *Set) ResolveLost(
	ctx context.Context, err error,
) (lost bool, _ error) {
	deleted := (*RecordDeletedError)(nil)
	if engine.EndedBeforeRun(err) || !errors.As(err, &deleted) {
		return false, err
	}
	closing, cancel := Closing(ctx)
	defer cancel()
	return true, s.resolveLostRecord(closing, deleted)
}

// resolveLostRecord ends a deployment whose record was deleted during the run. It creates the
// record again if objects are left; if there is another app of the name, it names these objects.
func (s *Set) resolveLostRecord(
	ctx context.Context, lost *RecordDeletedError,
) error {
	if successor := s.successor(ctx); successor != nil {
		s.Printer.Info(
			fmt.Sprintf("the app was given another record meanwhile, which has all of it: %s",
				successor),
			"App",
		)
		return nil
	}
	left, unseen, err := s.leftovers(ctx)
	gone := &LostRecordError{app: s.app, Selector: s.app.Selector()}
	if err == nil && len(left) == 0 && !unseen && !s.unlistable.any() {
		return gone
	}
	if err != nil {
		left = append(left, "what could not be looked for: "+err.Error())
	}
	if len(left) == 0 {
		left = []string{"what cannot be listed"}
	}
	gone.Left, gone.cause = left, lost
	if !lost.Recreated {
		gone.cause = s.app.Restore(ctx, s.namespaces)
	}
	gone.Restored = gone.cause == nil
	return gone
}

// successor returns the app that has the label of the deployed one, as after a rename; nil if it
// finds none.
func (s *Set) successor(ctx context.Context) *App {
	apps, err := s.Records.List(ctx, "", nil)
	if err != nil {
		apps, _ = s.Records.List(ctx, s.app.Namespace,
			nil) // an app that cannot be found counts as deleted
	}
	for _, other := range apps {
		if other.Meta.LabelValue == s.app.Meta.LabelValue &&
			other.Meta.LabelKey == s.app.Meta.LabelKey {
			return other
		}
	}
	return nil
}

// leftovers returns the names of the app's objects that exist now, and whether there may be more:
// of a kind that cannot be listed.
func (s *Set) leftovers(ctx context.Context) (left []string, unseen bool, err error) {
	_, kinds := usedKinds(s.inputs, s.live)
	selected := s.selection(s.app, s.req.Search, false)
	selected.Fallback, selected.Ignore, selected.Kinds = s.fallback, s.ignorable, uniqueKinds(kinds)
	selected.Unlisted = func(m cluster.UnlistedKind) {
		unseen = unseen || m.Cause != nil || m.Forbidden
	}
	found, err := s.selectObjects(ctx, selected)
	return describeAll(WithoutTransient(found)), unseen, err
}

// describeAll returns the names of objects.
func describeAll(objects []liveObject) []string {
	var names []string
	for _, obj := range objects {
		names = append(names, resource.Describe(obj))
	}
	return names
}
