package ready

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

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
	Log       []string   `json:"log,omitempty"`       // the last lines of that log, filled in by whoever can read it
}

// Same reports whether two causes say the same, though perhaps of other pods and with more of a log.
func (c Cause) Same(other Cause) bool {
	return c.Object.GroupKind() == other.Object.GroupKind() && c.Count == other.Count && c.Message == other.Message
}

// Causes finds the reasons why an object is not ready. Family is what is known around it, in any order: the objects that it
// owns, directly or not, and events. Of a Deployment's ReplicaSets only the newest counts. Warning events are used where
// neither the state of an object nor that of those it owns says anything.
func Causes(obj *unstructured.Unstructured, family []*unstructured.Unstructured) []Cause {
	s := &search{children: map[types.UID][]*unstructured.Unstructured{}, events: map[string][]*unstructured.Unstructured{}}
	for _, member := range family {
		if member.GetKind() == "Event" {
			uid := text(member, "involvedObject", "uid")
			s.events[uid] = append(s.events[uid], member)
			continue
		}
		for _, owner := range member.GetOwnerReferences() {
			s.children[owner.UID] = append(s.children[owner.UID], member)
		}
	}
	s.visit(obj, map[types.UID]bool{})
	return s.folded()
}

// search collects causes over an object and those that it owns.
type search struct {
	children map[types.UID][]*unstructured.Unstructured // by their owner
	events   map[string][]*unstructured.Unstructured    // by the object that they are about
	found    []Cause
}

func (s *search) visit(obj *unstructured.Unstructured, seen map[types.UID]bool) {
	if seen[obj.GetUID()] {
		return // owner references can be anything
	}
	seen[obj.GetUID()] = true
	before := len(s.found)
	s.found = append(s.found, ownCauses(obj)...)
	for _, child := range s.relevant(obj) {
		s.visit(child, seen)
	}
	if len(s.found) == before {
		s.found = append(s.found, s.warnings(obj)...)
	}
	if len(s.found) == before {
		s.found = append(s.found, idleCauses(obj)...)
	}
}

// relevant are the owned objects on which the readiness of an object depends, sorted by name.
func (s *search) relevant(obj *unstructured.Unstructured) []*unstructured.Unstructured {
	children := slices.Clone(s.children[obj.GetUID()])
	slices.SortFunc(children, func(a, b *unstructured.Unstructured) int { return cmp.Compare(a.GetName(), b.GetName()) })
	if obj.GetKind() == "Deployment" && len(children) > 0 {
		return []*unstructured.Unstructured{slices.MaxFunc(children, func(a, b *unstructured.Unstructured) int {
			return cmp.Compare(revision(a), revision(b))
		})}
	}
	return slices.DeleteFunc(children, func(child *unstructured.Unstructured) bool {
		return child.GetKind() == "Pod" && Of(child).State == Current
	})
}

// revision is the place of a ReplicaSet in the history of its Deployment.
func revision(obj *unstructured.Unstructured) int {
	n, err := strconv.Atoi(obj.GetAnnotations()["deployment.kubernetes.io/revision"])
	if err != nil {
		return 0
	}
	return n
}

// warnings are the latest Warning events about an object, one for each reason.
func (s *search) warnings(obj *unstructured.Unstructured) []Cause {
	latest := map[string]*unstructured.Unstructured{}
	for _, event := range s.events[string(obj.GetUID())] {
		reason := text(event, "reason")
		if text(event, "type") == "Warning" && (latest[reason] == nil || eventTime(event) >= eventTime(latest[reason])) {
			latest[reason] = event
		}
	}
	var causes []Cause
	for reason, event := range latest {
		causes = append(causes, cause(obj, "%s", join(reason, oneLine(text(event, "message")))))
	}
	slices.SortFunc(causes, func(a, b Cause) int { return cmp.Compare(a.Message, b.Message) })
	return causes
}

// eventTime is when an event was seen last. Times in the format of the API compare as text.
func eventTime(event *unstructured.Unstructured) string {
	return cmp.Or(text(event, "series", "lastObservedTime"), text(event, "lastTimestamp"), text(event, "eventTime"),
		text(event, "metadata", "creationTimestamp"))
}

// folded joins causes that say the same of objects of one kind.
func (s *search) folded() []Cause {
	var folded []Cause
	for _, c := range s.found {
		same := func(f Cause) bool { return f.Object.GroupKind() == c.Object.GroupKind() && f.Message == c.Message }
		if i := slices.IndexFunc(folded, same); i >= 0 {
			folded[i].Count++
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

// ownCauses is what an object's own state says.
func ownCauses(obj *unstructured.Unstructured) []Cause {
	if obj.GetDeletionTimestamp() != nil {
		return leavingCauses(obj)
	}
	switch obj.GroupVersionKind().GroupKind().String() {
	case "Pod":
		return podCauses(obj)
	case "ReplicaSet.apps", "ReplicationController":
		if c := conditionOf(obj, "ReplicaFailure"); c.holds() {
			return []Cause{cause(obj, "%s", join(c.Reason, oneLine(c.Message)))}
		}
	}
	return nil
}

// leavingCauses says what keeps an object that is being deleted.
func leavingCauses(obj *unstructured.Unstructured) []Cause {
	var causes []Cause
	if finalizers := obj.GetFinalizers(); len(finalizers) > 0 {
		causes = append(causes, cause(obj, "it is being deleted and waits for its finalizers: %s", strings.Join(finalizers, ", ")))
	}
	for _, kind := range []string{"NamespaceDeletionDiscoveryFailure", "NamespaceDeletionContentFailure", "NamespaceContentRemaining", "NamespaceFinalizersRemaining"} {
		if c := conditionOf(obj, kind); c.holds() {
			causes = append(causes, cause(obj, "%s", oneLine(c.Message)))
		}
	}
	return causes
}
