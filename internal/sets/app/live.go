package app

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/sets/app/lastapplied"
	"github.com/muster-deploy/muster/internal/sets/input"
	"github.com/muster-deploy/muster/internal/sets/policy/resource"
)

// PodKind is part of every search whose caller prints logs.
var PodKind = schema.GroupKind{Kind: "Pod"}

// ReadLabelled returns the live objects with the label of the app. It prints which of them the user
// may not list.
func (s *Set) ReadLabelled(ctx context.Context) ([]liveObject, error) {
	if s.app.IsNew {
		return nil, nil
	}
	if err := s.refreshKinds(ctx, s.app.Kinds()); err != nil {
		return nil, err
	}
	found, err := s.selectObjects(ctx, s.deploySelection())
	if err != nil {
		return nil, err
	}
	s.unlistable, err = s.unlistableOf(ctx, s.app, SearchOptions{}, nil, s.missed)
	if err != nil {
		return nil, err
	}
	for _, failing := range s.unlistable.failing {
		s.missed[failing.GroupKind] = cluster.UnlistedKind{GroupKind: failing.GroupKind,
			Cause: failing.cause}
	}
	if lines := s.unlistable.failures(); len(lines) > 0 {
		s.Printer.Info("Leaving resources of the app that cannot be listed now, if there are any that " +
			"are not in the files: " + strings.Join(lines, "; "))
	}
	if lines := s.unlistable.permissions(); len(lines) > 0 {
		s.Printer.Info(
			"Leaving resources of the app that cannot be seen, if there are any that are not in " +
				"the files. " +
				"Missing permissions: " + strings.Join(lines, "; "),
		)
	}
	return found, nil
}

// Hold sets the live objects of the app. It refuses those whose labels cannot be read, and a
// selected input that has the name of the app's record.
func (s *Set) Hold(live []liveObject) error {
	s.live = live
	return s.checkRecordName(input.CheckLabels(live))
}

// checkRecordName refuses a selected input that has the name of the app's record. Labels is the
// error about the labels of live objects, which returns in kapp's words if the record exists.
func (s *Set) checkRecordName(labels error) error {
	for _, r := range s.selected {
		ref := object.RefOf(r.Unstructured)
		if ref != s.app.RecordRef() {
			continue
		}
		return &RecordNameError{Ref: ref, Origin: r.Origin, Err: cmp.Or(labels, fmt.Errorf(
			"Resource '%s' would overwrite the record of the app, which is kept under this name (hint: "+
				"give the app or the resource another name) (%s)", resource.Describe(r.Unstructured),
			r.Origin))}
	}
	return labels
}

// deploySelection returns the selection of the app's objects, limited to the kinds of its record
// and of its inputs.
func (s *Set) deploySelection() cluster.Selection {
	selected := s.selection(s.app, s.req.Search, s.NeedsManagedFields())
	selected.Fallback, selected.Ignore = s.fallback, s.ignorable
	s.missed = unlistedKinds{}
	selected.Unlisted = func(m cluster.UnlistedKind) { s.missed[m.GroupKind] = m }
	selected.Versions = map[schema.GroupKind]string{}
	var kinds []schema.GroupKind
	for _, r := range s.inputs {
		gvk := r.GroupVersionKind()
		if selected.Versions[gvk.GroupKind()] == "" {
			selected.Versions[gvk.GroupKind()] = gvk.Version
			kinds = append(kinds, gvk.GroupKind())
		}
	}
	if used := s.app.Meta.UsedGKs; used != nil && !s.req.AllKinds && !s.app.IsLabelled() {
		kinds = append(kinds, *used...)
		if s.req.Pods {
			kinds = append(kinds, PodKind)
		}
		if len(kinds) > 0 { // else no kind is known, and nil selects all
			selected.Kinds = uniqueKinds(kinds)
		}
	}
	return selected
}

// NeedsManagedFields reports whether the plan or overlays need the managed fields of live objects.
func (s *Set) NeedsManagedFields() bool { return s.req.Owners || s.config.HasOverlays() }

// HasApplied reports whether a live object without the label of any app was applied by this one.
func (s *Set) HasApplied(live liveObject) bool {
	key, value, _ := s.app.Label() // Describe has returned its error
	if _, ok := object.LabelsOf(live).Lookup(key); ok {
		return false
	}
	applied := lastapplied.Original(live)
	return applied != nil && object.LabelsOf(applied).Get(key) == value &&
		resource.Key(applied) == resource.Key(live) // not that of an object which it is a copy of
}
