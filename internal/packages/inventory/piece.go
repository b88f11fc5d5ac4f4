package inventory

import (
	"context"
	"fmt"
	"maps"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/record"
)

// piece is one object of a record: the main one, which is number 1, or a part.
type piece struct {
	number int
	stored *unstructured.Unstructured // as the server gave it last; nil when there is none
	has    *record.State              // what that says
}

// version is the resource version, or nothing when there is no object.
func (p *piece) version() string {
	if p.stored == nil {
		return ""
	}
	return p.stored.GetResourceVersion()
}

// draft is a copy to write into: its metadata can be changed, and its fields down to the lists in spec and status be replaced.
func (p *piece) draft() *unstructured.Unstructured {
	next := object.WithMetadata(p.stored, func(map[string]any) {})
	for _, section := range []string{"spec", "status"} {
		if fields, ok := next.Object[section].(map[string]any); ok {
			next.Object[section] = maps.Clone(fields)
		}
	}
	return next
}

// pieceOf reads one object of the record. There may be none.
func (s *Store) pieceOf(number int, stored *unstructured.Unstructured) (*piece, error) {
	p := &piece{number: number, stored: stored, has: &record.State{}}
	if stored == nil {
		return p, nil
	}
	has, err := s.format.decode(stored)
	if err != nil {
		return p, &unreadableError{ref: object.RefOf(stored), cause: err}
	}
	p.has = has
	return p, nil
}

// writePiece sends what differs: the object with its members first, then their statuses, unless nothing is known of any
// member yet. dress reports whether it changed metadata.
func (s *Store) writePiece(ctx context.Context, p *piece, want *record.State, dress func(*unstructured.Unstructured) bool) error {
	next := s.fresh(p.number)
	if p.stored != nil {
		next = p.draft()
	}
	dressed := dress(next)
	changed, err := s.format.setMembers(next, p.has, want, s.statuses)
	switch {
	case err != nil:
		return err
	case p.stored == nil:
		err = s.send(ctx, p, cluster.Write{Object: next, Method: cluster.Create})
	case changed || dressed:
		err = s.send(ctx, p, cluster.Write{Object: next, Method: cluster.Replace})
	}
	if err != nil || !s.statuses || s.intent {
		return err
	}
	next = p.draft()
	if !s.format.setStatuses(next, p.has, want) {
		return nil
	}
	err = s.send(ctx, p, cluster.Write{Object: next, Method: cluster.Replace, Subresource: "status"})
	if apierrors.IsForbidden(err) {
		err = fmt.Errorf("%w; --status-policy=none keeps a record without status, which needs no such right", err)
	}
	return err
}

func (s *Store) send(ctx context.Context, p *piece, w cluster.Write) error {
	w.Manager = Manager
	stored, err := s.cluster.Write(ctx, w)
	if err != nil {
		return err
	}
	next, err := s.pieceOf(p.number, stored)
	*p = *next
	return err
}

// fresh is an object of the record that does not exist yet.
func (s *Store) fresh(number int) *unstructured.Unstructured {
	ref := s.refOf(number)
	obj := &unstructured.Unstructured{Object: map[string]any{}}
	obj.SetGroupVersionKind(s.format.kind())
	obj.SetNamespace(ref.Namespace)
	obj.SetName(ref.Name)
	return obj
}

// label gives an object these labels and annotations and reports whether it lacked any. Others that it has stay.
func label(obj *unstructured.Unstructured, wantLabels, wantAnnotations map[string]string) bool {
	labels, annotations := united(obj.GetLabels(), wantLabels), united(obj.GetAnnotations(), wantAnnotations)
	if maps.Equal(labels, obj.GetLabels()) && maps.Equal(annotations, obj.GetAnnotations()) {
		return false
	}
	obj.SetLabels(labels)
	obj.SetAnnotations(annotations)
	return true
}

// annotate sets an annotation, or takes it off if the value is empty, and reports whether that changed anything.
func annotate(obj *unstructured.Unstructured, key, value string) bool {
	annotations := obj.GetAnnotations()
	if annotations[key] == value {
		return false
	}
	if annotations == nil {
		annotations = map[string]string{}
	}
	if annotations[key] = value; value == "" {
		delete(annotations, key)
	}
	if len(annotations) == 0 {
		annotations = nil
	}
	obj.SetAnnotations(annotations)
	return true
}

// united is what is there with what is wanted; the latter counts where they differ.
func united(have, want map[string]string) map[string]string {
	all := maps.Clone(want)
	for key, value := range have {
		if _, ok := want[key]; !ok {
			if all == nil {
				all = map[string]string{}
			}
			all[key] = value
		}
	}
	return all
}
