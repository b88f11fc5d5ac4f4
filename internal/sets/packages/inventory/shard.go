package inventory

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/record"
)

// shard is one object of a record. Number 1 is the main one.
type shard struct {
	number int
	stored *unstructured.Unstructured // as the server returned it last; nil if there is none
	state  *record.State              // its content
}

// version returns the resource version, or an empty string if there is no object.
func (p *shard) version() string {
	if p.stored == nil {
		return ""
	}
	return p.stored.GetResourceVersion()
}

// uid returns the UID, or an empty one if there is no object.
func (p *shard) uid() types.UID {
	if p.stored == nil {
		return ""
	}
	return p.stored.GetUID()
}

// copyForWrite returns a copy whose metadata and whose lists in spec and status can be replaced.
func (p *shard) copyForWrite() *unstructured.Unstructured {
	next := object.WithMetadata(p.stored, func(map[string]any) {})
	for _, section := range []string{"spec", "status"} {
		if fields, ok := next.Object[section].(map[string]any); ok {
			next.Object[section] = maps.Clone(fields)
		}
	}
	return next
}

// newShard reads an object of the record; stored may be nil.
func (s *Store) newShard(number int, stored *unstructured.Unstructured) (*shard, error) {
	p := &shard{number: number, stored: stored, state: &record.State{}}
	if stored == nil {
		return p, nil
	}
	has, err := s.format.decode(stored)
	if err != nil {
		return p, &unreadableError{ref: object.RefOf(stored), cause: err}
	}
	p.state = has
	return p, nil
}

// writeShard sends what differs: first the object with its members, then their statuses; before a
// run only if stored ones do not hold any more. dress changes metadata and reports whether it did.
func (s *Store) writeShard(
	ctx context.Context, p *shard, want *record.State, dress func(*unstructured.Unstructured) bool,
) error {
	next := s.newObject(p.number)
	if p.stored != nil {
		next = p.copyForWrite()
	}
	dressed := dress(next)
	statuses, reserve := s.statuses && (!s.intent || outdated(p.state, want)), 0
	if s.statuses && s.intent {
		reserve = conditionBytes
	}
	changed, err := s.format.setMembers(next, p.state, want, statuses, reserve)
	switch {
	case err != nil:
		return err
	case p.stored == nil:
		err = s.send(ctx, p, cluster.Write{Object: next, Method: cluster.Create})
	case changed || dressed:
		err = s.send(ctx, p, cluster.Write{Object: next, Method: cluster.Replace})
	}
	if err != nil || !statuses {
		return err
	}
	next = p.copyForWrite()
	if !s.format.setStatuses(next, p.state, want) {
		return nil
	}
	err = s.send(ctx, p, cluster.Write{Object: next, Method: cluster.Replace, Subresource: "status"})
	if cluster.RefusalOf(err) == cluster.ByRights {
		if _, allowed := s.mayWrite(ctx); allowed {
			err = fmt.Errorf("%w; %s", err, withoutStatusHint)
		}
	}
	return err
}

// outdated reports whether a state has a condition that does not hold any more.
func outdated(has, want *record.State) bool {
	wanted := make(map[object.Ref]record.Member, len(want.Members))
	for _, m := range want.Members {
		wanted[m.Ref] = m
	}
	return slices.ContainsFunc(has.Members, func(m record.Member) bool {
		next, stays := wanted[m.Ref]
		return stays && next != m
	})
}

func (s *Store) send(ctx context.Context, p *shard, w cluster.Write) error {
	w.Manager = Manager
	stored, err := s.cluster.Write(ctx, w)
	if err != nil {
		return err
	}
	next, err := s.newShard(p.number, stored)
	*p = *next
	return err
}

// newObject returns an object of the record that does not exist yet.
func (s *Store) newObject(number int) *unstructured.Unstructured {
	ref := s.refOf(number)
	obj := &unstructured.Unstructured{Object: map[string]any{}}
	obj.SetGroupVersionKind(s.format.kind())
	obj.SetNamespace(ref.Namespace)
	obj.SetName(ref.Name)
	return obj
}

// addMetadata adds labels and annotations and reports whether one of them differed. It removes
// none.
func addMetadata(
	obj *unstructured.Unstructured, wantLabels, wantAnnotations map[string]string,
) bool {
	labels, annotations := merged(obj.GetLabels(), wantLabels), merged(
		obj.GetAnnotations(), wantAnnotations,
	)
	if maps.Equal(labels, obj.GetLabels()) && maps.Equal(annotations, obj.GetAnnotations()) {
		return false
	}
	obj.SetLabels(labels)
	obj.SetAnnotations(annotations)
	return true
}

// setAnnotation sets an annotation, or removes it if the value is empty, and reports whether that
// changed anything.
func setAnnotation(obj *unstructured.Unstructured, key, value string) bool {
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

// merged returns the union of two maps. Values of want win.
func merged(have, want map[string]string) map[string]string {
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
