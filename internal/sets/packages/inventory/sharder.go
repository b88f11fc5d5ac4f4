package inventory

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/record"
)

// groupCapacity is how many bytes the members of one ResourceGroup may take up, in spec and status.
// A server stores objects up to about 1.5 MiB; the rest is for metadata and for the time between
// the writes of spec and status.
const groupCapacity = 1 << 20

// The sizes of a member in spec.resources and in status.resourceStatuses without its names, in JSON
// and at most.
const (
	entryBytes  = len(`{"group":"","kind":"","name":"","namespace":""},`)
	statusBytes = len(
		`{"actuation":"Succeeded","group":"","kind":"","name":"","namespace":"",` +
			`"reconcile":"Succeeded","status":"Unknown","strategy":"Delete"},`,
	)
)

// memberSize returns how many bytes a member takes up, with or without its status.
func memberSize(ref object.Ref, statuses bool) int {
	names := len(ref.Group) + len(ref.Kind) + len(ref.Namespace) + len(ref.Name)
	if statuses {
		return entryBytes + statusBytes + 2*names
	}
	return entryBytes + names
}

// sizeOf returns how many bytes the members of a ResourceGroup take up, and how many of these are
// statuses.
func sizeOf(group *unstructured.Unstructured) (all, statuses int) {
	for _, item := range listAt(group, "spec", "resources") {
		entry, _ := item.(map[string]any)
		all += memberSize(refOf(entry), false)
	}
	for _, item := range listAt(group, "status", "resourceStatuses") {
		entry, _ := item.(map[string]any)
		ref := refOf(entry)
		statuses += memberSize(ref, true) - memberSize(ref, false)
	}
	return all + statuses, statuses
}

// shardContent is the content that one shard is to have.
type shardContent struct {
	state record.State
	grows bool // members that this object did not hold
}

// sharder assigns members to shards. Index 0 is the main shard.
type sharder struct {
	capacities  []int // what each object can take; the first is always there
	newCapacity int   // what each further one can take
	current     map[object.Ref]int
	size        func(object.Ref) int
}

// shards returns the content of each shard. All members go into the first if it can hold them.
// Otherwise members stay where they are while there is capacity, and the others fill up the shards
// in order. The last shard is never empty.
func (d sharder) shards(members []record.Member) []shardContent {
	total := 0
	for _, member := range members {
		total += d.size(member.Ref)
	}
	if total <= d.capacities[0] {
		return []shardContent{{state: record.State{Members: members}}}
	}
	places, last := d.assign(members)
	contents := make([]shardContent, last+1)
	for i, member := range members {
		s := &contents[places[i]]
		s.state.Members = append(s.state.Members, member)
		if at, known := d.current[member.Ref]; !known || at != places[i] {
			s.grows = true
		}
	}
	return contents
}

// assign returns the index of the shard of each member, and the last index in use.
func (d sharder) assign(members []record.Member) (places []int, last int) {
	free := append([]int(nil), d.capacities...)
	places = make([]int, len(members))
	for i, member := range members {
		at, known := d.current[member.Ref]
		if bytes := d.size(member.Ref); known && bytes <= free[at] {
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
		bytes := d.size(member.Ref)
		for bytes > free[next] {
			if next++; next == len(free) {
				free = append(free, max(d.newCapacity, bytes))
			}
		}
		free[next] -= bytes
		places[i] = next
		last = max(last, next)
	}
	return places, last
}
