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

// Cause is one reason why an object is not ready, seen on the object itself or on one that it owns. The same reason on
// several objects is one cause.
type Cause struct {
	Object    object.Ref `json:"object"`              // where it was seen; the first of them if there are several
	Count     int        `json:"count"`               // on how many objects it was seen
	Message   string     `json:"message"`             // what is wrong, in one line
	Container string     `json:"container,omitempty"` // the container that ended badly and whose log may tell more
	Previous  bool       `json:"-"`                   // the log is that of the run before
	Idle      bool       `json:"-"`                   // nothing is wrong yet: the object is merely slow
	Stuck     bool       `json:"stuck,omitempty"`     // it will hardly pass by itself

	// Patience is how long a cause has to stand before it is taken for what it looks like.
	Patience time.Duration `json:"-"`
	// Since is when the condition was written that the cause rests on; zero if that is not known.
	Since time.Time `json:"-"`

	theme string   // what makes causes the same whose messages differ from pod to pod
	Log   []string `json:"log,omitempty"` // the last lines of that log, filled in by whoever can read it
}

// MarshalJSON gives the keys in alphabetical order, those of the object as well.
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
	}{c.Container, c.Count, c.Log, c.Message, place{c.Object.Group, c.Object.Kind, c.Object.Name, c.Object.Namespace}, c.Stuck})
}

// Same reports whether two causes say the same, though perhaps of other pods, of more of them, and with more of a log.
func (c Cause) Same(other Cause) bool {
	return c.Object.GroupKind() == other.Object.GroupKind() && (c.Message == other.Message || c.theme != "" && c.theme == other.theme)
}

// RelatedObjects is what is known around objects that are not ready: those that controllers made for them, and the events about any
// of them. It belongs to one goroutine.
type RelatedObjects struct {
	members map[object.Ref]*Evidence
	related map[types.UID]map[object.Ref]*Evidence // by the owner, or by what an event is about
}

// NewRelatedObjects gives a family of which nothing is known yet.
func NewRelatedObjects() *RelatedObjects {
	return &RelatedObjects{members: map[object.Ref]*Evidence{}, related: map[types.UID]map[object.Ref]*Evidence{}}
}

// See takes in what an object is now. One that cannot explain anything is not kept.
func (f *RelatedObjects) See(r *Evidence) {
	f.Forget(r.Ref)
	if r.healthy {
		return
	}
	f.members[r.Ref] = r
	for _, owner := range r.owners {
		if f.related[owner] == nil {
			f.related[owner] = map[object.Ref]*Evidence{}
		}
		f.related[owner][r.Ref] = r
	}
}

// Forget drops an object that is gone.
func (f *RelatedObjects) Forget(ref object.Ref) {
	r := f.members[ref]
	if r == nil {
		return
	}
	delete(f.members, ref)
	for _, owner := range r.owners {
		if delete(f.related[owner], ref); len(f.related[owner]) == 0 {
			delete(f.related, owner)
		}
	}
}

// Causes finds the reasons why an object is not ready, on itself and on what it owns, directly or not. Of a Deployment's
// ReplicaSets only that of its present revision counts. Warning events are used where neither the state of an object nor
// that of those it owns says anything; of those about the object itself only the ones since it was changed, if that is known.
func (f *RelatedObjects) Causes(r *Evidence, changed time.Time) []Cause {
	s := &search{family: f, root: r, seen: map[types.UID]bool{}}
	if !changed.IsZero() {
		s.changed = changed.UTC().Format(time.RFC3339)
	}
	s.visit(r)
	return s.folded()
}

// search collects causes over an object and those that it owns.
type search struct {
	family  *RelatedObjects
	root    *Evidence
	changed string // when the root was changed
	seen    map[types.UID]bool
	found   []Cause
}

func (s *search) visit(r *Evidence) {
	if s.seen[r.UID] || r.unobserved {
		return // owner references can be anything, and what there is of one that was just changed is of its past
	}
	s.seen[r.UID] = true
	before := len(s.found)
	s.found = append(s.found, r.causes...)
	for _, child := range s.relevant(r) {
		first := len(s.found)
		s.visit(child)
		for i := first; i < len(s.found) && r.outdated(child); i++ {
			s.found[i].Stuck = false // it is about to be replaced
		}
	}
	if r.fronts != "" && s.unbacked(r) {
		s.found = append(s.found, Cause{Object: r.Ref, Count: 1, Message: "no pod with the labels " + r.fronts + " is ready to receive its traffic"})
	}
	if len(s.found) == before {
		s.found = append(s.found, s.warnings(r)...)
	}
	if len(s.found) == before {
		s.found = append(s.found, r.weak...)
	}
}

// relevant are the owned objects on which the readiness of an object depends, sorted by name.
func (s *search) relevant(r *Evidence) []*Evidence {
	var children []*Evidence
	for _, child := range s.family.related[r.UID] {
		if child.event == nil && (r.Ref.Kind != "Deployment" || r.revision == "" || child.revision == r.revision) {
			children = append(children, child)
		}
	}
	slices.SortFunc(children, func(a, b *Evidence) int { return cmp.Compare(a.Ref.Name, b.Ref.Name) })
	return children
}

// unbacked reports that what is known to stand behind a Service has no endpoint that is ready.
func (s *search) unbacked(r *Evidence) bool {
	known := false
	for _, child := range s.family.related[r.UID] {
		if child.Ref.Kind == "EndpointSlice" {
			known = true
			if child.endpoints > 0 {
				return false
			}
		}
	}
	return known
}

// warnings are the latest Warning events about an object, one for each reason.
func (s *search) warnings(r *Evidence) []Cause {
	latest := map[string]*warning{}
	for _, related := range s.family.related[r.UID] {
		w := related.event
		switch {
		case w == nil || r == s.root && w.time < s.changed:
		case r.Ref.GroupKind() == podKind && w.reason == "BackOff": // the state of the container says that, if it still is so
		case latest[w.reason] == nil || w.time >= latest[w.reason].time:
			latest[w.reason] = w
		}
	}
	var causes []Cause
	for _, w := range latest {
		found := Cause{Object: r.Ref, Count: 1, Message: join(w.reason, w.message)}
		if r.Ref.GroupKind() == podKind {
			found.theme = w.reason // the message often has the address of the pod
		}
		causes = append(causes, found)
	}
	slices.SortFunc(causes, func(a, b Cause) int { return cmp.Compare(a.Message, b.Message) })
	return causes
}

// folded joins causes that say the same of objects of one kind.
func (s *search) folded() []Cause {
	var folded []Cause
	for _, c := range s.found {
		if i := slices.IndexFunc(folded, c.Same); i >= 0 {
			folded[i].Count++
			folded[i].Stuck = folded[i].Stuck || c.Stuck
			continue
		}
		folded = append(folded, c)
	}
	return folded
}

func cause(obj *unstructured.Unstructured, format string, args ...any) Cause {
	return Cause{Object: object.RefOf(obj), Count: 1, Message: fmt.Sprintf(format, args...)}
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
