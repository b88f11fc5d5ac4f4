package change

import (
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/base/jsonvalue"
	"github.com/muster-deploy/muster/internal/sets/policy/resource"
)

// recordKeys are the annotations of the record, which are neither compared nor sent as the user's.
var recordKeys = [...]string{
	resource.AnnOriginal,
	resource.AnnOriginalDiffMD5,
	resource.AnnOriginalDiff,
	resource.AnnOriginalDiffFull,
}

// compare returns the change of a live object to a new one; without a live object it is a creation.
func (s *calculator) compare(live, new *unstructured.Unstructured) (*Change, error) {
	if live == nil {
		c := &Change{Op: Add, New: new, calc: s}
		switch {
		case resource.HasAnnotation(new, resource.AnnNoop):
			c.Op = Noop
		case resource.HasAnnotation(new, resource.AnnExists):
			c.Op = Exists
		default:
			c.Applied = new
		}
		return c, nil
	}
	c := &Change{New: new, Existing: live, comparedWith: live, calc: s}
	before, after, err := s.beforeAfter(live, new)
	if err != nil {
		return nil, err
	}
	switch {
	case resource.HasAnnotation(after, resource.AnnNoop):
		c.Op = Noop
	case resource.HasAnnotation(after, resource.AnnExists) || s.same(before, after):
		c.Op = Keep
		c.waits = s.Wait && s.isUnready(live)
	default:
		c.Op, c.Applied = Update, after
	}
	return c, nil
}

// same reports whether two forms of an object do not differ. If nothing is recorded, as for large
// objects, removing the tool's own annotations leaves an empty map: that alone is no change, unless
// live objects are compared.
func (s *calculator) same(before, after *unstructured.Unstructured) bool {
	if jsonvalue.Equal(before.Object, after.Object) {
		return true
	}
	had := resource.Annotations(before)
	if s.LastApplied == nil || had == nil || len(had) > 0 || resource.Annotations(after) != nil {
		return false
	}
	unannotated := maps.Clone(before.Object)
	metadata := maps.Clone(before.Object["metadata"].(map[string]any))
	delete(metadata, "annotations")
	unannotated["metadata"] = metadata
	return jsonvalue.Equal(unannotated, after.Object)
}

// deletion returns the deletion of a live object.
func (s *calculator) deletion(live *unstructured.Unstructured) *Change {
	c := &Change{
		Op:           Delete,
		Existing:     live,
		comparedWith: live,
		Ignored:      s.madeByController(live),
		calc:         s,
	}
	if s.isRelevant(c) {
		c.before = s.lastApplied(live)
	}
	return c
}

// madeByController reports whether a controller created a live object, which is left to it. Adopted
// objects count as the app's own: a version that takes their place replaces them.
func (s *calculator) madeByController(live *unstructured.Unstructured) bool {
	return !s.FromFiles && !s.Adopted[live] && resource.IsTransient(live) &&
		!(s.DeleteOwned && resource.HasAnnotation(live, resource.AnnOwnedForDeletion))
}

// beforeAfter returns the two forms that are compared and printed: the present and the future one.
func (s *calculator) beforeAfter(
	live, new *unstructured.Unstructured,
) (before, after *unstructured.Unstructured, err error) {
	before = s.lastApplied(live)
	known := before != nil
	if !known {
		if before, err = s.stripped(live); err != nil {
			return nil, nil, err
		}
	}
	source := before
	if s.LastApplied != nil {
		source = live // with its record, as overlays of users may expect; identity is not printed
	}
	if after, err = s.conf.Rebase(source, new); err != nil {
		return nil, nil, err
	}
	removeRecord(after)
	if s.Merge != nil && !known {
		after, err = s.Merge(live, before, after)
	}
	return before, after, err
}

// approvedBefore returns a live object as it was applied last, if known, else without excluded
// fields.
func (s *calculator) approvedBefore(
	live *unstructured.Unstructured,
) (*unstructured.Unstructured, error) {
	if base := s.lastApplied(live); base != nil {
		return base, nil
	}
	return s.stripped(live)
}

// lastApplied returns a live object as it was applied last, if that is known and nobody has changed
// it since; otherwise nil.
func (s *calculator) lastApplied(live *unstructured.Unstructured) *unstructured.Unstructured {
	if s.LastApplied == nil {
		return nil
	}
	base, ok := s.LastApplied(live)
	if !ok {
		return nil
	}
	return base
}

// stripped returns a live object without record, identity and, unless they are kept, excluded
// fields. It shares memory with the argument.
func (s *calculator) stripped(live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	obj := withoutRecord(live)
	if s.KeepExcluded || !s.conf.HasExclusions(obj) {
		return obj, nil
	}
	obj = obj.DeepCopy()
	return obj, s.conf.StripExisting(obj)
}

// stripInput removes the record and excluded fields from an object, in place.
func (s *calculator) stripInput(obj *unstructured.Unstructured) error {
	removeRecord(obj)
	return s.conf.StripExisting(obj)
}

// removeRecord removes the record and the identity from an object, in place. An empty map of
// annotations stays, because kapp prints it.
func removeRecord(obj *unstructured.Unstructured) {
	all := resource.Annotations(obj)
	for _, key := range recordKeys {
		delete(all, key)
	}
	delete(all, resource.AnnIdentity)
}

// withoutRecord returns an object without record and identity that shares all other values.
func withoutRecord(live *unstructured.Unstructured) *unstructured.Unstructured {
	if len(resource.Annotations(live)) == 0 {
		return live
	}
	object := maps.Clone(live.Object)
	metadata := maps.Clone(object["metadata"].(map[string]any))
	metadata["annotations"] = maps.Clone(resource.Annotations(live))
	object["metadata"] = metadata
	obj := &unstructured.Unstructured{Object: object}
	removeRecord(obj)
	return obj
}

// BeforeAfter returns the two forms that are compared and printed: the live object or the one that
// was applied last, and the future one. Either may be nil. They are made on demand and must not be
// changed.
func (c *Change) BeforeAfter() (before, after *unstructured.Unstructured, err error) {
	switch {
	case c.New == nil && (c.Op == Keep || c.Op == Noop || c.Ignored):
		before, err = c.calc.approvedBefore(c.Existing)
		return before, before, err
	case c.New == nil:
		before, err = c.calc.approvedBefore(c.Existing)
		return before, nil, err
	case c.comparedWith == nil:
		return nil, c.New, nil
	}
	return c.calc.beforeAfter(c.comparedWith, c.New)
}
