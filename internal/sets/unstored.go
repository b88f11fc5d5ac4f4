package sets

import (
	"context"
	"maps"
	"slices"

	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/feature/drift"
	"github.com/muster-deploy/muster/internal/history"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/sets/policy/resource"
	"github.com/muster-deploy/muster/internal/sets/policy/versions"
)

// unstored collects what the server did not store of the objects of a run.
type unstored struct {
	paths map[object.Ref][]string
	// whole are objects of which all was sent, so that what an earlier run found does not count.
	whole *object.Set
}

func newUnstored() unstored {
	return unstored{paths: map[object.Ref][]string{}, whole: object.NewSet()}
}

// add collects the end of a write.
func (u *unstored) add(p *plan.Plan, e event.Event) {
	if e.Outcome != event.Succeeded || !e.Op.Applies() || e.Step >= len(p.Steps) {
		return
	}
	if len(e.Unstored) > 0 {
		u.paths[e.Ref] = e.Unstored
	}
	if e.Op != plan.Unchanged && p.Steps[e.Step].Reverts == nil {
		u.whole.Insert(e.Ref)
	}
}

// count returns the number of values.
func (u *unstored) count() (n int) {
	for _, paths := range u.paths {
		n += len(paths)
	}
	return n
}

// set sets what the run found of objects of a revision.
func (u *unstored) set(objects []history.Object) {
	found := map[object.Ref][]string{}
	for ref, paths := range u.paths {
		found[ref] = paths
		if base, _, ok := versions.Split(ref.Name); ok {
			ref.Name = base
			found[ref] = paths
		}
	}
	for i := range objects {
		ref := object.RefOf(objects[i].Unstructured)
		if _, exact := u.paths[ref]; exact ||
			resource.HasAnnotation(objects[i].Unstructured, resource.AnnVersioned) {
			objects[i].Unstored = found[ref]
		}
	}
}

// keep sets of the objects of which the run has not sent all what the newest revision has or, if
// that is not nil, the one of the set whose objects they were. Without that they have none.
func (u *unstored) keep(
	ctx context.Context, s *history.Store, former *history.Revision, objects []history.Object,
) (err error) {
	var earlier map[object.Ref][]string
	if former != nil {
		earlier = unstoredOf(former)
	} else {
		earlier, err = newestUnstored(ctx, s)
	}
	for i := range objects {
		ref := object.RefOf(objects[i].Unstructured)
		if u.whole.Has(ref) {
			continue
		}
		for _, path := range earlier[ref] {
			if !slices.Contains(objects[i].Unstored, path) {
				objects[i].Unstored = append(objects[i].Unstored, path)
			}
		}
	}
	return err
}

// newestUnstored returns what the server did not store of the objects of the newest revision. It
// reads a revision only if that has any.
func newestUnstored(ctx context.Context, s *history.Store) (map[object.Ref][]string, error) {
	revision, err := newestWith(ctx, s, func(h history.Head) int { return h.Unstored })
	if revision == nil {
		return nil, err
	}
	return unstoredOf(revision), nil
}

// unstoredOf returns what the server did not store of the objects of a revision.
func unstoredOf(r *history.Revision) map[object.Ref][]string {
	found := map[object.Ref][]string{}
	for _, obj := range r.Objects {
		if len(obj.Unstored) > 0 {
			found[object.RefOf(obj.Unstructured)] = obj.Unstored
		}
	}
	return found
}

// mayBeUnstored reports whether fields of an object are missing that the server may not store, as
// the newest revision says. That is read only then, once, if the baseline is not a revision itself.
func (b *Baseline) mayBeUnstored(ctx context.Context, o *drift.Object) bool {
	if b.Revision != nil || o == nil || !slices.ContainsFunc(o.Fields, func(f drift.Field) bool {
		return f.Kind == drift.Removed && f.Counts()
	}) {
		return false
	}
	if b.unstored == nil {
		b.unstored = map[object.Ref][]string{}
		if _, store, err := OpenRevisions(ctx, b.cluster, b.request); err == nil {
			newest, _ := newestUnstored(ctx, store) // without it the fields have drifted
			maps.Copy(b.unstored, newest)
		}
	}
	return len(b.unstored) > 0
}
