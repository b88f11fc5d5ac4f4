package enginetest

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/record"
)

// Store keeps a record in memory. It shares the fate of the cluster: it counts as one of its
// changes, and when the cluster is dead it answers nothing.
type Store struct {
	Cluster *Cluster
	State   record.State
	Deleted bool
	UID     types.UID // of the object that holds the record, an owner of others; empty for none
	Fails   error     // what Save answers; nil carries it out
	Refuses error     // what Delete and its dry run answer; nil carries it out

	Saved   []record.State       // all states that were saved
	Changed *record.ChangedError // what the next Delete answers; nil carries it out
}

// Load returns the state.
func (s *Store) Load(context.Context) (*record.State, error) {
	s.Cluster.mu.Lock()
	defer s.Cluster.mu.Unlock()
	if s.Cluster.dead {
		return nil, ErrDead
	}
	state := &record.State{Members: slices.Clone(s.State.Members)}
	if s.UID != "" {
		state.Holders = []types.UID{s.UID}
	}
	for _, m := range state.Members {
		if m.Actuation == "" || m.Actuation == record.Pending {
			state.Unwritten = append(state.Unwritten, m.Ref)
		}
	}
	return state, nil
}

// Save replaces the state.
func (s *Store) Save(_ context.Context, state *record.State) error {
	s.Cluster.mu.Lock()
	defer s.Cluster.mu.Unlock()
	if s.Cluster.dead {
		return ErrDead
	}
	if s.Fails != nil {
		return s.Fails
	}
	s.Saved = append(s.Saved, *state)
	known := map[object.Ref]record.Member{}
	for _, m := range s.State.Members {
		known[m.Ref] = m
	}
	s.State = record.State{Members: slices.Clone(state.Members)}
	for i, m := range s.State.Members {
		if stored, ok := known[m.Ref]; ok && m == (record.Member{Ref: m.Ref}) {
			s.State.Members[i] = stored
		}
	}
	return s.Cluster.countRecord("save")
}

// Delete empties the state.
func (s *Store) Delete(
	ctx context.Context, _ []object.Ref, before record.Before,
) error {
	if before != nil && s.Changed == nil {
		if err := before(ctx, func(context.Context) error { return s.Refuses }); err != nil {
			return err
		}
	}
	s.Cluster.mu.Lock()
	defer s.Cluster.mu.Unlock()
	if s.Cluster.dead {
		return ErrDead
	}
	if s.Refuses != nil {
		return s.Refuses
	}
	if changed := s.Changed; changed != nil {
		s.Changed = nil
		return changed
	}
	s.State, s.Deleted = record.State{}, true
	s.Cluster.collect(s.UID, nil)
	return s.Cluster.countRecord("forget")
}
