package change

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-deploy/muster/internal/sets/policy/config"
	"github.com/muster-deploy/muster/internal/sets/policy/judge"
	"github.com/muster-deploy/muster/internal/sets/policy/resource"
	"github.com/muster-deploy/muster/internal/sets/policy/versions"
)

// Options control how changes are calculated. The zero value compares with live objects and waits
// for nothing.
type Options struct {
	// LastApplied returns the object that was applied last, rebased onto the live object and
	// without the record, if nobody has changed the object since. If it is nil or ok is false, New
	// is compared with the live object.
	LastApplied func(live *unstructured.Unstructured) (base *unstructured.Unstructured, ok bool)

	// Merge returns the live object after the server has merged want into it; without it, want
	// replaces the object. Before is the compared form of the live object.
	Merge func(live, before, want *unstructured.Unstructured) (*unstructured.Unstructured, error)

	DefaultUpdateStrategy string // for objects without an annotation
	Now                   time.Time

	ApplyIgnored bool // also delete objects that controllers created
	Wait         bool
	WaitIgnored  bool // also wait until objects that controllers created are gone
	// Adopted are the live objects that were found by the names of new ones. They become the app's
	// own, whoever created them.
	Adopted map[*unstructured.Unstructured]bool

	KeepVersions bool // of described objects, however many there are

	DeleteOwned bool // delete objects of controllers that are annotated for it

	// KeepExcluded means that live objects keep the fields that all comparisons ignore: the
	// difference of a deletion shows all that the app loses.
	KeepExcluded bool

	IgnoreFailingAPIServices bool

	// FromFiles means that the existing objects come from files: none of them belongs to a
	// controller, versions mean nothing, nothing is applied or waited for, and all changes are
	// returned.
	FromFiles bool

	// Filter selects changes; nil selects all. The objects are those of the Change, and may be nil.
	// It also receives changes that are neither applied nor waited for.
	Filter func(op string, new, existing *unstructured.Unstructured) bool
}

// calculator is one calculation.
type calculator struct {
	Options
	conf  *config.Config
	rules []judge.Rule
}

// Calculate returns the changes from the existing objects to the new ones: versions first, then the
// other new objects in their order, then deletions in the order of the existing objects. Changes
// without an operation or a wait are left out. The new objects are modified. The existing ones must
// not be changed afterwards, because texts are made from them on demand.
func Calculate(
	existing, new []*unstructured.Unstructured, conf *config.Config, o Options,
) ([]*Change, error) {
	s := &calculator{Options: o, conf: conf, rules: conf.JudgeRules(o.IgnoreFailingAPIServices)}
	if s.FromFiles {
		s.Wait, s.WaitIgnored = false, false
	}
	for _, obj := range new {
		if err := s.stripInput(obj); err != nil {
			return nil, err
		}
	}
	changes, err := s.calculate(existing, new)
	if err != nil {
		return nil, err
	}
	kept := changes[:0]
	for _, c := range changes {
		if s.Filter != nil && !s.Filter(string(c.Op), c.newObject(), c.oldObject()) {
			continue
		}
		if s.isRelevant(c) {
			kept = append(kept, c)
		}
	}
	clear(changes[len(kept):])
	return kept, nil
}

// isRelevant reports whether a change is applied or waited for.
func (s *calculator) isRelevant(c *Change) bool {
	return s.FromFiles || c.ApplyOp() != Noop || c.WaitOp() != AwaitNothing
}

// newObject and oldObject return the two objects of a change for filters.
func (c *Change) newObject() *unstructured.Unstructured {
	if c.Applied != nil {
		return c.Applied
	}
	return c.New
}

func (c *Change) oldObject() *unstructured.Unstructured {
	if c.before != nil {
		return c.before
	}
	return c.Existing
}

func (s *calculator) calculate(existing, new []*unstructured.Unstructured) ([]*Change, error) {
	if s.FromFiles {
		return s.compareByKey(existing, new)
	}
	known := versions.Group(existing, s.madeByController)
	if err := known.Renew(new, s.Now); err != nil {
		return nil, err
	}
	versioned, rest, err := s.versionChanges(new, known)
	if err != nil {
		return nil, err
	}
	plain, err := s.compareByKey(known.Plain, rest)
	if err != nil {
		return nil, err
	}
	if plain, err = onePerUID(plain); err != nil {
		return nil, err
	}
	return append(versioned, plain...), nil
}

// versionChanges returns the changes of new objects of which versions are kept and of all their
// live versions, and the other new objects, with references rewritten to the versions in use.
func (s *calculator) versionChanges(
	new []*unstructured.Unstructured, known *versions.Live,
) ([]*Change, []*unstructured.Unstructured, error) {
	compared := map[*versions.Draft]*Change{}
	drafts, others, err := known.Resolve(new, versions.Rules{
		Differs: func(d *versions.Draft, candidate *unstructured.Unstructured) (bool, error) {
			c, err := s.compare(d.Newest.Object, candidate)
			compared[d] = c
			return err == nil && c.Op == Update, err
		},
		Rewrite: s.conf.RewriteRuledRefs,
	})
	if err != nil {
		return nil, nil, err
	}
	var changes []*Change
	for _, d := range drafts {
		c, err := s.draftChange(d, compared[d])
		if err != nil {
			return nil, nil, err
		}
		changes = append(changes, c)
	}
	old, err := known.Old(drafts, versions.Keep{All: s.KeepVersions})
	for _, v := range old {
		c := &Change{Op: Noop, Existing: v.Object, calc: s, comparedWith: v.Object}
		if !v.Stays {
			c = s.deletion(v.Object)
		}
		changes = append(changes, c)
	}
	return changes, others, err
}

// draftChange returns the change of a resolved draft: a new version, printed as its difference from
// the newest one, or the newest one, which stays.
func (s *calculator) draftChange(d *versions.Draft, compared *Change) (*Change, error) {
	if d.Newest == nil {
		return s.compare(nil, d.Object)
	}
	newest := d.Newest.Object
	if d.IsNew {
		return &Change{Op: Add, New: d.Object, Applied: d.Object, calc: s, comparedWith: newest}, nil
	}
	c := &Change{Op: compared.Op, Existing: newest, calc: s, comparedWith: newest}
	c.waits = c.Op == Keep && s.Wait && s.isUnready(c.Existing)
	return c, nil
}

// compareByKey compares objects by their keys, whatever their versions are.
func (s *calculator) compareByKey(existing, new []*unstructured.Unstructured) ([]*Change, error) {
	byKey := make(map[string]*unstructured.Unstructured, len(existing))
	keys := make([]string, len(existing))
	for i, obj := range existing {
		keys[i] = resource.Key(obj)
		byKey[keys[i]] = obj
	}
	changes := make([]*Change, 0, max(len(new), len(existing)))
	done := make(map[string]bool, len(new))
	for _, obj := range new {
		key := resource.Key(obj)
		done[key] = true
		c, err := s.compare(byKey[key], obj)
		if err != nil {
			return nil, err
		}
		changes = append(changes, c)
	}
	for i, key := range keys {
		if done[key] {
			continue
		}
		done[key] = true
		c := s.deletion(byKey[keys[i]])
		if s.isRelevant(c) || s.Filter != nil { // the filter counts what it excludes
			changes = append(changes, c)
		}
	}
	return changes, nil
}

// onePerUID removes the deletion of an object that is also described. Such an object was read under
// two API groups, and is described in another one than it was deployed in.
func onePerUID(changes []*Change) ([]*Change, error) {
	byUID := make(map[types.UID][]*Change, len(changes))
	double := false
	for _, c := range changes {
		if c.Existing == nil || c.Existing.GetUID() == "" {
			continue
		}
		uid := c.Existing.GetUID()
		byUID[uid] = append(byUID[uid], c)
		double = double || len(byUID[uid]) > 1
	}
	if !double {
		return changes, nil
	}
	kept := make([]*Change, 0, len(changes))
	for _, c := range changes {
		var same []*Change
		if c.Existing != nil {
			same = byUID[c.Existing.GetUID()]
		}
		if len(same) < 2 {
			kept = append(kept, c)
			continue
		}
		if err := onePair(same); err != nil {
			return nil, err
		}
		if c.Op != Delete {
			kept = append(kept, c)
		}
	}
	return kept, nil
}

// onePair returns an error unless the changes of one object are a deletion and one other.
func onePair(changes []*Change) error {
	var descriptions []string
	deletions := 0
	for _, c := range changes {
		descriptions = append(descriptions, c.Description())
		if c.Op == Delete {
			deletions++
		}
	}
	switch {
	case deletions != 1:
		return fmt.Errorf("Expected exactly one delete change in changes: %s",
			strings.Join(descriptions, ", "))
	case len(changes) != 2:
		return fmt.Errorf("Expected exactly one non-delete change in changes: %s",
			strings.Join(descriptions, ", "))
	}
	return nil
}
