package ready

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/object"
)

// Verdict is the status of an object by rules that may use its child objects.
type Verdict struct {
	Status
	// Ruled means that a rule of a user or of an operator has decided, not the kind.
	Ruled bool
	// Final means that a Failed object is not expected to recover, so that nobody waits for it.
	Final bool
	// Releases means that dependents may be written although the object is not ready.
	Releases bool
	// Fails says when an object that is not ready fails although nothing changes.
	Fails Deadline
	// Children are the statuses of the child objects that are shown beside the object.
	Children []Child
}

// Deadline limits the time for which an object may keep a state. The zero value is without limit.
type Deadline struct {
	Key     string // while it stays the same, the time continues
	After   time.Duration
	Message string // of the failure
}

// Child is the status of an object that a controller created for another one.
type Child struct {
	Ref     object.Ref `json:"ref"`
	Version string     `json:"version"` // API version without the group
	Status  Status     `json:"status"`
}

// Same reports whether two children are the same object in the same status.
func (c Child) Same(other Child) bool {
	return c.Ref == other.Ref && c.Version == other.Version && c.Status.Same(other.Status)
}

// Judge returns the status of an object as a Verdict. The rules of a RuleSet judge an object alone.
func (s *RuleSet) Judge(obj *unstructured.Unstructured, _ []*unstructured.Unstructured) Verdict {
	return Verdict{Status: s.Of(obj), Ruled: s.decides(obj)}
}

// Leaving returns the status of an object that is being deleted.
func (s *RuleSet) Leaving(obj *unstructured.Unstructured) Status { return s.Of(obj) }

// Children returns nothing: the rules of a RuleSet need no child objects.
func (s *RuleSet) Children(*unstructured.Unstructured) ([]schema.GroupKind, map[string]string) {
	return nil, nil
}
