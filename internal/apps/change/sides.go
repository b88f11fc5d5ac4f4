package change

import (
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/apps/resource"
)

// historyKeys are the annotations that are never compared, nor sent as if they were the user's.
var historyKeys = [...]string{resource.AnnOriginal, resource.AnnOriginalDiffMD5, resource.AnnOriginalDiff, resource.AnnOriginalDiffFull}

// compare gives the change that makes the live object what a new one describes; without a live object it is created.
func (s *set) compare(live, new *unstructured.Unstructured) (*Change, error) {
	if live == nil {
		c := &Change{Op: Add, New: new, set: s}
		switch {
		case has(new, resource.AnnNoop):
			c.Op = Noop
		case has(new, resource.AnnExists):
			c.Op = Exists
		default:
			c.Applied = new
		}
		return c, nil
	}
	c := &Change{New: new, Existing: live, against: live, set: s}
	before, after, err := s.sides(live, new)
	if err != nil {
		return nil, err
	}
	switch {
	case has(after, resource.AnnNoop):
		c.Op = Noop
	case has(after, resource.AnnExists) || s.same(before, after):
		c.Op = Keep
		c.waits = s.Wait && s.unready(live)
	default:
		c.Op, c.Applied = Update, after
	}
	return c, nil
}

// same reports whether two forms of an object do not differ. Where what was applied is not recorded, as on large objects, the
// tool's own annotations leave an empty map behind that the user does not write: that alone is no change, unless objects are to be
// compared as they are.
func (s *set) same(before, after *unstructured.Unstructured) bool {
	if equal(before.Object, after.Object) {
		return true
	}
	had := annotations(before)
	if s.LastApplied == nil || had == nil || len(had) > 0 || annotations(after) != nil {
		return false
	}
	unannotated := maps.Clone(before.Object)
	metadata := maps.Clone(before.Object["metadata"].(map[string]any))
	delete(metadata, "annotations")
	unannotated["metadata"] = metadata
	return equal(unannotated, after.Object)
}

// remove gives the deletion of a live object.
func (s *set) remove(live *unstructured.Unstructured) (*Change, error) {
	c := &Change{Op: Delete, Existing: live, against: live, Ignored: s.foreign(live), set: s}
	if !s.concerns(c) {
		return c, nil
	}
	base, err := s.base(live)
	c.before = base
	return c, err
}

// foreign reports whether a live object was made by a controller, and is left to it. One that was adopted was not, even if
// nothing on it says who made it: a version that takes its place replaces it.
func (s *set) foreign(live *unstructured.Unstructured) bool {
	return !s.FromFiles && !s.Adopted[live] && resource.IsTransient(live) && !(s.DeleteOwned && has(live, resource.AnnOwnedForDeletion))
}

// sides gives the two forms that are compared and shown: the object as it is, and as it is going to be.
func (s *set) sides(live, new *unstructured.Unstructured) (before, after *unstructured.Unstructured, err error) {
	before, err = s.base(live)
	if err != nil {
		return nil, nil, err
	}
	known := before != nil
	if !known {
		if before, err = s.stripped(live); err != nil {
			return nil, nil, err
		}
	}
	source := before
	if s.LastApplied != nil {
		source = live // with its history, as overlays of users may expect; they are not shown its identity
	}
	if after, err = s.conf.Rebase(source, new); err != nil {
		return nil, nil, err
	}
	forget(after)
	if s.Merge != nil && !known {
		after, err = s.Merge(live, before, after)
	}
	return before, after, err
}

// before gives a live object as it was applied last, or else as it is.
func (s *set) before(live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if base, err := s.base(live); base != nil || err != nil {
		return base, err
	}
	return s.stripped(live)
}

// base gives a live object as it was applied last, if that is known and nobody has changed it since; otherwise nil.
func (s *set) base(live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if s.LastApplied == nil {
		return nil, nil
	}
	base, ok, err := s.LastApplied(live)
	if err != nil || !ok {
		return nil, err
	}
	return base, nil
}

// stripped is a live object without history, identity and what is never compared. It shares memory with the one given.
func (s *set) stripped(live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	obj := bare(live)
	if !s.conf.HasExclusions(obj) {
		return obj, nil
	}
	obj = obj.DeepCopy()
	return obj, s.conf.StripExisting(obj)
}

// strip takes history and what is never compared out of an object, in place.
func (s *set) strip(obj *unstructured.Unstructured) error {
	forget(obj)
	return s.conf.StripExisting(obj)
}

// forget takes history and identity out of an object, in place. Annotations stay, even if none is left, as kapp shows them.
func forget(obj *unstructured.Unstructured) {
	all := annotations(obj)
	for _, key := range historyKeys {
		delete(all, key)
	}
	delete(all, resource.AnnIdentity)
}

// bare is an object without history and identity that shares all else with the one given.
func bare(live *unstructured.Unstructured) *unstructured.Unstructured {
	if len(annotations(live)) == 0 {
		return live
	}
	object := maps.Clone(live.Object)
	metadata := maps.Clone(object["metadata"].(map[string]any))
	metadata["annotations"] = maps.Clone(annotations(live))
	object["metadata"] = metadata
	obj := &unstructured.Unstructured{Object: object}
	forget(obj)
	return obj
}

// BeforeAfter gives the two forms that are compared and shown: the object as it is, or was applied last, and as it is going to
// be. Either is nil where there is none. They are made when they are asked for, and must not be changed.
func (c *Change) BeforeAfter() (before, after *unstructured.Unstructured, err error) {
	switch {
	case c.New == nil && (c.Op == Keep || c.Op == Noop || c.Ignored):
		before, err = c.set.before(c.Existing)
		return before, before, err
	case c.New == nil:
		before, err = c.set.before(c.Existing)
		return before, nil, err
	case c.against == nil:
		return nil, c.New, nil
	}
	return c.set.sides(c.against, c.New)
}
