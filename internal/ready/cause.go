package ready

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-deploy/muster/internal/object"
)

// Cause is one reason why an object is not ready, found on the object or on a child object. The
// same reason on several objects is one cause.
type Cause struct {
	Object    object.Ref `json:"object"`              // the first object with the cause
	Count     int        `json:"count"`               // the number of objects with the cause
	Message   string     `json:"message"`             // one line
	Container string     `json:"container,omitempty"` // the failed container, whose log may help
	Previous  bool       `json:"-"`                   // the log is that of the previous run
	Idle      bool       `json:"-"`                   // the object is slow, without an error
	Stuck     bool       `json:"stuck,omitempty"`     // unlikely to pass without a change
	Certain   bool       `json:"-"`                   // cannot pass without a change; also Stuck
	Once      bool       `json:"-"`                   // the cluster does not repeat its reports
	Reports   int        `json:"-"`                   // Warning events about it so far
	Replace   bool       `json:"-"`                   // passes if somebody deletes the object
	Gone      bool       `json:"-"`                   // the object does not exist any more

	// Missing is the object that the cause lacks; zero if none, or if unknown.
	Missing object.Ref `json:"-"`
	// Delay is the time for which a cause must last before it is worth printing.
	Delay time.Duration `json:"-"`
	// Patience is the time for which a cause must last before Stuck counts.
	Patience time.Duration `json:"-"`
	// Until is the time at which the cause becomes another one if nothing changes; zero for never.
	Until time.Time `json:"-"`
	// Since is the time at which the condition behind the cause was written; zero if unknown.
	Since time.Time `json:"-"`

	Log []string `json:"log,omitempty"` // the last lines of the log; the caller fills them in

	same       string    // the message without what differs from attempt to attempt; or empty
	similarity string    // equal for causes of pods that differ in their messages only
	end        *ending   // of a container, if the cause is that it ended
	time       string    // of an event
	begins     time.Time // before it, this is only slow; zero if it is a cause at once
	pull       bool      // a registry refuses an image
	own        bool      // the reason of the status of a pod itself
}

// MarshalJSON writes all keys in alphabetical order, those of the object as well.
func (c Cause) MarshalJSON() ([]byte, error) {
	type place struct {
		Group     string `json:"group"`
		Kind      string `json:"kind"`
		Name      string `json:"name"`
		Namespace string `json:"namespace"`
	}
	return json.Marshal(struct {
		Container string   `json:"container,omitempty"`
		Count     int      `json:"count"`
		Log       []string `json:"log,omitempty"`
		Message   string   `json:"message"`
		Object    place    `json:"object"`
		Stuck     bool     `json:"stuck,omitempty"`
	}{
		c.Container, c.Count, c.Log, c.Message,
		place{c.Object.Group, c.Object.Kind, c.Object.Name, c.Object.Namespace}, c.Stuck,
	})
}

// Same reports whether two causes are the same except for the pod, the count and the log.
func (c Cause) Same(other Cause) bool {
	return c.Object.GroupKind() == other.Object.GroupKind() && (c.content() == other.content() ||
		c.similarity != "" && c.similarity == other.similarity)
}

// RelatedObjects holds the child objects of objects that are not ready, and the events about any of
// them. It must not be used concurrently.
type RelatedObjects struct {
	objects map[object.Ref]*Evidence
	byOwner map[types.UID]map[object.Ref]*Evidence // child objects
	events  map[types.UID]map[object.Ref]*Evidence // events by the involved object
	gone    map[types.UID][]Cause                  // of the last pod that failed and is gone
}

// NewRelatedObjects returns an empty set.
func NewRelatedObjects() *RelatedObjects {
	return &RelatedObjects{
		objects: map[object.Ref]*Evidence{},
		byOwner: map[types.UID]map[object.Ref]*Evidence{},
		events:  map[types.UID]map[object.Ref]*Evidence{},
		gone:    map[types.UID][]Cause{},
	}
}

// Add adds an object or replaces its earlier state. It drops an object that explains nothing.
func (f *RelatedObjects) Add(r *Evidence) {
	if old := f.objects[r.Ref]; old != nil && old.UID == r.UID && r.leaving && r.ofJob {
		r.keepFailures(old)
	}
	f.remove(r.Ref)
	f.forgetGone(r)
	if r.healthy {
		return
	}
	f.objects[r.Ref] = r
	index := f.indexOf(r)
	for _, owner := range r.owners {
		if index[owner] == nil {
			index[owner] = map[object.Ref]*Evidence{}
		}
		index[owner][r.Ref] = r
		if r.warning != nil && len(index[owner]) > maxEvents {
			f.remove(earliest(index[owner]))
		}
	}
}

// indexOf returns the index that an object is in.
func (f *RelatedObjects) indexOf(r *Evidence) map[types.UID]map[object.Ref]*Evidence {
	if r.warning != nil {
		return f.events
	}
	return f.byOwner
}

// Delete removes an object. Why a pod of a Job failed stays known: its controller deletes pods that
// have failed too often. So does the reason of a pod itself: the controllers of StatefulSets and
// DaemonSets replace evicted pods at once.
func (f *RelatedObjects) Delete(ref object.Ref) {
	if r := f.objects[ref]; r != nil {
		if failures := r.failures(); len(failures) > 0 {
			for i := range failures {
				failures[i].Gone, failures[i].time = true, r.created
			}
			for _, owner := range r.owners {
				f.gone[owner] = failures
			}
		}
	}
	f.remove(ref)
}

// forgetGone forgets why a pod is gone when one that was created after it is ready.
func (f *RelatedObjects) forgetGone(r *Evidence) {
	if r.Ref.GroupKind() != podKind || !r.current || r.ofJob {
		return
	}
	for _, owner := range r.owners {
		if found := f.gone[owner]; len(found) > 0 && found[0].time < r.created {
			delete(f.gone, owner)
		}
	}
}

func (f *RelatedObjects) remove(ref object.Ref) {
	r := f.objects[ref]
	if r == nil {
		return
	}
	delete(f.objects, ref)
	index := f.indexOf(r)
	for _, owner := range r.owners {
		if delete(index[owner], ref); len(index[owner]) == 0 {
			delete(index, owner)
		}
	}
}

// Causes returns the reasons why an object is not ready, from the object and all its descendants.
// Of the ReplicaSets of a Deployment only those of its current revision count. Warning events are
// used for an object if neither its status nor those of its child objects explain anything. Events
// about r itself must not be older than changed, unless that is zero. Now is the time by the clock
// of the cluster.
func (f *RelatedObjects) Causes(r *Evidence, changed, now time.Time) []Cause {
	s := &search{related: f, root: r, now: now, seen: map[types.UID]bool{}}
	if !changed.IsZero() {
		s.changed = inSeconds(changed.UTC().Format(time.RFC3339))
	}
	s.visit(r)
	return s.limited(merged(s.found))
}

// search collects causes from an object and its descendants.
type search struct {
	related *RelatedObjects
	root    *Evidence
	now     time.Time
	changed string // the time of the last change of the root
	seen    map[types.UID]bool
	found   []Cause
}

func (s *search) visit(r *Evidence) {
	if s.seen[r.UID] || r.unobserved {
		return // owner references may form a cycle; an old status explains nothing
	}
	s.seen[r.UID] = true
	before := len(s.found)
	for _, c := range r.causes {
		if c.pull {
			s.addPullSecret(r, &c)
		}
		if c.Certain && !c.Once {
			c.Reports = s.reports(r, c.pull)
		}
		s.found = append(s.found, s.explained(c))
	}
	if r.stopping != nil && !(r.ofJob && len(r.causes) > 0) {
		s.found = append(s.found, r.stopping.cause(r.Ref, s.now))
	}
	children := s.relevantChildren(r)
	first := r.firstOutdated(children)
	live := len(children)
	if r.replaces() {
		live = endedLast(children)
	}
	for i, child := range children {
		if i == live && s.hasFault(before) {
			break // what has ended was replaced
		}
		index := len(s.found)
		s.visit(child)
		if r.isOutdated(child) {
			s.addOutdated(r, child, first, index)
		}
	}
	if gone := s.related.gone[r.UID]; len(gone) > 0 && gone[0].own && !s.hasFault(before) {
		s.found = append(s.found, gone...)
	}
	if r.podSelector != "" && s.lacksEndpoints(r) {
		message := "no pod with the labels " + r.podSelector + " is ready to receive its traffic"
		s.found = append(s.found, Cause{Object: r.Ref, Count: 1, Message: message})
	}
	s.visitRest(r, before)
}

// visitRest adds what explains an object if neither its status nor its child objects have added
// anything to the number of causes before.
func (s *search) visitRest(r *Evidence, before int) {
	for _, find := range []func(*Evidence) []Cause{
		func(r *Evidence) []Cause { return s.related.gone[r.UID] },
		s.recentFailures, s.warningCauses, (*Evidence).lastCauses,
	} {
		if len(s.found) > before {
			return
		}
		for _, c := range find(r) {
			s.found = append(s.found, s.begun(s.explained(c)))
		}
	}
}

// begun returns a cause, as an idle one if its time has not come.
func (s *search) begun(c Cause) Cause {
	if s.now.Before(c.begins) {
		c.Idle, c.Until = true, c.begins
	}
	return c
}

// hasFault reports whether a cause that is certain to be one was added to the number of causes
// before.
func (s *search) hasFault(before int) bool {
	return slices.ContainsFunc(s.found[before:], func(c Cause) bool { return !c.Idle && c.Delay == 0 })
}

// relevantChildren returns the child objects on which the readiness of an object depends, sorted by
// name.
func (s *search) relevantChildren(r *Evidence) []*Evidence {
	var children []*Evidence
	for _, child := range s.related.byOwner[r.childrenOwner()] {
		if (!r.leaving || child.leaving) &&
			(r.Ref.Kind != "Deployment" || r.revision == "" || child.revision == r.revision) {
			children = append(children, child)
		}
	}
	slices.SortFunc(
		children, func(a, b *Evidence) int { return cmp.Compare(a.Ref.Name, b.Ref.Name) },
	)
	return children
}

// lacksEndpoints reports whether a Service has endpoint slices and none has a ready endpoint.
func (s *search) lacksEndpoints(r *Evidence) bool {
	known := false
	for _, child := range s.related.byOwner[r.UID] {
		if child.Ref.Kind == "EndpointSlice" {
			known = true
			if child.endpoints > 0 {
				return false
			}
		}
	}
	return known
}

func cause(obj *unstructured.Unstructured, format string, args ...any) Cause {
	message := short(oneLine(fmt.Sprintf(format, args...)))
	return Cause{Object: object.RefOf(obj), Count: 1, Message: message}
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
