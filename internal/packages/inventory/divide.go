package inventory

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/record"
)

// partRoom is how many bytes the members of one ResourceGroup may take up, in spec and status. A server keeps objects up to
// about 1.5 MiB; the difference is for metadata, and for the moment between the write of the spec and that of the status.
const partRoom = 1 << 20

// What a member takes up in spec.resources and in status.resourceStatuses besides its names, in JSON and at the most.
const (
	entryBytes  = len(`{"group":"","kind":"","name":"","namespace":""},`)
	statusBytes = len(`{"actuation":"Succeeded","group":"","kind":"","name":"","namespace":"","reconcile":"Succeeded","status":"Unknown","strategy":"Delete"},`)
)

// bytesOf is what a member takes up, with or without its status.
func bytesOf(ref object.Ref, statuses bool) int {
	names := len(ref.Group) + len(ref.Kind) + len(ref.Namespace) + len(ref.Name)
	if statuses {
		return entryBytes + statusBytes + 2*names
	}
	return entryBytes + names
}

// weigh tells what the members of a ResourceGroup take up, and how much of that are statuses.
func weigh(group *unstructured.Unstructured) (all, statuses int) {
	for _, item := range listAt(group, "spec", "resources") {
		entry, _ := item.(map[string]any)
		all += bytesOf(refOf(entry), false)
	}
	for _, item := range listAt(group, "status", "resourceStatuses") {
		entry, _ := item.(map[string]any)
		ref := refOf(entry)
		statuses += bytesOf(ref, true) - bytesOf(ref, false)
	}
	return all + statuses, statuses
}

// share is what one object of a record is to hold.
type share struct {
	state record.State
	gains bool // members that this object did not hold
}

// division is what decides which object holds which member. Objects are counted from 0, the main object.
type division struct {
	rooms []int // what each object can take; the first is always there
	more  int   // what each further one can take
	at    map[object.Ref]int
	bytes func(object.Ref) int
}

// of gives each object its share. All goes into the first if it has room for all. Otherwise members stay where they are, as
// long as there is room for them; the others fill up what room there is, in their order. The last share is never empty.
func (d division) of(members []record.Member) []share {
	total := 0
	for _, member := range members {
		total += d.bytes(member.Ref)
	}
	if total <= d.rooms[0] {
		return []share{{state: record.State{Members: members}}}
	}
	places, last := d.places(members)
	shares := make([]share, last+1)
	for i, member := range members {
		s := &shares[places[i]]
		s.state.Members = append(s.state.Members, member)
		if at, known := d.at[member.Ref]; !known || at != places[i] {
			s.gains = true
		}
	}
	return shares
}

// places finds the object for every member, and the last that is needed.
func (d division) places(members []record.Member) (places []int, last int) {
	free := append([]int(nil), d.rooms...)
	places = make([]int, len(members))
	for i, member := range members {
		at, known := d.at[member.Ref]
		if bytes := d.bytes(member.Ref); known && bytes <= free[at] {
			free[at] -= bytes
			places[i] = at
			last = max(last, at)
		} else {
			places[i] = -1
		}
	}
	next := 0
	for i, member := range members {
		if places[i] >= 0 {
			continue
		}
		bytes := d.bytes(member.Ref)
		for bytes > free[next] {
			if next++; next == len(free) {
				free = append(free, max(d.more, bytes))
			}
		}
		free[next] -= bytes
		places[i] = next
		last = max(last, next)
	}
	return places, last
}
