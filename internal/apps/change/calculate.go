package change

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-deploy/muster/internal/apps/judge"
	"github.com/muster-deploy/muster/internal/apps/resource"
)

// Config is what changes need of the rules of the configuration.
type Config interface {
	// Rebase gives a copy of new with what the rules take over from existing, and leaves both as they are.
	Rebase(existing, new *unstructured.Unstructured) (*unstructured.Unstructured, error)
	// StripExisting takes out, in place, what is never compared.
	StripExisting(obj *unstructured.Unstructured) error
	// HasExclusions reports whether StripExisting may take something out of an object.
	HasExclusions(obj *unstructured.Unstructured) bool
	// RewriteRefs makes references of holder to an object of target's kind named base refer to name, in place.
	RewriteRefs(holder, target *unstructured.Unstructured, base, name string) error
	// Judge judges a live object by the user's rules, if one of them concerns it.
	Judge(obj *unstructured.Unstructured) (j judge.Judgement, unblock, ok bool)
}

// Options say how changes are calculated. The zero value compares with live objects and waits for nothing.
type Options struct {
	// LastApplied gives what was applied last, rebased onto the live object and without history, if nobody has changed the
	// object since. Without it, or where it does not know, the live object is what New is compared with.
	LastApplied func(live *unstructured.Unstructured) (base *unstructured.Unstructured, ok bool, err error)

	// Merge gives what becomes of a live object when the server merges what is wanted into it; without it, what is wanted takes its
	// place. Before is the live object as it is compared.
	Merge func(live, before, want *unstructured.Unstructured) (*unstructured.Unstructured, error)

	DefaultUpdateStrategy string // of objects without an annotation for it
	Now                   time.Time

	ApplyIgnored bool // delete what controllers made, too
	Wait         bool
	WaitIgnored  bool // wait until what controllers made is gone, too
	// Adopted are the existing objects that were found by the names of new ones. They become the app's own, whoever made them.
	Adopted map[*unstructured.Unstructured]bool

	DeleteOwned bool // objects that controllers made are deleted as the app's own if they are annotated for it

	IgnoreFailingAPIServices bool

	// FromFiles says that the existing objects come from files: none of them was made by a controller, versions mean nothing,
	// nothing is applied or waited for, and all changes are given.
	FromFiles bool

	// Filter leaves changes out; nil leaves none out. The objects are those of the Change, and may be nil.
	Filter func(op string, new, existing *unstructured.Unstructured) bool
}

// set is one calculation.
type set struct {
	Options
	conf  Config
	rules []judge.Rule
}

// Calculate gives the changes that make the existing objects what the new ones describe: versions first, then the other new
// objects in their order, then the deletions in the order of the existing ones. Changes by which nothing is applied and
// nothing waited for are left out. The new objects are taken over and changed; the existing ones must not be changed
// afterwards, because texts are made of them when they are asked for.
func Calculate(existing, new []*unstructured.Unstructured, conf Config, o Options) ([]*Change, error) {
	s := &set{Options: o, conf: conf, rules: JudgeRules(conf, o.IgnoreFailingAPIServices)}
	if s.FromFiles {
		s.Wait, s.WaitIgnored = false, false
	}
	for _, obj := range new {
		if err := s.strip(obj); err != nil {
			return nil, err
		}
	}
	changes, err := s.calculate(existing, new)
	if err != nil {
		return nil, err
	}
	kept := changes[:0]
	for _, c := range changes {
		if s.concerns(c) && (s.Filter == nil || s.Filter(string(c.Op), c.sent(), c.read())) {
			kept = append(kept, c)
		}
	}
	clear(changes[len(kept):])
	return kept, nil
}

// JudgeRules are the rules by which live objects are judged before those of their kinds: the user's, and then the flag's.
func JudgeRules(conf Config, ignoreFailingAPIServices bool) []judge.Rule {
	rules := []judge.Rule{func(obj *unstructured.Unstructured) (judge.Judgement, bool) {
		j, _, ok := conf.Judge(obj)
		return j, ok
	}}
	if ignoreFailingAPIServices {
		rules = append(rules, judge.IgnoreFailingAPIServices)
	}
	return rules
}

// concerns reports whether a change is applied or waited for.
func (s *set) concerns(c *Change) bool {
	return s.FromFiles || c.ApplyOp() != Noop || c.WaitOp() != AwaitNothing
}

// sent and read are the two objects of a change as filters see them.
func (c *Change) sent() *unstructured.Unstructured {
	if c.Applied != nil {
		return c.Applied
	}
	return c.New
}

func (c *Change) read() *unstructured.Unstructured {
	if c.before != nil {
		return c.before
	}
	return c.Existing
}

func (s *set) calculate(existing, new []*unstructured.Unstructured) ([]*Change, error) {
	if s.FromFiles {
		return s.plain(existing, new)
	}
	known := s.group(existing)
	if err := s.renew(new, known); err != nil {
		return nil, err
	}
	versioned, rest, err := s.versions(new, known)
	if err != nil {
		return nil, err
	}
	plain, err := s.plain(known.plain, rest)
	if err != nil {
		return nil, err
	}
	if plain, err = onePerUID(plain); err != nil {
		return nil, err
	}
	return append(versioned, plain...), nil
}

// plain compares objects by their keys, whatever their versions are.
func (s *set) plain(existing, new []*unstructured.Unstructured) ([]*Change, error) {
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
		c, err := s.remove(byKey[keys[i]])
		if err != nil {
			return nil, err
		}
		if s.concerns(c) {
			changes = append(changes, c)
		}
	}
	return changes, nil
}

// onePerUID leaves out the deletion of an object that is also described: it was read under two groups of the API, and what
// is described is in another group than what was deployed.
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

// onePair checks that changes of one object are a deletion and another.
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
		return fmt.Errorf("Expected exactly one delete change in changes: %s", strings.Join(descriptions, ", "))
	case len(changes) != 2:
		return fmt.Errorf("Expected exactly one non-delete change in changes: %s", strings.Join(descriptions, ", "))
	}
	return nil
}
