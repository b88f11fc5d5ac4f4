package enginetest

import (
	"context"
	"slices"

	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/record"
)

// Store keeps a record in memory. It shares the fate of the cluster: it counts as one of its
// changes, and when the cluster is dead it answers nothing.
type Store struct {
	Cluster *Cluster
	State   record.State
	Deleted bool
	Fails   error // what Save answers; nil carries it out

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
	return &record.State{Members: slices.Clone(s.State.Members)}, nil
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
	s.State = record.State{Members: slices.Clone(state.Members)}
	return s.Cluster.countRecord("save")
}

// Delete empties the state.
func (s *Store) Delete(
	ctx context.Context, _ []object.Ref, before func(context.Context) error,
) error {
	if before != nil && s.Changed == nil {
		if err := before(ctx); err != nil {
			return err
		}
	}
	s.Cluster.mu.Lock()
	defer s.Cluster.mu.Unlock()
	if s.Cluster.dead {
		return ErrDead
	}
	if changed := s.Changed; changed != nil {
		s.Changed = nil
		return changed
	}
	s.State, s.Deleted = record.State{}, true
	return s.Cluster.countRecord("forget")
}
