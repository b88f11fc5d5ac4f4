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
	versionMark = "-ver-"
	keptDefault = 5 // versions that stay without an annotation
)

// version is one live version of an object.
type version struct {
	obj    *unstructured.Unstructured
	number int
}

// liveVersions are the live objects: versions by the key of the object they are versions of, the
// oldest first, and all others.
type liveVersions struct {
	versions map[string][]version
	order    []string // keys of versions, in the order of the objects
	plain    []*unstructured.Unstructured
}

// newest returns the newest version of a key, or nil.
func (i *liveVersions) newest(key string) *version {
	if all := i.versions[key]; len(all) > 0 {
		return &all[len(all)-1]
	}
	return nil
}

// groupVersions separates versions from other live objects. A version has the annotation, was
// deployed as one and has a number at the end of its name. The copy with the plain name is an
// object like others.
func (s *calculator) groupVersions(existing []*unstructured.Unstructured) *liveVersions {
	known := &liveVersions{versions: map[string][]version{}}
	for _, obj := range existing {
		base, number, ok := versionOf(obj.GetName())
		if !ok || !hasAnnotation(obj, resource.AnnVersioned) || s.madeByController(obj) {
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

// versionOf splits the name of a version.
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

// keyAs returns the key of an object under another name.
func keyAs(obj *unstructured.Unstructured, name string) string {
	key := resource.Key(obj)
	return key[:strings.LastIndexByte(key, '/')+1] + name
}

// draft is a new object of which versions are kept.
type draft struct {
	obj      *unstructured.Unstructured // under the name of the version to come
	key      string                     // without a version
	base     string                     // its name without a version
	newest   *version                   // nil if there is none
	isNew    bool                       // a new version is created
	change   *Change                    // the difference between obj and newest
	outdated bool                       // a reference in it has changed since change was calculated
}

// referenced returns the object to which references to the draft lead.
func (d *draft) referenced() *unstructured.Unstructured {
	if d.isNew {
		return d.obj
	}
	return d.newest.obj
}

// newDrafts names the next versions and returns the other new objects, including the copies that
// keep the plain name.
func newDrafts(new []*unstructured.Unstructured, known *liveVersions) (
	all []*draft, others []*unstructured.Unstructured,
) {
	for _, obj := range new {
		if !hasAnnotation(obj, resource.AnnVersioned) {
			others = append(others, obj)
			continue
		}
		if hasAnnotation(obj, resource.AnnVersionedKeep) {
			others = append(others, obj.DeepCopy())
		}
		d := &draft{obj: obj, key: resource.Key(obj), base: obj.GetName()}
		number := 1
		if d.newest = known.newest(d.key); d.newest != nil {
			number = d.newest.number + 1
		}
		d.isNew, d.outdated = d.newest == nil, true
		obj.SetName(d.base + versionMark + strconv.Itoa(number))
		all = append(all, d)
	}
	return all, others
}

// versionChanges returns the changes of new objects of which versions are kept and of all their
// live versions, and the other new objects, with references rewritten to the versions in use.
func (s *calculator) versionChanges(
	new []*unstructured.Unstructured, known *liveVersions,
) ([]*Change, []*unstructured.Unstructured, error) {
	all, others := newDrafts(new, known)
	if len(all) == 0 && len(known.order) == 0 {
		return nil, others, nil
	}
	refs := findReferences(all, others)
	if err := s.resolveVersions(all, refs); err != nil {
		return nil, nil, err
	}
	for i := range refs.holders {
		if err := s.rewriteRefs(refs.holders[i], refs.targets[i], all); err != nil {
			return nil, nil, err
		}
	}
	changes := make([]*Change, 0, len(all))
	described := make(map[string]*draft, len(all))
	for _, d := range all {
		c, err := s.draftChange(d)
		if err != nil {
			return nil, nil, err
		}
		changes = append(changes, c)
		described[d.key] = d
	}
	old, err := s.pruneVersions(known, described)
	return append(changes, old...), others, err
}

// draftChange returns the change of a resolved draft: a new version, printed as its difference from
// the newest one, or the newest one, which stays.
func (s *calculator) draftChange(d *draft) (*Change, error) {
	if d.newest == nil {
		return s.compare(nil, d.obj)
	}
	if d.isNew {
		return &Change{Op: Add, New: d.obj, Applied: d.obj, calc: s, comparedWith: d.newest.obj}, nil
	}
	c := &Change{Op: d.change.Op, Existing: d.newest.obj, calc: s, comparedWith: d.newest.obj}
	c.waits = c.Op == Keep && s.Wait && s.isUnready(c.Existing)
	return c, nil
}

// resolveVersions decides of which drafts new versions are created. At first none of those that
// have one: a draft differs from its newest version by itself, or because it refers to a draft with
// a new version. So unchanged chains and cycles of references create no versions.
func (s *calculator) resolveVersions(all []*draft, refs *references) error {
	for again := true; again; {
		again = false
		for i, d := range all {
			if d.isNew || !d.outdated {
				continue
			}
			d.outdated = false
			candidate := d.obj
			if targets := refs.targetsOf(i); len(targets) > 0 {
				candidate = d.obj.DeepCopy()
				if err := s.rewriteRefs(candidate, targets, all); err != nil {
					return err
				}
			}
			c, err := s.compare(d.newest.obj, candidate)
			if err != nil {
				return err
			}
			d.change = c
			if c.Op == Update {
				d.isNew, again = true, true
				refs.markOutdated(all, i)
			}
		}
	}
	return nil
}

// rewriteRefs changes the references of a holder to drafts to the versions in use.
func (s *calculator) rewriteRefs(
	holder *unstructured.Unstructured, targets []int, all []*draft,
) error {
	for _, target := range targets {
		d, used := all[target], all[target].referenced()
		if err := s.conf.RewriteRefs(holder, used, d.base, used.GetName()); err != nil {
			return err
		}
	}
	return nil
}

// pruneVersions returns the changes of live versions. The newest stay, as many as the annotation
// says; all others are deleted, as are all versions of an object that is no longer described.
func (s *calculator) pruneVersions(
	known *liveVersions, described map[string]*draft,
) ([]*Change, error) {
	var changes []*Change
	for _, key := range known.order {
		all := known.versions[key]
		kept := 0
		if d := described[key]; d != nil {
			count, err := versionsKept(d.obj)
			if err != nil {
				return nil, err
			}
			if kept = min(count, len(all)); s.KeepVersions {
				kept = len(all)
			}
		}
		for i, v := range all {
			c := &Change{Op: Noop, Existing: v.obj, calc: s, comparedWith: v.obj}
			if i < len(all)-kept {
				c = s.deletion(v.obj)
			}
			changes = append(changes, c)
		}
	}
	return changes, nil
}

// versionsKept returns how many versions of an object stay.
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
