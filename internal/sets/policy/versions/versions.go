// Package versions keeps versions of objects: an object with the annotation for it gets a name with
// a number, and the next number as often as its content changes, so that what refers to it by name
// is rolled out again. References are rewritten, and the newest versions stay. It decides from
// objects alone; what counts as a change and which fields are references is the caller's to say.
package versions

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/sets/policy/resource"
)

const (
	versionMark = "-ver-"
	keptDefault = 5 // versions that stay without an annotation
)

// ErrTakesValues is the error of an object of which versions are kept and that takes values from
// other objects: its content is known only when it is written, after its name.
var ErrTakesValues = errors.New("an object of which versions are kept (" + resource.AnnVersioned +
	") cannot take values from others; leave out one of the two annotations")

// Version is one live version of an object.
type Version struct {
	Object *unstructured.Unstructured
	number int
}

// Live are the live objects: versions by the key of the object they are versions of, the oldest
// first, and all others.
type Live struct {
	versions map[string][]Version
	order    []string // keys of versions, in the order of the objects
	Plain    []*unstructured.Unstructured
}

// Group separates versions from other live objects. A version has the annotation, was deployed as
// one and has a number at the end of its name. The copy with the plain name is an object like
// others, and so is what the function reports.
func Group(
	existing []*unstructured.Unstructured, isPlain func(*unstructured.Unstructured) bool,
) *Live {
	known := &Live{versions: map[string][]Version{}}
	for _, obj := range existing {
		base, number, ok := Split(obj.GetName())
		if !ok || !resource.HasAnnotation(obj, resource.AnnVersioned) || isPlain(obj) {
			known.Plain = append(known.Plain, obj)
			continue
		}
		key := keyAs(obj, base)
		if known.versions[key] == nil {
			known.order = append(known.order, key)
		}
		known.versions[key] = append(known.versions[key], Version{obj, number})
	}
	for _, all := range known.versions {
		slices.SortStableFunc(all, func(a, b Version) int { return cmp.Compare(a.number, b.number) })
	}
	return known
}

// newest returns the newest version of a key, or nil.
func (known *Live) newest(key string) *Version {
	if all := known.versions[key]; len(all) > 0 {
		return &all[len(all)-1]
	}
	return nil
}

// Split splits the name of a version.
func Split(name string) (base string, number int, ok bool) {
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

// Draft is a new object of which versions are kept.
type Draft struct {
	Object *unstructured.Unstructured // under the name of the version to come
	Newest *Version                   // nil if there is none
	IsNew  bool                       // a new version is created

	key, base string // without a version
	outdated  bool   // a reference in it has changed since it was compared
}

// Used returns the version in use: the new one, or the newest.
func (d *Draft) Used() *unstructured.Unstructured {
	if d.IsNew {
		return d.Object
	}
	return d.Newest.Object
}

// newDrafts names the next versions and returns the other new objects, including the copies that
// keep the plain name.
func newDrafts(
	new []*unstructured.Unstructured, known *Live,
) (all []*Draft, others []*unstructured.Unstructured) {
	for _, obj := range new {
		if !resource.HasAnnotation(obj, resource.AnnVersioned) {
			others = append(others, obj)
			continue
		}
		if resource.HasAnnotation(obj, resource.AnnVersionedKeep) {
			others = append(others, obj.DeepCopy())
		}
		d := &Draft{Object: obj, key: resource.Key(obj), base: obj.GetName()}
		number := 1
		if d.Newest = known.newest(d.key); d.Newest != nil {
			number = d.Newest.number + 1
		}
		d.IsNew, d.outdated = d.Newest == nil, true
		obj.SetName(d.base + versionMark + strconv.Itoa(number))
		all = append(all, d)
	}
	return all, others
}

// Rules are what the caller knows about objects.
type Rules struct {
	// Differs reports whether the draft, with its references as in the candidate, is to become a new
	// version: its newest one has another content. It is called again when a reference has changed.
	Differs func(d *Draft, candidate *unstructured.Unstructured) (bool, error)
	// Rewrite changes the references of a holder to a target from one name to another.
	Rewrite func(holder, target *unstructured.Unstructured, from, to string) error
}

// Resolve names the versions of new objects, which it changes, and returns them and the other new
// objects, with references rewritten to the versions in use.
func (known *Live) Resolve(
	new []*unstructured.Unstructured, rules Rules,
) (drafts []*Draft, others []*unstructured.Unstructured, err error) {
	drafts, others = newDrafts(new, known)
	if len(drafts) == 0 {
		return nil, others, nil
	}
	refs := findReferences(drafts, others)
	if err := rules.compare(drafts, refs); err != nil {
		return nil, nil, err
	}
	for i := range refs.holders {
		if err := rules.rewrite(refs.holders[i], refs.targets[i], drafts); err != nil {
			return nil, nil, err
		}
	}
	return drafts, others, nil
}

// compare decides of which drafts new versions are created. At first none of those that have one: a
// draft differs from its newest version by itself, or because it refers to a draft with a new
// version. So unchanged chains and cycles of references create no versions.
func (rules Rules) compare(all []*Draft, refs *references) error {
	for again := true; again; {
		again = false
		for i, d := range all {
			if d.IsNew || !d.outdated {
				continue
			}
			d.outdated = false
			candidate := d.Object
			if targets := refs.targetsOf(i); len(targets) > 0 {
				candidate = d.Object.DeepCopy()
				if err := rules.rewrite(candidate, targets, all); err != nil {
					return err
				}
			}
			differs, err := rules.Differs(d, candidate)
			if err != nil {
				return err
			}
			if differs {
				d.IsNew, again = true, true
				refs.markOutdated(all, i)
			}
		}
	}
	return nil
}

// rewrite changes the references of a holder to drafts to the versions in use.
func (rules Rules) rewrite(holder *unstructured.Unstructured, targets []int, all []*Draft) error {
	for _, target := range targets {
		d, used := all[target], all[target].Used()
		if err := rules.Rewrite(holder, used, d.base, used.GetName()); err != nil {
			return err
		}
	}
	return nil
}

// Old is a live version, the one in use included, and whether it stays.
type Old struct {
	Object *unstructured.Unstructured
	Stays  bool
}

// Keep says how many versions of an object stay: as many live ones as its annotation says, for the
// zero value.
type Keep struct {
	All      bool // however many there are
	WithNext bool // a version that is created is one of the number
}

// Old returns all live versions. The newest stay; of an object without a draft none does.
func (known *Live) Old(drafts []*Draft, keep Keep) ([]Old, error) {
	described := make(map[string]*Draft, len(drafts))
	for _, d := range drafts {
		described[d.key] = d
	}
	var old []Old
	for _, key := range known.order {
		versions := known.versions[key]
		kept := 0
		if d := described[key]; d != nil {
			count, err := versionsKept(d.Object)
			if err != nil {
				return nil, err
			}
			if d.IsNew && keep.WithNext {
				count--
			}
			if kept = min(count, len(versions)); keep.All {
				kept = len(versions)
			}
		}
		for i, v := range versions {
			old = append(old, Old{v.Object, i >= len(versions)-kept})
		}
	}
	return old, nil
}

// versionsKept returns how many versions of an object stay.
func versionsKept(obj *unstructured.Unstructured) (int, error) {
	text, found := resource.Annotation(obj, resource.AnnNumVersions)
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
