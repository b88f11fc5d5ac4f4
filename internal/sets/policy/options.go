package policy

import (
	"cmp"
	"errors"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/diff"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/sets/policy/config"
	"github.com/muster-deploy/muster/internal/sets/policy/filter"
	"github.com/muster-deploy/muster/internal/sets/policy/resource"
)

// Options are the options that shape a plan. A saved plan holds them.
type Options struct {
	ServerSide      bool           `json:"serverSide"`
	ForceConflicts  bool           `json:"forceConflicts"`
	Conflicts       plan.Conflicts `json:"conflicts,omitempty"`
	FieldManager    string         `json:"fieldManager"`
	InventoryPolicy string         `json:"inventoryPolicy"`
	// Propagation is empty for Background with a wait for the pods of deleted workloads.
	Propagation       metav1.DeletionPropagation `json:"prunePropagationPolicy"`
	PruneAfterFailure bool                       `json:"pruneAfterFailure"`
	Ordering          string                     `json:"ordering"`
	Recreate          []string                   `json:"recreate,omitempty"` // kinds; see Recreation
	NoPrune           bool                       `json:"noPrune,omitempty"`
	AllowEmpty        bool                       `json:"allowEmpty,omitempty"` // see CheckEmpty
	// AllowDelete are the held kinds whose objects may be deleted if Hold is set.
	AllowDelete plan.AllowDelete `json:"allowDelete,omitempty"`
	// Hold keeps objects that hold other objects or data.
	Hold bool `json:"-"`
	// Filter selects the objects that are written or deleted. The others stay in the cluster and in
	// the record. Ages are relative to Now, which is also the nonce of objects that want one.
	Filter filter.Flags `json:"filter,omitzero"`
	Now    time.Time    `json:"-"`
	// AppAnnotations honours the annotations of kapp too, as far as packages can.
	AppAnnotations bool `json:"-"`
	// Adopted are objects that may be taken from others whatever InventoryPolicy says.
	Adopted *object.Set `json:"-"`
	// LeaveReplicas leaves the replicas of workloads to their autoscalers. A saved plan shows it in
	// the reasons of its steps.
	LeaveReplicas bool `json:"-"`
	// Ignore are fields that are left to others once their object exists.
	Ignore diff.IgnoreRules `json:"-"`
	// Recreation explains updates that fail because a field is immutable, and recreates the objects
	// with the annotation for that and those of the kinds in Recreate: KIND or KIND.GROUP, or * for
	// all kinds whose objects hold no data or other objects.
	Recreation bool `json:"-"`
	// OnlyInventories recognizes no owners but packages, as kpt does: objects of apps, Helm and
	// others have no owner. Notice receives a line for each of them that is changed, and none about
	// older formats of inventories. Objects that other packages have taken over stay in the record.
	// Objects that are being deleted are written, and not created again once they are gone. Those that
	// are too large for client-side apply fail.
	OnlyInventories bool `json:"-"`
	// Comparison shapes plans whose live objects are compared with the desired ones.
	Comparison `json:"-"`
}

// Comparison is what plans do for those who compare the live objects with the desired ones. The
// zero value is nothing.
type Comparison struct {
	Owners bool // read the owners of the fields of all objects
	// NewestVersions plans the newest version of each object of which versions are kept, where there
	// is one: a plan makes no new version, and renews none.
	NewestVersions bool
	AllKinds       bool // find objects with the label of an app that are of a kind it never had
	// Only is for a plan that is not run: namespaces of objects need not exist, and it is left to the
	// caller to report what cannot be listed.
	Only bool
	// Adopter begins the hints at flags that adopt objects: the command that has these flags, and a
	// space. Empty is the present command.
	Adopter string
}

// Adoption returns the degree of adoption that the inventory policy stands for.
func (o Options) Adoption() plan.Adoption {
	switch o.InventoryPolicy {
	case "adopt":
		return plan.AdoptUnowned
	case "force-adopt":
		return plan.AdoptAll
	default:
		return plan.AdoptNone
	}
}

// Waves reports whether objects are written in waves.
func (o Options) Waves() bool { return o.Ordering == "waves" }

// Policy returns the policy of a plan for the objects of a set.
func (o Options) Policy(f Format) (plan.Policy, error) {
	p, err := f.Policy(o.Adoption())
	p.Owner.Adopts = o.Adopted
	o.limitOwners(&p)
	p.Waves = o.Waves()
	p.ServerSide, p.Manager, p.Conflicts = o.ServerSide, cmp.Or(p.Manager, o.FieldManager), o.Conflicts
	p.Force = o.ForceConflicts || o.Conflicts == plan.TakeAll
	if o.FieldManager == DefaultManager && p.LastApplied == resource.AnnKubectlApplied {
		p.LastAppliedManager = lastAppliedManager
	}
	p.Propagation, p.PruneAfterFailure = o.Propagation, o.PruneAfterFailure
	p.AwaitPods = o.Propagation == ""
	p.LeaveReplicas, p.NoPrune, p.Ignore = o.LeaveReplicas, o.NoPrune, o.Ignore
	p.EncodeStringData = o.AppAnnotations // kubectl lets them stay
	if o.Recreation {
		p.Replacement, p.RecreateHint = o.Replacement, RecreateHint
	}
	p.RecreateDeleted, p.OnlyClientSide = !o.OnlyInventories, o.OnlyInventories
	p.Owners = o.Owners
	p.Held = o.Held()
	if o.AppAnnotations {
		o.honourApps(&p, f.Config)
	}
	matching, invalid := o.Filter.ResourceFilter(o.Now)
	if matching != nil {
		p.Excluded = unselected(matching, p.Excluded)
	}
	return p, errors.Join(err, invalid)
}

// honourApps adds to a policy what the annotations of kapp say, and the rules of a configuration.
func (o Options) honourApps(p *plan.Policy, rules *config.Config) {
	p.Retain = append(p.Retain, plan.Annotation{Key: resource.AnnDeleteStrategy, Value: "orphan"})
	p.CreateOnly = append(p.CreateOnly,
		plan.Annotation{Key: resource.AnnUpdateStrategy, Value: "skip"})
	p.Constraints, p.Excluded, p.Waiting = constraintsOf(rules), excluded, waitingInBoth
	p.External = resource.IsExternal
	if o.Recreation {
		p.Replacement = o.replacementInBoth
	}
}

// Held returns the kinds of which no object is deleted.
func (o Options) Held() []schema.GroupKind {
	if !o.Hold {
		return nil
	}
	return o.AllowDelete.Held()
}

// limitOwners makes a policy recognize packages alone and keep objects of other packages in the
// record, if the options want that. Otherwise the ways to adopt are those of all kinds of set.
func (o Options) limitOwners(p *plan.Policy) {
	if o.OnlyInventories {
		p.Owner.Others = nil
		return
	}
	p.Owner.DropForeign = true
	p.Owner.AdoptHint = o.Adopter + "--adopt=unowned takes it over"
	p.Owner.ForeignHint = o.Adopter + "--adopt=all takes it over"
}

// Destroying returns the policy of a plan that deletes all objects of a set.
func (o Options) Destroying(f Format) (plan.Policy, error) {
	p, err := f.Policy(o.Adoption())
	o.limitOwners(&p)
	p.Destroy, p.Propagation, p.Waves = true, o.Propagation, o.Waves()
	p.AwaitPods = o.Propagation == ""
	if o.AppAnnotations {
		o.honourApps(&p, f.Config)
	}
	p.Held = o.Held()
	return p, err
}
