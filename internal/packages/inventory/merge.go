package inventory

import (
	"slices"

	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/record"
)

// state is what all objects that are named say together.
func (s *Store) state() *record.State {
	says := s.says(false)
	if len(says) == 1 {
		return &record.State{Members: slices.Clone(says[0].Members)}
	}
	all, seen := &record.State{}, map[object.Ref]bool{}
	for _, has := range says {
		for _, member := range has.Members {
			if !seen[member.Ref] { // a member that is being moved is in two
				seen[member.Ref] = true
				all.Members = append(all.Members, member)
			}
		}
	}
	return all
}

// says is what each object says that is named, or may be so at any moment, the main one first.
func (s *Store) says(contended bool) []*record.State {
	says := []*record.State{s.main.has}
	last := s.named
	for number, p := range s.parts {
		if contended && s.contended(p) {
			last = max(last, number)
		}
	}
	for number := 2; number <= last; number++ {
		p, has := s.parts[number], &record.State{}
		if p != nil && (number <= s.named || s.contended(p)) {
			has = p.has
		}
		says = append(says, has)
	}
	return says
}

// divide merges the state into what is stored and says which object is to hold what.
func (s *Store) divide(state *record.State, says []*record.State) []share {
	d := division{more: s.room, at: make(map[object.Ref]int, len(state.Members)), bytes: func(ref object.Ref) int { return bytesOf(ref, s.statuses) }}
	for i, has := range says {
		for _, member := range has.Members {
			if _, known := d.at[member.Ref]; !known {
				d.at[member.Ref] = i
			}
		}
	}
	d.rooms = []int{s.roomIn(s.main)}
	for number := 2; number <= len(says) || s.parts[number] != nil; number++ {
		d.rooms = append(d.rooms, s.roomIn(s.parts[number]))
	}
	return d.of(s.merge(state, says))
}

// roomIn is how many bytes of members an object takes: as many as it has already, if those are more than usual. Statuses that
// stay as they are take up some of it.
func (s *Store) roomIn(p *piece) int {
	if s.room == undivided || p == nil || p.stored == nil {
		return s.room
	}
	all, statuses := weigh(p.stored)
	if s.statuses {
		return max(s.room, all)
	}
	return max(s.room, all) - statuses
}

// merge adds the members that somebody else has put into the record since Load. They stay although the state does not have
// them, also if the same run had wanted them and gave them up: only the other one knows what became of them.
func (s *Store) merge(state *record.State, says []*record.State) []record.Member {
	have := make(map[object.Ref]bool, len(state.Members))
	for _, member := range state.Members {
		have[member.Ref] = true
	}
	merged := slices.Clone(state.Members)
	for _, has := range says {
		for _, member := range has.Members {
			if s.loaded.Has(member.Ref) || s.added.Has(member.Ref) {
				continue
			}
			s.others.Insert(member.Ref)
			if !have[member.Ref] {
				have[member.Ref] = true
				merged = append(merged, member)
			}
		}
	}
	return merged
}
