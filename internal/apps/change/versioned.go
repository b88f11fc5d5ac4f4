package change

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/apps/resource"
)

const (
	versionMark = "-ver-" // between the name of an object and the number of its version
	keptDefault = 5       // versions that stay without an annotation for it
)

// version is one live version of an object.
type version struct {
	obj    *unstructured.Unstructured
	number int
}

// inventory is what is known of the live objects: versions by the key of the object that they are versions of, the oldest
// first, and all others.
type inventory struct {
	versions map[string][]version
	order    []string // keys of versions, as they were met
	plain    []*unstructured.Unstructured
}

// newest gives the newest version under a key, or nil.
func (i *inventory) newest(key string) *version {
	if all := i.versions[key]; len(all) > 0 {
		return &all[len(all)-1]
	}
	return nil
}

// group sorts the live objects into versions and others. A version is annotated as one, was deployed as such and has a number
// at the end of its name; the copy that has the plain name is an object like others.
func (s *set) group(existing []*unstructured.Unstructured) *inventory {
	known := &inventory{versions: map[string][]version{}}
	for _, obj := range existing {
		base, number, ok := versionOf(obj.GetName())
		if !ok || !has(obj, resource.AnnVersioned) || s.foreign(obj) {
			known.plain = append(known.plain, obj)
			continue
		}
		key := keyAs(obj, base)
		if known.versions[key] == nil {
			known.order = append(known.order, key)
		}
		known.versions[key] = append(known.versions[key], version{obj, number})
	}
	for _, all := range known.versions {
		slices.SortStableFunc(all, func(a, b version) int { return cmp.Compare(a.number, b.number) })
	}
	return known
}

// versionOf takes the name of a version apart.
func versionOf(name string) (base string, number int, ok bool) {
	at := strings.LastIndex(name, versionMark)
	if at < 0 {
		return name, 0, false
	}
	digits := name[at+len(versionMark):]
	if digits == "" || strings.Trim(digits, "0123456789") != "" {
		return name, 0, false
	}
	number, err := strconv.Atoi(digits)
	return name[:at], number, err == nil
}

// keyAs is the key of an object under another name.
func keyAs(obj *unstructured.Unstructured, name string) string {
	key := resource.Key(obj)
	return key[:strings.LastIndexByte(key, '/')+1] + name
}

// draft is a new object of which versions are kept.
type draft struct {
	obj    *unstructured.Unstructured // under the name of the version to come
	key    string                     // without a version
	base   string                     // its name without a version
	newest *version                   // nil if there is none
	fresh  bool                       // a new version is made
	change *Change                    // how obj differs from newest
	stale  bool                       // a reference in it has changed since change was made
}

// used is the object that references to the draft lead to.
func (d *draft) used() *unstructured.Unstructured {
	if d.fresh {
		return d.obj
	}
	return d.newest.obj
}

// drafts names the versions to come and gives the other new objects, among them the copies that keep the plain name.
func drafts(new []*unstructured.Unstructured, known *inventory) (all []*draft, rest []*unstructured.Unstructured) {
	for _, obj := range new {
		if !has(obj, resource.AnnVersioned) {
			rest = append(rest, obj)
			continue
		}
		if has(obj, resource.AnnVersionedKeep) {
			rest = append(rest, obj.DeepCopy())
		}
		d := &draft{obj: obj, key: resource.Key(obj), base: obj.GetName()}
		number := 1
		if d.newest = known.newest(d.key); d.newest != nil {
			number = d.newest.number + 1
		}
		d.fresh, d.stale = d.newest == nil, true
		obj.SetName(d.base + versionMark + strconv.Itoa(number))
		all = append(all, d)
	}
	return all, rest
}

// versions gives the changes of new objects of which versions are kept and of all their live versions, and the new objects
// that are left, in which references lead to the versions that are used.
func (s *set) versions(new []*unstructured.Unstructured, known *inventory) ([]*Change, []*unstructured.Unstructured, error) {
	all, rest := drafts(new, known)
	if len(all) == 0 && len(known.order) == 0 {
		return nil, rest, nil
	}
	refs := referrers(all, rest)
	if err := s.settle(all, refs); err != nil {
		return nil, nil, err
	}
	for i := range refs.holders {
		if err := s.point(refs.holders[i], refs.targets[i], all); err != nil {
			return nil, nil, err
		}
	}
	changes := make([]*Change, 0, len(all))
	described := make(map[string]*draft, len(all))
	for _, d := range all {
		c, err := s.decide(d)
		if err != nil {
			return nil, nil, err
		}
		changes = append(changes, c)
		described[d.key] = d
	}
	old, err := s.retire(known, described)
	return append(changes, old...), rest, err
}

// decide gives the change of a draft that is settled: a new version, shown as what differs from the newest, or the newest
// one, which stays.
func (s *set) decide(d *draft) (*Change, error) {
	if d.newest == nil {
		return s.compare(nil, d.obj)
	}
	if d.fresh {
		return &Change{Op: Add, New: d.obj, Applied: d.obj, set: s, against: d.newest.obj}, nil
	}
	c := &Change{Op: d.change.Op, Existing: d.newest.obj, set: s, against: d.newest.obj}
	c.waits = c.Op == Keep && s.Wait && s.unready(c.Existing)
	return c, nil
}

// settle finds out of which drafts new versions are made. At first none of those that have one already: a draft differs from
// its newest version by itself, or because it refers to a draft of which a new version is made. So chains and circles of
// references that nobody has changed make no versions.
func (s *set) settle(all []*draft, refs *references) error {
	for again := true; again; {
		again = false
		for i, d := range all {
			if d.fresh || !d.stale {
				continue
			}
			d.stale = false
			candidate := d.obj
			if targets := refs.of(i); len(targets) > 0 {
				candidate = d.obj.DeepCopy()
				if err := s.point(candidate, targets, all); err != nil {
					return err
				}
			}
			c, err := s.compare(d.newest.obj, candidate)
			if err != nil {
				return err
			}
			d.change = c
			if c.Op == Update {
				d.fresh, again = true, true
				refs.touch(all, i)
			}
		}
	}
	return nil
}

// point makes the references of a holder to drafts refer to the versions that are used.
func (s *set) point(holder *unstructured.Unstructured, targets []int, all []*draft) error {
	for _, target := range targets {
		d := all[target]
		if err := s.conf.RewriteRefs(holder, d.used(), d.base, d.used().GetName()); err != nil {
			return err
		}
	}
	return nil
}

// retire gives the changes of live versions: the newest stay, as many as are asked for; the rest goes, and all of an object
// that is not described any more.
func (s *set) retire(known *inventory, described map[string]*draft) ([]*Change, error) {
	var changes []*Change
	for _, key := range known.order {
		all := known.versions[key]
		kept := 0
		if d := described[key]; d != nil {
			count, err := versionsKept(d.obj)
			if err != nil {
				return nil, err
			}
			kept = min(count, len(all))
		}
		for i, v := range all {
			c := &Change{Op: Noop, Existing: v.obj, set: s, against: v.obj}
			if i < len(all)-kept {
				var err error
				if c, err = s.remove(v.obj); err != nil {
					return nil, err
				}
			}
			changes = append(changes, c)
		}
	}
	return changes, nil
}

// versionsKept reads how many versions of an object stay.
func versionsKept(obj *unstructured.Unstructured) (int, error) {
	text, found := annotation(obj, resource.AnnNumVersions)
	if !found {
		return keptDefault, nil
	}
	count, err := strconv.Atoi(text)
	if err != nil {
		return 0, fmt.Errorf("Expected annotation '%s' value to be an integer", resource.AnnNumVersions)
	}
	if count < 1 {
		return 0, fmt.Errorf("Expected annotation '%s' value to be a >= 1", resource.AnnNumVersions)
	}
	return count, nil
}
