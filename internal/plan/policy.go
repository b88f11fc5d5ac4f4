package plan

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/mutation"
	"github.com/muster-deploy/muster/internal/object"
)

// Desired is one object that is wanted and the place that describes it.
type Desired struct {
	Object *unstructured.Unstructured
	Source string
}

// Input is everything that Build decides from. It is read, never changed.
type Input struct {
	Desired  []Desired
	Recorded []object.Ref                              // what the record lists, in its order
	Live     map[object.Ref]*unstructured.Unstructured // of desired and recorded; an object without an entry does not exist
	Unserved *object.Set                               // recorded objects of kinds that the cluster does not serve now
	Policy   Policy
}

// Policy is what a dialect wants done, in neutral terms. The zero value applies on the client's side, in no particular
// order, to objects that nobody owns.
type Policy struct {
	Order      KindOrder
	Waves      bool // objects are written in rounds, each begun when the one before has settled; else each as soon as it can
	Owner      Owner
	Retain     []Annotation // a live object that carries one of these is not deleted but orphaned
	CreateOnly []Annotation // a wanted object that carries one of these is left as it is once it exists

	// DependsOn names the objects that must be ready before this one is written, as the object itself says it. An error
	// is the object's, or several joined: Build adds its identity. Nil means that no object says anything.
	DependsOn func(*unstructured.Unstructured) ([]object.Ref, error)

	// Substitutions gives the values that the object takes from others, which it thereby depends on. A source without a
	// namespace may be in that of the object. Errors and nil are as with DependsOn.
	Substitutions func(*unstructured.Unstructured) ([]mutation.Substitution, error)

	// Waiting says how an object is waited for, as the object itself says it. An error is the object's, as above; on one
	// that is removed it is ignored. Nil means that no object says anything.
	Waiting func(*unstructured.Unstructured) (Waiting, error)

	RecordNamespace    object.Ref // the namespace that holds the record; zero when the record does not live in one
	Destroy            bool       // nothing is wanted any more: Desired is empty and the record goes as well
	LastApplied        string     // annotation that keeps the applied configuration, for client-side apply
	LastAppliedManager string     // manager that keeps LastApplied on an object that goes over to server-side apply; empty lets it go

	ServerSide        bool
	Manager           string
	Force             bool
	Propagation       metav1.DeletionPropagation // empty means Background
	PruneAfterFailure bool                       // prune although an apply failed
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

// Waiting is how an object is waited for. The zero value waits as long as the run does.
type Waiting struct {
	Skip    bool          // not at all
	Timeout time.Duration // so long; 0 as long as the run waits
}

// waiting asks what an object says of waiting for it.
func (p Policy) waiting(obj *unstructured.Unstructured) (Waiting, error) {
	if p.Waiting == nil {
		return Waiting{}, nil
	}
	return p.Waiting(obj)
}

// Annotation is a key with the value that counts.
type Annotation struct{ Key, Value string }

// Owner says by which annotation an object belongs to a set and what may be done with objects of others.
type Owner struct {
	Annotation string // its value is the ID of the set that owns the object; empty turns ownership off
	ID         string
	Adoption   Adoption
	AdoptHint  string // how to take over an object that belongs to nobody, for the reason why it was not written
	KeepHint   string // what becomes of an object that belongs to nobody, for the reason why it was not deleted
}

// Adoption tells which objects may be written or deleted although they are not marked as ours.
type Adoption string

// The degrees of adoption.
const (
	AdoptNone    Adoption = ""        // only our own objects
	AdoptUnowned Adoption = "unowned" // also those that belong to nobody
	AdoptAll     Adoption = "all"     // also those of others
)

// KindOrder ranks kinds: those of First in their order, then all that are not named, then those of Last. Objects are
// written in the order of their ranks and deleted in the reverse order.
type KindOrder struct {
	First, Last []schema.GroupKind
}

// ranks numbers the named kinds; the rank of all others is len(o.First).
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

// highestRank is the largest rank there is.
func (o KindOrder) highestRank() int { return len(o.First) + len(o.Last) }
