package plan

import (
	"time"

	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-deploy/muster/internal/diff"
	"github.com/muster-deploy/muster/internal/mutation"
	"github.com/muster-deploy/muster/internal/object"
)

// Desired is a desired object and the file and document that describe it.
type Desired struct {
	Object *unstructured.Unstructured
	Source string
	// Placed means that the manifest names no namespace: the object has that of a flag or a context.
	Placed bool
}

// Input is everything that Build decides from. Build does not change it.
type Input struct {
	Desired  []Desired
	Recorded []object.Ref                              // the record, in its order
	Live     map[object.Ref]*unstructured.Unstructured // existing objects, desired and recorded
	Unserved *object.Set                               // recorded, of kinds not served now
	NoKind   *object.Set                               // of kinds without a definition
	Doubts   map[schema.GroupKind]error                // why objects in Unserved may exist
	Protect  map[object.Ref]Protection                 // objects that must not be deleted
	Staying  *object.Set                               // recorded, neither desired nor deleted

	// Unproven is that of Plan.
	Unproven []object.Ref

	// Unwritten are recorded objects of which it is not known that the set has written them.
	Unwritten *object.Set
	// Autoscalers are the existing ones in the namespaces of ScaledNamespaces.
	Autoscalers []*unstructured.Unstructured
	Policy      Policy
}

// Policy is how a dialect wants objects to be handled, in neutral terms. The zero value is
// client-side apply without order and without ownership.
type Policy struct {
	Order KindOrder
	Waves bool // write objects in rounds that begin when the previous one has settled
	Owner Owner
	Annotations

	// DependsOn returns the objects that must be ready before this one is written. Errors may be
	// joined; Build adds the identity of the object. Nil means that no object has dependencies.
	DependsOn func(*unstructured.Unstructured) ([]object.Ref, error)

	// Substitutions returns the values that the object takes from others, which makes it depend on
	// them. A source without a namespace may be in the object's own. Errors and nil are as above.
	Substitutions func(*unstructured.Unstructured) ([]mutation.Substitution, error)

	// Constraints returns, for each of the objects, the indices of those that are written or deleted
	// before it, beyond its dependencies; errors are by object too, and err is that of all together.
	// Nil means that there are none.
	Constraints func([]Ordered) (waits [][]int, errs []error, err error)

	// Excluded returns why an object is neither written nor deleted in this run and stays in the
	// record if it is there, or "". Nil means that no object is excluded.
	Excluded func(o Ordered) string

	// External reports whether others create a desired object: it is waited for, never written, and
	// does not enter the record. Nil means that no object is.
	External func(*unstructured.Unstructured) bool

	// Waiting returns how to wait for an object. Errors and nil are as above; errors of objects that
	// are removed are ignored.
	Waiting func(*unstructured.Unstructured) (Waiting, error)

	// Held are the kinds of which no object is deleted.
	Held []schema.GroupKind

	// NoPrune keeps all objects that are no longer desired in the cluster and in the record.
	NoPrune bool

	RecordNamespace object.Ref // namespace that holds the record; zero if the record is not in one
	Destroy         bool       // nothing is desired, and the record is deleted as well

	// LastApplied is the annotation with the applied configuration, for client-side apply.
	// LastAppliedManager keeps it on objects that migrate to server-side apply, if it is not empty.
	LastApplied        string
	LastAppliedManager string
	// Keeper decides what objects say about what was applied, in LastApplied and in the annotations
	// of Bookkeeping. Nil: a plain copy.
	Keeper      Keeper
	Bookkeeping []string
	// Preconditions is that of Plan.
	Preconditions bool

	// Replacement returns when a desired object that exists is deleted and created again. Errors and
	// nil are as above. RecreateHint is that of Plan.
	Replacement  func(*unstructured.Unstructured) (Replacement, error)
	RecreateHint string

	// RecreateDeleted creates desired objects that are being deleted once they are gone.
	RecreateDeleted bool

	// LeaveReplicas leaves the replicas of workloads to the autoscalers that set them.
	LeaveReplicas bool

	// EncodeStringData lets an apply of a Secret remove values that were in its stringData, which it
	// takes for data.
	EncodeStringData bool

	Conflicts Conflicts // what happens with fields that others own
	Owners    bool      // live objects are read with the owners of their fields

	// Ignore are fields that are left to others once their object exists.
	Ignore diff.IgnoreRules
	// Fit returns a desired object as the rules of the set let it replace a live one; applied is what
	// was applied last, nil if that is not known. It changes no argument. Nil: there are no rules.
	Fit Fit

	// Sensitive reports whether the content of an object is never printed. Nil: that of Secrets and of
	// what takes values from them is not.
	Sensitive func(*unstructured.Unstructured) bool

	// OnlyClientSide makes an apply behave as that of kpt live: objects that are too large for
	// LastApplied fail, what the set has applied server-side before is not removed, and nulls of
	// custom resources are sent.
	OnlyClientSide bool

	ServerSide  bool
	Manager     string
	Force       bool
	Propagation metav1.DeletionPropagation // empty means Background
	// AwaitPods lets a deleted workload count as gone when its pods are, unless its dependents stay.
	AwaitPods         bool
	PruneAfterFailure bool // prune although an apply failed
}

// Fit is a function of Policy.
type Fit func(want, live, applied *unstructured.Unstructured) (*unstructured.Unstructured, error)

// Annotations are those by which an object decides what is done with it.
type Annotations struct {
	// CreateOnly are annotations of desired objects that are not updated once they exist.
	CreateOnly []Annotation `json:"createOnly,omitempty"`
	// Retain are annotations of live objects that are orphaned, not deleted.
	Retain []Annotation `json:"retain,omitempty"`
}

// Ordered is an object of a set: the desired one, or the live one of an object that is no longer
// desired.
type Ordered struct {
	Object  *unstructured.Unstructured
	Removed bool // it is no longer desired
}

func (p Policy) excluded(obj *unstructured.Unstructured, removed bool) string {
	if p.Excluded == nil || obj == nil {
		return ""
	}
	return p.Excluded(Ordered{Object: obj, Removed: removed})
}

// retains reports whether an annotation of an object keeps it in the cluster.
func (p Policy) retains(obj *unstructured.Unstructured) bool {
	_, retained := findAnnotation(obj, p.Retain)
	return retained
}

func (p Policy) external(obj *unstructured.Unstructured) bool {
	return p.External != nil && p.External(obj)
}

// NeedsOwners reports whether the owners of the fields of all live objects are needed.
func (p Policy) NeedsOwners() bool {
	return p.Owners || p.ServerSide || p.Ignore.NeedOwners() ||
		p.Conflicts != ConflictsIgnored && p.Conflicts != NoteConflicts
}

// NeedsOwnersOf reports whether the owners of the fields of an object are needed, if it exists: of
// each object, of one that is taken from its owner, or of a large one, which is probably written
// server-side.
func (p Policy) NeedsOwnersOf(desired *unstructured.Unstructured) bool {
	const large = validation.TotalAnnotationSizeLimitB / 2 // without names, quotes and escapes
	return p.NeedsOwners() || p.Owner.Adopts.Has(object.RefOf(desired)) ||
		!p.OnlyClientSide && p.LastApplied != "" && textSize(desired.Object) > large
}

// textSize returns the length of all texts in a value.
func textSize(value any) (size int) {
	switch value := value.(type) {
	case string:
		return len(value)
	case []any:
		for _, item := range value {
			size += textSize(item)
		}
	case map[string]any:
		for key, field := range value {
			size += len(key) + textSize(field)
		}
	}
	return size
}

func (p Policy) dependsOn(obj *unstructured.Unstructured) ([]object.Ref, error) {
	if p.DependsOn == nil || obj == nil {
		return nil, nil
	}
	return p.DependsOn(obj)
}

func (p Policy) substitutions(obj *unstructured.Unstructured) ([]mutation.Substitution, error) {
	if p.Substitutions == nil || obj == nil {
		return nil, nil
	}
	return p.Substitutions(obj)
}

// Waiting is how to wait for an object. The zero value waits as long as the run does.
type Waiting struct {
	Skip bool // do not wait
	Timeouts
}

// Timeouts limit the waits for an object; 0 is the limit of the run.
type Timeouts struct {
	Timeout time.Duration `json:"timeout,omitempty"`
}

// Gone returns the limit of the wait for the object to be gone.
func (t Timeouts) Gone() time.Duration { return t.Timeout }

// waiting returns how to wait for an object.
func (p Policy) waiting(obj *unstructured.Unstructured) (Waiting, error) {
	if p.Waiting == nil {
		return Waiting{}, nil
	}
	return p.Waiting(obj)
}

// Annotation is a key with a value.
type Annotation struct{ Key, Value string }

// Owner is the annotation or the label that marks the objects of a set, and what may be done with
// objects of others. The value of the mark is the ID of the owning set.
type Owner struct {
	Annotation string // empty: the mark is a label, or there is no ownership
	Label      string `json:",omitempty"` // empty: the mark is an annotation
	ID         string
	// Orphaned is a label that an object gets when it leaves a set whose mark is a label; empty for
	// none.
	Orphaned string `json:",omitempty"`
	// Unmarked reports whether an object without a mark is one of the set all the same; nil: none is.
	Unmarked func(live *unstructured.Unstructured) bool `json:"-"`
	Adoption Adoption
	// Adopts are objects for which Adoption is AdoptAll.
	Adopts    *object.Set `json:"-"`
	AdoptHint string      // added to the reason for not writing an object without an owner
	KeepHint  string      // added to the reason for not deleting an object without an owner
	// ForeignHint is added to the reason for not writing an object of others.
	ForeignHint string
	// DropForeign removes an object of others that is no longer desired from the record; otherwise it
	// stays there.
	DropForeign bool `json:",omitempty"`

	// Applied are the annotations in which other owners keep what they applied to an object.
	Applied []string `json:",omitempty"`
	// Elsewhere are annotations of the marks of others. The annotation LastApplied of an object of
	// theirs that has one is from before it was theirs.
	Elsewhere []string `json:",omitempty"`

	// Records are the UIDs of the objects that hold the record. What leaves the set loses its owner
	// references to them, with the mark: it would be deleted with the record.
	Records []types.UID `json:"-"`

	// Others returns the other owners of a live object. Applied is what the set applies to it, or nil
	// if it is to be deleted. If Others is nil, only the annotation identifies owners.
	Others func(live, applied *unstructured.Unstructured) Others `json:"-"`
}

// Others are the owners of a live object other than the set. The zero value is none.
type Others struct {
	Text                string   // for messages
	Advice              string   // what users may do about it; empty for nothing
	Labels, Annotations []string // their marks, by key; adoption removes them

	// StaleData are keys of the data of a Secret that a server-side apply of the set does not remove;
	// see diff.StaleStringData.
	StaleData []string
}

// Adoption is which objects of others may be written or deleted.
type Adoption string

// The degrees of adoption.
const (
	AdoptNone    Adoption = ""        // only the set's own objects
	AdoptUnowned Adoption = "unowned" // also objects without an owner
	AdoptAll     Adoption = "all"     // also objects of others
)

// Protection is why an object that is no longer desired must not be deleted.
type Protection struct {
	Reason  string
	Release bool // remove it from the record instead of keeping it there
}

// KindOrder ranks kinds: those in First, then all others, then those in Last. Objects are written
// in this order and deleted in reverse.
type KindOrder struct {
	First, Last []schema.GroupKind
}

// ranks returns the ranks of the named kinds. The rank of all others is len(o.First).
func (o KindOrder) ranks() map[schema.GroupKind]int {
	ranks := make(map[schema.GroupKind]int, len(o.First)+len(o.Last))
	for i, gk := range o.First {
		ranks[gk] = i
	}
	for i, gk := range o.Last {
		ranks[gk] = len(o.First) + 1 + i
	}
	return ranks
}

// highestRank returns the largest rank.
func (o KindOrder) highestRank() int { return len(o.First) + len(o.Last) }
