package adopt

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/owner"
)

// ReadAgain reads a set whose adoption has begun. It returns an error if its tool has changed the
// set since, or is changing it. Objects that lost the marks of the tool may be missing, and so may
// the set, if its record is hidden: then it is nil.
func ReadAgain(ctx context.Context, c cluster.Reader, r Request, began *Set) (*Set, error) {
	now, err := Read(ctx, c, r)
	missing, empty := (*NotFoundError)(nil), (*EmptyError)(nil)
	if errors.As(err, &missing) {
		return nil, began.checkHidden(ctx, c)
	}
	if err != nil && !errors.As(err, &empty) {
		return nil, err
	}
	for _, o := range began.Owners {
		if o.Kind != owner.FluxRelease {
			continue
		}
		if err := checkSuspended(ctx, c, object.Ref{
			Group: helmReleaseKind.Group, Kind: helmReleaseKind.Kind, Namespace: o.Namespace,
			Name: o.Name,
		}); err != nil {
			return nil, err
		}
	}
	return now, began.compare(now)
}

// compare returns an error if a tool has changed a set since its adoption began.
func (s *Set) compare(now *Set) error {
	const advice = "undo that with adopt --undo, and adopt it into a new folder"
	if now.Version != s.Version {
		return fmt.Errorf("%s has become %s since its adoption was begun at %s: %s", s.Title,
			now.Version, s.Version, advice)
	}
	known := object.NewSet()
	for _, obj := range s.Objects {
		known.Insert(obj.Ref)
	}
	var added []string
	for _, obj := range now.Objects {
		if !known.Has(obj.Ref) {
			added = append(added, obj.Ref.String())
		}
	}
	if len(added) > 0 {
		slices.Sort(added)
		return fmt.Errorf("%s has objects that it did not have when its adoption was begun: %s: %s",
			s.Title, strings.Join(added, ", "), advice)
	}
	for _, change := range now.Record {
		if !s.records(change) {
			return fmt.Errorf("%s has a record that it did not have when its adoption was begun, %s: %s",
				s.Title, change.Ref, advice)
		}
	}
	return nil
}

// records reports whether the record of a set had an object, and not another one of its name.
func (s *Set) records(change RecordChange) bool {
	return slices.ContainsFunc(s.Record, func(c RecordChange) bool {
		return c.Ref == change.Ref && c.UID == change.UID
	})
}

// checkHidden returns an error unless a set that its tool does not find has a record, which was
// hidden. Otherwise somebody has deleted the set.
func (s *Set) checkHidden(ctx context.Context, c cluster.Reader) error {
	live, err := s.liveRecord(ctx, c)
	if err != nil {
		return err
	}
	hidden := slices.ContainsFunc(s.Record, func(change RecordChange) bool {
		obj := live[change.Ref]
		return obj != nil && obj.GetUID() == change.UID && change.isMade(obj)
	})
	if !hidden {
		return &DeletedError{s.Title}
	}
	return nil
}

// liveRecord returns the objects of the record that exist.
func (s *Set) liveRecord(
	ctx context.Context, c cluster.Reader,
) (map[object.Ref]*unstructured.Unstructured, error) {
	targets := make([]cluster.Target, len(s.Record))
	for i, change := range s.Record {
		targets[i] = cluster.Target{Ref: change.Ref, Version: change.Version}
	}
	found, err := c.Read(ctx, targets)
	if err == nil {
		err = found.Check()
	}
	if err != nil {
		return nil, err
	}
	return found.Objects, nil
}

// CheckRestorable returns an error unless the record of a set can be restored: its last object has
// to exist, and none may have been replaced. After a complete adoption no other record may have the
// name of the set, with which the restored one would mix.
func (s *Set) CheckRestorable(ctx context.Context, c cluster.Reader, complete bool) error {
	if len(s.Record) == 0 {
		return nil
	}
	live, err := s.liveRecord(ctx, c)
	if err != nil {
		return err
	}
	for i, change := range s.Record {
		obj := live[change.Ref]
		if gone := obj == nil && i == len(s.Record)-1; gone ||
			obj != nil && obj.GetUID() != change.UID {
			return fmt.Errorf("%s cannot be restored: %s was deleted or replaced since; nothing was "+
				"changed", s.Title, change.Ref)
		}
	}
	if s.Tool != Helm || !complete {
		return nil
	}
	stored, err := storedReleases(ctx, c, Request{
		Name: s.Owners[0].Name, Namespace: s.Record[0].Ref.Namespace,
	})
	for _, revision := range stored {
		if !s.records(relabel(revision)) {
			kind := strings.ToLower(revision.kind.Kind)
			return fmt.Errorf("%s exists again since its adoption, revision %d, and would mix with the "+
				"restored one; nothing was changed\nuninstalling it would delete whatever it describes, "+
				"also objects of this set: kubectl -n %s delete %s %s, deletes the revision alone; then "+
				"give the command again", s.Title, revision.version, revision.meta.Namespace, kind,
				revision.meta.Name)
		}
	}
	return err
}

// isMade reports whether an object is as a change leaves it.
func (r RecordChange) isMade(obj *unstructured.Unstructured) bool {
	var patch struct {
		Metadata struct{ Labels, Annotations map[string]*string }
	}
	if json.Unmarshal(r.Patch, &patch) != nil {
		return false
	}
	as := func(have map[string]string, want map[string]*string) bool {
		for key, value := range want {
			text, has := have[key]
			if has != (value != nil) || value != nil && text != *value {
				return false
			}
		}
		return true
	}
	return as(obj.GetLabels(), patch.Metadata.Labels) &&
		as(obj.GetAnnotations(), patch.Metadata.Annotations)
}

// DeletedError reports a set that its tool, or somebody, has deleted during its adoption.
type DeletedError struct{ Title string }

func (e *DeletedError) Error() string {
	return e.Title + " was deleted since its adoption was begun, and its objects may be gone with it"
}

// Alias returns a request that names the same release by the other tool that has a name for it, and
// whether there is one.
func (s *Set) Alias(r Request) (Request, bool) {
	if s.Tool != Helm || len(s.Record) == 0 {
		return Request{}, false
	}
	if r.Tool == Flux {
		return Request{
			Tool: Helm, Name: s.Owners[0].Name, Namespace: s.Record[0].Ref.Namespace,
		}, true
	}
	for _, o := range s.Owners {
		if o.Kind == owner.FluxRelease {
			return Request{Tool: Flux, Name: helmReleaseName + "/" + o.Name, Namespace: o.Namespace}, true
		}
	}
	return Request{}, false
}

// Canonical returns a request with the name of its set in the one form that all spellings of it
// have in common. A name that is not valid stays: reading it is the error.
func Canonical(r Request) Request {
	kind, name, found := strings.Cut(r.Name, "/")
	switch r.Tool {
	case ApplySet:
		if ref, err := parentOf(r); err == nil {
			kind := schema.GroupKind{Group: ref.Group, Kind: ref.Kind}.String()
			r.Name = strings.ToLower(kind) + "/" + ref.Name
			if ref.Group != "" {
				r.Name = kind + "/" + ref.Name // a kind as in manifests
			}
		}
	case Selector:
		if parsed, err := labels.Parse(r.Name); err == nil && !parsed.Empty() {
			requirements, _ := parsed.Requirements()
			for i, q := range requirements {
				if values := q.ValuesUnsorted(); q.Operator() == selection.In && len(values) == 1 ||
					q.Operator() == selection.DoubleEquals {
					one, err := labels.NewRequirement(q.Key(), selection.Equals, values)
					if err == nil {
						requirements[i] = *one
					}
				}
			}
			r.Name = labels.NewSelector().Add(requirements...).String()
		}
	case Flux:
		if !found {
			kind, name = kustomizationName, r.Name
		}
		r.Name = strings.ToLower(kind) + "/" + name
	case ArgoCD:
		if found {
			r.Name = name
		}
	}
	return r
}
