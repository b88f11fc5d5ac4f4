package inventory

import (
	"slices"

	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/record"
)

// overtaken returns the state of a run that was interrupted after another one has written the
// record, in its place: the other one knows the conditions of the members, and which of those that
// this run has not touched are gone.
func (s *Store) overtaken(state *record.State) *record.State {
	stored, untouched := object.NewSet(s.main.state.Refs()...), object.NewSet(state.Untouched...)
	left := &record.State{Gone: state.Gone}
	for _, ref := range state.Refs() {
		if stored.Has(ref) || !untouched.Has(ref) {
			left.Members = append(left.Members, record.Member{Ref: ref})
		}
	}
	return left
}

// mergedState returns the union of the states of all referenced shards.
func (s *Store) mergedState() *record.State {
	states := s.shardStates(false)
	if len(states) == 1 {
		return &record.State{Members: slices.Clone(states[0].Members)}
	}
	all, seen := &record.State{}, map[object.Ref]bool{}
	for _, stored := range states {
		for _, member := range stored.Members {
			if !seen[member.Ref] { // a member that is being moved is in two
				seen[member.Ref] = true
				all.Members = append(all.Members, member)
			}
		}
	}
	return all
}

// shardStates returns the states of the referenced shards, the main one first; with contended also
// those of shards that may be referenced at any moment.
func (s *Store) shardStates(contended bool) []*record.State {
	states := []*record.State{s.main.state}
	last := s.referenced
	for number, p := range s.shards {
		if contended && s.maybeReferenced(p) {
			last = max(last, number)
		}
	}
	for number := 2; number <= last; number++ {
		p, stored := s.shards[number], &record.State{}
		if p != nil && (number <= s.referenced || s.maybeReferenced(p)) {
			stored = p.state
		}
		states = append(states, stored)
	}
	return states
}

// assignShards merges the state into the stored ones and assigns each member to a shard.
func (s *Store) assignShards(state *record.State, states []*record.State) []shardContent {
	d := sharder{
		newCapacity: s.capacity,
		current:     make(map[object.Ref]int, len(state.Members)),
		size:        func(ref object.Ref) int { return memberSize(ref, s.statuses) },
	}
	for i, stored := range states {
		for _, member := range stored.Members {
			if _, known := d.current[member.Ref]; !known {
				d.current[member.Ref] = i
			}
		}
	}
	d.capacities = []int{s.capacityOf(s.main)}
	for number := 2; number <= len(states) || s.shards[number] != nil; number++ {
		d.capacities = append(d.capacities, s.capacityOf(s.shards[number]))
	}
	return d.shards(s.merge(state, states))
}

// capacityOf returns how many bytes of members a shard takes: at least as many as it has.
// Statuses that are not rewritten take up some of it.
func (s *Store) capacityOf(p *shard) int {
	if s.capacity == unlimited || p == nil || p.stored == nil {
		return s.capacity
	}
	all, statuses := sizeOf(p.stored)
	if s.statuses {
		return max(s.capacity, all)
	}
	return max(s.capacity, all) - statuses
}

// merge adds the members that others have put into the record since Load. They stay even if this
// run created and removed them too: only the other run knows their state. If others have written
// the record, stored members that are gone stay too. A member without a condition gets the stored
// one.
func (s *Store) merge(state *record.State, states []*record.State) []record.Member {
	at := make(map[object.Ref]int, len(state.Members))
	for i, member := range state.Members {
		at[member.Ref] = i
	}
	gone := object.NewSet(state.Gone...)
	var dropped []record.Member
	if s.contended { // a shard may have lost its members before the conflict
		states = append(slices.Clone(states), &record.State{Members: s.dropped})
	}
	merged := slices.Clone(state.Members)
	for _, stored := range states {
		for _, member := range stored.Members {
			ours := s.loaded.Has(member.Ref) || s.added.Has(member.Ref)
			if !ours {
				s.others.Insert(member.Ref)
			}
			if i, ok := at[member.Ref]; ok {
				if merged[i] == (record.Member{Ref: member.Ref}) {
					merged[i] = member
				}
			} else if !ours || s.contended && gone.Has(member.Ref) {
				at[member.Ref] = len(merged)
				merged = append(merged, member)
			} else if s.referenced > 1 && gone.Has(member.Ref) {
				dropped = append(dropped, member)
			}
		}
	}
	s.dropped = dropped
	return merged
}
