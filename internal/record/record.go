// Package record defines the neutral form of a record: the objects of a set and the result of the
// last run.
//
// At every moment the stored record covers every object that may exist because of the set. The
// engine saves the objects that it is about to write before the first write, and removes deleted
// objects from the record after the last one. Only the namespace of the record is created earlier.
//
// A dialect decides how a record is stored (a ResourceGroup, a ConfigMap). This package defines the
// data and the interface and talks to no server.
package record

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-deploy/muster/internal/object"
)

// Strategy is the operation that the last run planned for a member.
type Strategy string

// The strategies.
const (
	Apply  Strategy = "Apply"
	Delete Strategy = "Delete"
)

// Progress is the state of a member's write or of its readiness.
type Progress string

// The progress of a member. Only readiness can be TimedOut.
const (
	Pending   Progress = "Pending"
	Succeeded Progress = "Succeeded"
	Skipped   Progress = "Skipped"
	Failed    Progress = "Failed"
	TimedOut  Progress = "Timeout"
)

// Member is one object of the set. Strategy, Actuation and Reconcile are empty if nothing is known
// about them.
type Member struct {
	Ref       object.Ref
	Strategy  Strategy
	Actuation Progress // result of the write or the deletion
	// Reconcile is the result of the wait for readiness or for deletion. It is Skipped if nothing was
	// written, and if an object was written that the run did not wait for.
	Reconcile Progress
}

// State is the content of a record: its members, in the order in which they were added. The zero
// value is the record of a set that was never deployed.
type State struct {
	Members []Member
	Result  Result

	// Gone lists members that do not exist any more. Save keeps those that are still stored if
	// others have written the record since Load, because they may create such an object again.
	Gone []object.Ref
	// Untouched lists members that the run has not brought into existence: it has not begun to write
	// them, or was about to delete them. If the run was interrupted, Save leaves out those that others
	// have removed from the record since Load.
	Untouched []object.Ref
	// Unwritten lists, after Load, members of which no run has recorded how their write ended. One
	// that exists without the mark of the set was perhaps to be adopted, and is no object of it.
	Unwritten []object.Ref
	// Holders are, after Load, the UIDs of the objects that hold the record: what has no other owners
	// is deleted with them.
	Holders []types.UID
	// Live are, after Load, members that were read on the way, in the versions in which they are
	// desired. The others are read when they are needed.
	Live map[object.Ref]*unstructured.Unstructured
	// Touch lets Save write the record even if nothing differs, so that others notice the run.
	Touch bool
}

// Result is how the run ended that saved a state. It is empty before the first write of the run.
type Result string

// The results of a run.
const (
	RunSucceeded Result = "Succeeded"
	RunFailed    Result = "Failed"
	// RunInterrupted is of a run that was interrupted before anything had failed.
	RunInterrupted Result = "Interrupted"
)

// Refs returns the identities of the members, in order.
func (s *State) Refs() []object.Ref {
	refs := make([]object.Ref, len(s.Members))
	for i, m := range s.Members {
		refs[i] = m.Ref
	}
	return refs
}

// Unproven returns the applied members that were not ready at the end of the last run.
func (s *State) Unproven() []object.Ref {
	var refs []object.Ref
	for _, m := range s.Members {
		if m.Strategy == Apply && m.Reconcile != "" && m.Reconcile != Succeeded {
			refs = append(refs, m.Ref)
		}
	}
	return refs
}

// Equal reports whether both states hold equal members, in any order.
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

// Store keeps one record. Load returns the stored state, or an empty one if nothing is stored. Save
// replaces the stored state, but keeps members that others added since Load; it writes nothing if
// nothing differs. A member without a condition keeps the stored one. Save returns a
// *NamespaceGoneError if the record's namespace does not exist.
//
// Delete removes the record; it succeeds if there is none. Gone are the members that do not exist
// any more, as in State. If Save would keep members, Delete leaves the record and returns a
// *ChangedError. Before, which may be nil, is called when nothing that is known keeps the record;
// its error does. It may be called again, and a record that others have written meanwhile stays all
// the same. One goroutine at a time may use a Store.
type Store interface {
	Load(ctx context.Context) (*State, error)
	Save(ctx context.Context, state *State) error
	Delete(ctx context.Context, gone []object.Ref, before Before) error
}

// Before deletes what nobody would find without a record, before that is deleted. If there is
// anything, it first calls try, which returns the error that the deletion of the record would have
// at the moment, by a dry run: then nothing is deleted.
type Before func(ctx context.Context, try func(context.Context) error) error

// ChangedError reports that a record was not deleted because others have written it.
type ChangedError struct {
	Added []object.Ref // members that others added since Load
	Gone  []object.Ref // those of the gone members that the record still lists
}

func (e *ChangedError) Error() string {
	if len(e.Added) == 0 {
		return fmt.Sprintf("another run changed it meanwhile and may create %s: the record was kept",
			count(e.Gone))
	}
	return fmt.Sprintf("another run added %s meanwhile: the record was kept", count(e.Added))
}

// count returns the number of objects and the first of them.
func count(refs []object.Ref) string {
	if len(refs) == 1 {
		return fmt.Sprintf("1 object (%s)", refs[0])
	}
	return fmt.Sprintf("%d objects (such as %s)", len(refs), refs[0])
}

// NamespaceGoneError reports that a record cannot be stored because its namespace is deleted or
// being deleted.
type NamespaceGoneError struct {
	Namespace string
	Cause     error
}

func (e *NamespaceGoneError) Error() string { return e.Cause.Error() }

// Unwrap returns the cause.
func (e *NamespaceGoneError) Unwrap() error { return e.Cause }

// Discard is a Store that keeps nothing, for objects that belong to no set.
type Discard struct{}

// Load returns an empty state.
func (Discard) Load(context.Context) (*State, error) { return &State{}, nil }

// Save does nothing.
func (Discard) Save(context.Context, *State) error { return nil }

// Delete does nothing.
func (Discard) Delete(context.Context, []object.Ref, Before) error { return nil }
