package operation

import (
	"context"

	"github.com/muster-deploy/muster/internal/lock"
	"github.com/muster-deploy/muster/internal/object"
)

// StatusTargets are the objects whose status is shown, and the inventories of each. Inventories may
// have the same name in different namespaces, and an object may be in several.
type StatusTargets struct {
	All    *object.Set
	Owners map[object.Ref][]object.Ref
	Remote bool         // several inventories, so that it has to be said which
	Locks  []lock.Set   // what runs lock that may create the objects
	Gone   []object.Ref // of an app: those of All that do not exist
	// Unmarked are, of an app, those of All that have lost its label, and stay in the cluster.
	Unmarked []object.Ref
	Hidden   error // why there may be more objects, which cannot be listed; nil if there are none
	// Finished is that of engine.ObserveOptions.
	Finished func(ctx context.Context, missing []object.Ref) map[object.Ref]string
}

// NewStatusTargets returns the objects of one record.
func NewStatusTargets(record object.Ref, locked lock.Set, refs []object.Ref) *StatusTargets {
	m := &StatusTargets{All: object.NewSet(), Owners: map[object.Ref][]object.Ref{}}
	m.Add(record, locked, refs)
	return m
}

// Add adds the objects of one record.
func (m *StatusTargets) Add(inv object.Ref, locked lock.Set, refs []object.Ref) {
	m.Locks = append(m.Locks, locked)
	for _, ref := range refs {
		m.All.Insert(ref)
		m.Owners[ref] = append(m.Owners[ref], inv)
	}
}

// Inventories returns the inventories that an object belongs to.
func (m *StatusTargets) Inventories(ref object.Ref) []object.Ref { return m.Owners[ref] }
