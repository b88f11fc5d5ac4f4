package cluster

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// convert replaces objects by their form in the version that WantedVersion returns, if that is
// served. It sends one more list for each such version of a kind. An object that was deleted
// meanwhile keeps its form.
func (s *selector) convert(ctx context.Context, found []*unstructured.Unstructured) error {
	if s.WantedVersion == nil {
		return nil
	}
	wanted := map[selectedKind]map[types.UID]int{}
	var kinds []selectedKind
	for i, obj := range found {
		form, ok, err := s.wantedForm(ctx, obj)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		if wanted[form] == nil {
			wanted[form] = map[types.UID]int{}
			kinds = append(kinds, form)
		}
		wanted[form][obj.GetUID()] = i
	}
	for _, kind := range kinds {
		again, err := s.reach(ctx, kind)
		switch {
		case err == nil || isNotServed(err):
		case ctx.Err() == nil && s.ignorable(ctx, kind):
			s.report(ignoring(kind, err))
		default:
			return s.listError(kind, err)
		}
		for _, obj := range again {
			if i, ok := wanted[kind][obj.GetUID()]; ok {
				found[i] = obj
			}
		}
	}
	return nil
}

// wantedForm returns the kind in the wanted version, and whether it is served and differs from the
// object's version.
func (s *selector) wantedForm(
	ctx context.Context, obj *unstructured.Unstructured,
) (form selectedKind, ok bool, err error) {
	gvk := obj.GroupVersionKind()
	gv, err := schema.ParseGroupVersion(s.WantedVersion(obj))
	if err != nil || gv.Version == "" || gv.Group != gvk.Group || gv.Version == gvk.Version ||
		obj.GetUID() == "" {
		return selectedKind{}, false, nil // not a version of the group
	}
	kind, err := s.client.Kind(ctx, gvk.GroupKind())
	if err != nil || !slices.Contains(kind.Served, gv.Version) {
		return selectedKind{}, false, err
	}
	resource := kind.Resource
	resource.Version = gv.Version
	return selectedKind{gvk.GroupKind(), resource, kind.Namespaced}, true, nil
}

// withoutDuplicates removes the other forms of objects that are served as several kinds. They share
// a UID.
func (s *selector) withoutDuplicates(
	all []*unstructured.Unstructured,
) []*unstructured.Unstructured {
	best := make(map[types.UID]*unstructured.Unstructured, len(all))
	for _, obj := range all {
		if known, ok := best[obj.GetUID()]; !ok || s.isPreferred(obj, known) {
			best[obj.GetUID()] = obj
		}
	}
	return slices.DeleteFunc(
		all,
		func(obj *unstructured.Unstructured) bool {
			return obj.GetUID() != "" && best[obj.GetUID()] != obj
		},
	)
}

// isPreferred reports whether one form of an object is preferred to the other.
func (s *selector) isPreferred(one, other *unstructured.Unstructured) bool {
	if s.WantedVersion != nil {
		a := s.WantedVersion(one) == one.GetAPIVersion()
		b := s.WantedVersion(other) == other.GetAPIVersion()
		if a != b {
			return a
		}
	}
	return one.GetAPIVersion() < other.GetAPIVersion()
}
