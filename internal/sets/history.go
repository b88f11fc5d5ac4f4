package sets

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/history"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/packages/inventory"
)

// OpenHistory returns the history of a set. That of a set which was destroyed is found by the name
// of its record. A set without a record and without a history is an error.
func OpenHistory(ctx context.Context, c Cluster, set Set) (*history.Store, error) {
	found, err := set.History(ctx, c)
	if err != nil {
		return nil, err
	}
	s := &history.Store{Cluster: c, Set: found}
	if found.ID == "" {
		err = s.Resolve(ctx)
	}
	if err == nil && s.Set.ID == "" {
		_, err = set.Targets(ctx, c) // there is no record
	}
	return s, err
}

// FindHistory returns the history of a request for the record of a package. The record may be gone;
// then the package is found by what its revisions say.
func FindHistory(ctx context.Context, c Cluster, r Request) (*history.Store, error) {
	set, unfound := Find(ctx, c, r)
	if unfound == nil {
		return OpenHistory(ctx, c, set)
	}
	for _, kind := range []schema.GroupKind{
		inventory.ResourceGroupKind.GroupKind(), {Kind: "ConfigMap"},
	} {
		record := object.Ref{Group: kind.Group, Kind: kind.Kind, Name: r.Record}
		s := &history.Store{Cluster: c, Set: history.Set{
			Namespace: r.Namespace, Name: r.Record, Record: record.Short(),
		}}
		if err := s.Resolve(ctx); err == nil && s.Set.ID != "" {
			return s, nil
		}
	}
	return nil, unfound
}
