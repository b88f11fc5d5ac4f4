package policy

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/mutation"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/sets/policy/config"
	"github.com/muster-deploy/muster/internal/sets/policy/resource"
	"github.com/muster-deploy/muster/internal/sets/policy/versions"
)

// Versions names the objects of which versions are kept and renews those that are due, when the
// live objects are known. Dependencies on a versioned object become those on its version in use.
type Versions struct {
	Policy  plan.Policy
	Desired []plan.Desired // of the last plan; nil before

	now    time.Time
	newest bool // the newest versions are used, whatever they have
	rules  *config.Config
	names  map[object.Ref]object.Ref // versions in use, by the objects as described
}

// NewVersions returns what names the versions of desired objects, and makes the dependencies of
// the policy follow them; nil if there are no versions and nothing is renewed.
func NewVersions(
	desired []plan.Desired, policy *plan.Policy, rules *config.Config, o Options,
) *Versions {
	if !slices.ContainsFunc(desired, func(d plan.Desired) bool {
		return resource.HasAnnotation(d.Object, resource.AnnVersioned) ||
			resource.HasAnnotation(d.Object, resource.AnnRenewDuration)
	}) {
		return nil
	}
	v := &Versions{now: o.Now, newest: o.NewestVersions, rules: rules}
	dependsOn, takes := policy.DependsOn, policy.Substitutions
	policy.DependsOn = func(obj *unstructured.Unstructured) ([]object.Ref, error) {
		refs, err := dependsOn(obj)
		for i, ref := range refs {
			refs[i] = v.used(ref)
		}
		return refs, err
	}
	policy.Substitutions = func(obj *unstructured.Unstructured) ([]mutation.Substitution, error) {
		list, err := takes(obj)
		if len(list) > 0 && resource.HasAnnotation(obj, resource.AnnVersioned) {
			return nil, errors.Join(err, &AnnotationError{MutationKey, versions.ErrTakesValues})
		}
		for i := range list {
			if source := &list[i].Source; source.Namespace == "" {
				within := *source
				within.Namespace = obj.GetNamespace()
				if used, ok := v.names[within]; ok {
					*source = used
				}
			} else {
				*source = v.used(*source)
			}
		}
		return list, err
	}
	v.Policy = *policy
	return v
}

// checkVersioning returns an error if the value of an annotation about versions or renewal is
// invalid.
func checkVersioning(key, value string) error {
	switch key {
	case resource.AnnNumVersions:
		if count, err := strconv.Atoi(value); err != nil || count < 1 {
			return fmt.Errorf("%q must be a number of at least 1", value)
		}
	case resource.AnnRenewDuration:
		if _, err := time.ParseDuration(value); err != nil {
			return fmt.Errorf("%q must be a duration, as in 72h", value)
		}
	}
	return nil
}

// used returns the version in use of an object, or that itself.
func (v *Versions) used(ref object.Ref) object.Ref {
	if used, ok := v.names[ref]; ok {
		return used
	}
	return ref
}

// Settle returns copies of the desired objects under the names of their versions, and the recorded
// ones that stay as former versions.
func (v *Versions) Settle(
	desired []plan.Desired, recorded []object.Ref, live map[object.Ref]*unstructured.Unstructured,
) ([]plan.Desired, *object.Set, error) {
	var existing, objects []*unstructured.Unstructured
	for _, ref := range recorded {
		if obj := live[ref]; obj != nil && v.Policy.Owner.Owns(obj) {
			existing = append(existing, obj)
		}
	}
	described := make(map[object.Ref]plan.Desired, len(desired))
	refs := make([]object.Ref, len(desired))
	for i, d := range desired {
		refs[i] = object.RefOf(d.Object)
		described[refs[i]] = d
		objects = append(objects, d.Object.DeepCopy())
	}
	known := versions.Group(existing, func(*unstructured.Unstructured) bool { return false })
	if !v.newest {
		if err := known.Renew(objects, v.now); err != nil {
			return nil, nil, err
		}
	}
	drafts, others, err := known.Resolve(objects, versions.Rules{
		Differs: func(d *versions.Draft, candidate *unstructured.Unstructured) (bool, error) {
			if v.newest {
				return false, nil
			}
			if v.Policy.Excluded != nil && v.Policy.Excluded(plan.Ordered{Object: candidate}) != "" {
				return false, nil // what is not written now refers to what exists
			}
			again := candidate.DeepCopy()
			again.SetName(d.Newest.Object.GetName())
			return v.Policy.Changes(d.Newest.Object, again)
		},
		Rewrite: v.rules.RewriteRefs,
	})
	if err != nil {
		return nil, nil, err
	}
	old, err := known.Old(drafts, versions.Keep{All: v.Policy.NoPrune, WithNext: true})
	if err != nil {
		return nil, nil, err
	}
	v.names = map[object.Ref]object.Ref{}
	inUse := object.NewSet()
	v.Desired = v.Desired[:0:0]
	for _, d := range drafts {
		d.Object.SetName(d.Used().GetName())
		inUse.Insert(object.RefOf(d.Object))
	}
	for i, obj := range objects {
		if ref := object.RefOf(obj); ref != refs[i] {
			v.names[refs[i]] = ref
		}
		v.Desired = append(v.Desired, plan.Desired{Object: obj, Source: described[refs[i]].Source})
	}
	versioned := map[*unstructured.Unstructured]bool{}
	for _, obj := range objects {
		versioned[obj] = true
	}
	for _, obj := range others { // the copies that keep the plain name
		if !versioned[obj] {
			source := described[object.RefOf(obj)].Source
			v.Desired = append(v.Desired, plan.Desired{Object: obj, Source: source})
		}
	}
	stay := object.NewSet()
	for _, version := range old {
		if ref := object.RefOf(version.Object); version.Stays && !inUse.Has(ref) {
			stay.Insert(ref)
		}
	}
	return v.Desired, stay, nil
}
