package sets

import (
	"context"
	"slices"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/history"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/sets/policy/config"
	"github.com/muster-deploy/muster/internal/sets/policy/resource"
	"github.com/muster-deploy/muster/internal/sets/policy/versions"
)

// AtNewest returns the set as the newest revision in its history has it, for questions that need
// no server (Offline); nil if there is no revision. A revision that is no description of the whole
// set does not count. Secrets lack the data that the history withholds.
func AtNewest(ctx context.Context, c cluster.Writer, set Set) (*Restored, error) {
	s, err := OpenHistory(ctx, c, set)
	if err != nil {
		return nil, err
	}
	heads, err := s.List(ctx)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(heads, func(h history.Head) bool { return h.Err == nil && h.Partial == "" })
	if i < 0 {
		return nil, nil
	}
	r := &Restored{}
	if r.Revision, err = s.Read(ctx, heads[i].Number); err != nil {
		return nil, err
	}
	if r.settings, err = readSettings(r.Revision.Settings); err != nil {
		return nil, err
	}
	r.Set, err = r.open(ctx, requestOf(set), set, r.Revision.Objects)
	return r, err
}

// requestOf returns the request that a set was opened from, without its files.
func requestOf(set Set) Request {
	r := set.requested()
	r.Files, r.Rules, r.RuleFiles = nil, nil, nil
	return r
}

// Unwritten returns the objects that a run which did not succeed described, and that are not among
// those of the set: it did not create them, or they have been deleted since. Of a run that
// succeeded there are none.
func (r *Restored) Unwritten(existing *object.Set) []object.Ref {
	if r.Revision.Outcome != history.Failed && r.Revision.Outcome != history.Interrupted {
		return nil
	}
	var refs []object.Ref
	for _, obj := range r.Revision.Objects {
		ref := object.RefOf(obj.Unstructured)
		exists := existing.Has(ref) ||
			resource.HasAnnotation(obj.Unstructured, resource.AnnVersioned) && hasVersion(existing, ref)
		if obj.GetAPIVersion() != config.DocVersion && !exists {
			refs = append(refs, ref)
		}
	}
	return refs
}

// hasVersion reports whether a version of an object exists.
func hasVersion(existing *object.Set, ref object.Ref) bool {
	return slices.ContainsFunc(existing.Refs(), func(other object.Ref) bool {
		base, _, ok := versions.Split(other.Name)
		other.Name = base
		return ok && other == ref
	})
}
