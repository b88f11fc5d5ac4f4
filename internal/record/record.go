// Package record is the neutral form of what was deployed: which objects belong to a set and how the last run left them.
//
// How a record is stored (a ResourceGroup, a ConfigMap) is a dialect's business; this package gives the shape and the
// interface, and knows no server.
package record

import (
	"context"
	"slices"

	"github.com/muster-deploy/muster/internal/object"
)

// Strategy is what the last run meant to do with a member.
type Strategy string

// The strategies.
const (
	Apply  Strategy = "Apply"
	Delete Strategy = "Delete"
)

// Progress is how far a member came, in being written or in becoming ready.
type Progress string

// The states of progress. TimedOut occurs for readiness only.
const (
	Pending   Progress = "Pending"
	Succeeded Progress = "Succeeded"
	Skipped   Progress = "Skipped"
	Failed    Progress = "Failed"
	TimedOut  Progress = "Timeout"
)

// Member is one object of the set. Empty Strategy, Actuation and Reconcile mean that nothing is known of them.
type Member struct {
	Ref       object.Ref
	Strategy  Strategy
	Actuation Progress // how the write or the deletion went
	Reconcile Progress // how the wait for readiness, or for being gone, went
}

// State is a record at one moment: its members, in the order in which they joined. The zero value is the record of a set
// that was never deployed.
type State struct {
	Members []Member
}

// Refs gives the members' identities in order.
func (s *State) Refs() []object.Ref {
	refs := make([]object.Ref, len(s.Members))
	for i, m := range s.Members {
		refs[i] = m.Ref
	}
	return refs
}

// Equal reports whether both states hold the same members, in any order, each in the same condition.
func (s *State) Equal(other *State) bool {
	if len(s.Members) != len(other.Members) {
		return false
	}
	known := make(map[object.Ref]Member, len(s.Members))
	for _, m := range s.Members {
		known[m.Ref] = m
	}
	return !slices.ContainsFunc(other.Members, func(m Member) bool { return known[m.Ref] != m })
}

// Store keeps one record. Load gives the stored state, or an empty one when nothing is stored. Save replaces what is stored,
// without losing members that somebody else added since Load, and writes nothing when nothing differs; its error is a
// *NamespaceGoneError when there is no place to store it in. Delete removes the record; one that is already gone is no error. A
// Store is used by one goroutine at a time.
type Store interface {
	Load(ctx context.Context) (*State, error)
	Save(ctx context.Context, state *State) error
	Delete(ctx context.Context) error
}

// NamespaceGoneError says that a record cannot be stored because the namespace that it lives in is gone, or going.
type NamespaceGoneError struct {
	Namespace string
	Cause     error
}

func (e *NamespaceGoneError) Error() string { return e.Cause.Error() }

// Unwrap gives the cause.
func (e *NamespaceGoneError) Unwrap() error { return e.Cause }

// Discard is the Store of what is not part of any set: it keeps nothing.
type Discard struct{}

// Load gives an empty state.
func (Discard) Load(context.Context) (*State, error) { return &State{}, nil }

// Save does nothing.
func (Discard) Save(context.Context, *State) error { return nil }

// Delete does nothing.
func (Discard) Delete(context.Context) error { return nil }
