package cluster

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// reform puts objects into the version in which they are wanted, where that is served, by one more list for each such version of
// a kind. One that is gone by then stays as it was found.
func (s *selection) reform(ctx context.Context, found []*unstructured.Unstructured) error {
	if s.WantedVersion == nil {
		return nil
	}
	wanted := map[selectedKind]map[types.UID]int{}
	var kinds []selectedKind
	for i, obj := range found {
		form, ok, err := s.form(ctx, obj)
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
		again, err := s.kind(ctx, kind)
		if err != nil {
			return err
		}
		for _, obj := range again {
			if i, ok := wanted[kind][obj.GetUID()]; ok {
				found[i] = obj
			}
		}
	}
	return nil
}

// form gives the kind and version in which an object is wanted, if that is another than it is in and served.
func (s *selection) form(ctx context.Context, obj *unstructured.Unstructured) (form selectedKind, ok bool, err error) {
	gvk := obj.GroupVersionKind()
	gv, err := schema.ParseGroupVersion(s.WantedVersion(obj))
	if err != nil || gv.Version == "" || gv.Group != gvk.Group || gv.Version == gvk.Version || obj.GetUID() == "" {
		return selectedKind{}, false, nil // what is no version is none that is wanted
	}
	kind, err := s.client.Kind(ctx, gvk.GroupKind())
	if err != nil || !slices.Contains(kind.Served, gv.Version) {
		return selectedKind{}, false, err
	}
	resource := kind.Resource
	resource.Version = gv.Version
	return selectedKind{gvk.GroupKind(), resource, kind.Namespaced}, true, nil
}

// once leaves out the other forms of objects that are served as several kinds, which have the same UID.
func (s *selection) once(all []*unstructured.Unstructured) []*unstructured.Unstructured {
	best := make(map[types.UID]*unstructured.Unstructured, len(all))
	for _, obj := range all {
		if known, ok := best[obj.GetUID()]; !ok || s.better(obj, known) {
			best[obj.GetUID()] = obj
		}
	}
	return slices.DeleteFunc(all, func(obj *unstructured.Unstructured) bool { return obj.GetUID() != "" && best[obj.GetUID()] != obj })
}

// better reports whether one form of an object is to be had in place of another.
func (s *selection) better(one, other *unstructured.Unstructured) bool {
	if s.WantedVersion != nil {
		if a, b := s.WantedVersion(one) == one.GetAPIVersion(), s.WantedVersion(other) == other.GetAPIVersion(); a != b {
			return a
		}
	}
	return one.GetAPIVersion() < other.GetAPIVersion()
}
