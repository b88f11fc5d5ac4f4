// Package plan decides what to do with a set of objects, and in what order.
//
// Its input is the desired objects, the live objects, the content of the record, and a policy. Its
// output is a Plan: one step for each object in execution order, with the steps it has to wait for.
// The package reads no clock, file or server. It knows no annotation of a particular tool: dialects
// pass those as policy. Build plans packages and apps; only kapp's commands make steps of their
// own, which Sort puts in order.
//
// A desired object that takes values from other objects has a draft and substitutions. Build
// predicts the completed object from the planned sources, so that plans and dry runs show it. The
// run completes the step again, from the last known state of the sources. An object that takes
// values from a Secret, directly or through other objects, is sensitive: its diff has no values.
package plan

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/diff"
	"github.com/muster-deploy/muster/internal/mutation"
	"github.com/muster-deploy/muster/internal/object"
)

// Op is the operation of a step.
type Op string

// The operations. Barrier and Guard concern no object: they join many steps, so that others can
// follow all of them. A Barrier settles when the steps before it have settled. A Guard also fails
// if one of them failed or was skipped because of a failure.
const (
	Create       Op = "create"
	Update       Op = "update"
	Unchanged    Op = "unchanged"
	Delete       Op = "delete"
	Orphan       Op = "orphan"        // leave the object in the cluster and remove it from the record
	Keep         Op = "keep"          // leave the object in the cluster and in the record
	Skip         Op = "skip"          // do not apply the object
	AwaitCreated Op = "await-created" // others create the object: wait until it exists
	AwaitDeleted Op = "await-deleted" // others delete the object: wait until it is gone
	Observe      Op = "observe"       // emit the status of the object, and do nothing
	Barrier      Op = "barrier"
	Guard        Op = "guard"
)

// IsObject reports whether the operation concerns an object and does not only join steps.
func (o Op) IsObject() bool { return o != Barrier && o != Guard }

// Applies reports whether the operation belongs to a desired object.
func (o Op) Applies() bool {
	return o == Create || o == Update || o == Unchanged || o == Skip
}

// IsDesired reports whether the operation belongs to an object that is described: one of the set,
// or one that others create.
func (o Op) IsDesired() bool { return o.Applies() || o == AwaitCreated }

// Removes reports whether the operation belongs to an object that is no longer desired.
func (o Op) Removes() bool {
	return o == Delete || o == Orphan || o == Keep
}

// Writes reports whether the operation sends a change to the cluster.
func (o Op) Writes() bool {
	return o == Create || o == Update || o == Delete || o == Orphan
}

// AwaitsDeletion reports whether the operation ends when the object is gone.
func (o Op) AwaitsDeletion() bool { return o == Delete || o == AwaitDeleted }

// External reports whether the operation only waits for an object that others create or delete.
func (o Op) External() bool { return o == AwaitCreated || o == AwaitDeleted }

// Replacement is the condition under which an update deletes the object and creates it again.
type Replacement string

// The replacements. The zero value is never.
const (
	ReplaceInvalid Replacement = "invalid" // when the server rejects the update as invalid
	ReplaceAlways  Replacement = "always"
	// ReplaceImmutable is when the server rejects the update as invalid, but would create the object.
	ReplaceImmutable Replacement = "immutable"
)

// Complete lets a step do nothing about a Job that has succeeded and removed itself, or does so
// now.
func (s *Step) Complete() {
	s.Op, s.Have, s.Wait, s.Patch, s.Diff = Unchanged, nil, false, diff.Patch{}, nil
	s.Leaving, s.Recreate = nil, nil
	s.ReasonCode = ReasonCompleted
	s.Reason = CompletedText
}

// CompletedText is why a Job that does not exist is not created.
const CompletedText = "it has succeeded, and its ttlSecondsAfterFinished has removed it"

// ReasonCode is the machine-readable form of Step.Reason.
type ReasonCode string

// The reasons. Some of them name another object, Step.ReasonRef.
const (
	ReasonForeign        ReasonCode = "foreign"        // it belongs to another set
	ReasonUnadopted      ReasonCode = "unadopted"      // it is recorded, and was never adopted
	ReasonUnowned        ReasonCode = "unowned"        // it exists and belongs to no set
	ReasonAdopted        ReasonCode = "adopted"        // it is taken over from another set
	ReasonCreateOnly     ReasonCode = "frozen"         // an annotation forbids updates
	ReasonRetained       ReasonCode = "retained"       // an annotation forbids the deletion
	ReasonNamespaceInUse ReasonCode = "in use"         // it holds desired objects or the record
	ReasonUnserved       ReasonCode = "unserved"       // its kind is not served now
	ReasonDependency     ReasonCode = "needed"         // ReasonRef, which stays, needs it
	ReasonContains       ReasonCode = "ContainsOrphan" // the orphaned ReasonRef is in it
	ReasonSameObject     ReasonCode = "same"           // ReasonRef is it under another kind
	ReasonProtected      ReasonCode = "Protected"      // the dialect forbids the deletion
	ReasonOwner          ReasonCode = "owner"          // ReasonRef, which stays, is owned by it
	ReasonHeld           ReasonCode = "held"           // see Policy.Held
	ReasonNotPruned      ReasonCode = "unpruned"       // the policy forbids to prune
	ReasonExcluded       ReasonCode = "excluded"       // the policy leaves it out of the run
	ReasonStillThere     ReasonCode = "awaited"        // custom resources may need it
	ReasonCycle          ReasonCode = "Cycle"          // its need of ReasonRef closes a cycle
	ReasonFormer         ReasonCode = "former"         // it is a former version of another
	ReasonAutoscaled     ReasonCode = "scaled"         // ReasonRef sets its replicas
	ReasonLeaving        ReasonCode = "leaving"        // it is created once Step.Leaving is gone
	ReasonServerSide     ReasonCode = "merged"         // client-side apply cannot write it
	ReasonCompleted      ReasonCode = "completed"      // it has removed itself: Have is nil
)

// Step is an operation on one object. Zero Needs, After and Rank let it start at once.
type Step struct {
	Ref object.Ref `json:"ref"`
	Op  Op         `json:"op"`

	// Reason is why the object is skipped, kept, orphaned or deleted out of order, or why a field is
	// not updated. Users read it verbatim. ReasonRef is the object that is the reason, if any.
	Reason     string     `json:"reason,omitempty"`
	ReasonCode ReasonCode `json:"reasonCode,omitempty"`
	ReasonRef  object.Ref `json:"reasonRef,omitzero"`

	Source string                     `json:"source,omitempty"` // file and document of the object
	Want   *unstructured.Unstructured `json:"want,omitempty"`   // sent, or the result of an update
	Have   *unstructured.Unstructured `json:"have,omitempty"`   // live; nil if it does not exist
	Diff   diff.Diff                  `json:"diff,omitempty"`
	Patch  diff.Patch                 `json:"patch,omitzero"` // client-side update, or orphan

	// ServerSide lets the server merge Want into the object, by server-side apply. Creations and
	// updates of a plan that writes server-side have it, and those of objects that client-side apply
	// cannot write.
	ServerSide bool `json:"serverSide,omitempty"`
	// Disown removes the marks of former owners, and what no apply removes, before a server-side
	// apply.
	Disown diff.Patch `json:"disown,omitzero"`
	// Handover moves the fields of the managers of former owners to that of the plan, before all else
	// that a server-side apply needs.
	Handover diff.Patch `json:"handover,omitzero"`
	// Released are the fields that a server-side apply removes whoever owns them, since the set has
	// applied them in another way before; nil for none.
	Released *diff.FieldSet `json:"-"`
	// Contested are the fields of an update that others own.
	Contested []Contest `json:"contested,omitempty"`
	// Obstacles are live fields and list items that cannot be beside what a server-side apply sets,
	// and that it does not remove. The run takes them over before.
	Obstacles []diff.ContestedField `json:"obstacles,omitempty"`
	// TooMany are maps of which the server has refused the fields of others beside those of Want, or
	// such fields.
	TooMany []string `json:"-"`
	// Unmerged is why the object of an update could not be merged into the live one; the update fails.
	Unmerged error `json:"-"`
	// Force takes over the fields of others, as Plan.Force does.
	Force bool `json:"force,omitempty"`

	// FullReplace lets an update send all of Want, on condition that the object is still Have.
	FullReplace bool `json:"fullReplace,omitempty"`
	// Replace is when an update deletes Have, waits until it is gone, and creates Recreate.
	Replace Replacement `json:"replace,omitempty"`
	// Recreate is the object that is created in place of Have; nil means Want.
	Recreate *unstructured.Unstructured `json:"recreate,omitempty"`
	// Releases marks an update that releases ownership; NotFound counts as success.
	Releases bool `json:"releases,omitempty"`

	// Leaving is the live object that is in the way of a Create step: it is being deleted, or it goes
	// with its namespace or its definition. The step waits until it is gone. Nil for other steps.
	Leaving *unstructured.Unstructured `json:"leaving,omitempty"`

	// Draft is set for an object that takes values from others: it is the object without them, and
	// is completed when the step runs. Until then Op, Want, Diff and Patch are a preview, computed
	// from the planned sources. Unknown is why no preview was possible; Want is the draft then.
	Draft         *unstructured.Unstructured `json:"draft,omitempty"`
	Substitutions []mutation.Substitution    `json:"substitutions,omitempty"`
	Unknown       string                     `json:"unknown,omitempty"`

	// Sensitive marks an object that takes values from a Secret or from another sensitive object,
	// now or when it was last written. Its content is never printed.
	Sensitive bool `json:"sensitive,omitempty"`

	Needs []int `json:"needs,omitempty"` // must succeed first, else this step is skipped; ascending
	After []int `json:"after,omitempty"` // must settle first, whatever their outcome; ascending
	Rank  int   `json:"rank"`            // lower ranks that can be written go first

	// BeforeRecord lets the step run before the record is saved, because it holds the record.
	BeforeRecord bool `json:"beforeRecord,omitempty"`
	// Wait lets the step settle when the object is ready or gone, else it settles when written.
	Wait bool `json:"wait,omitempty"`
	Timeouts
	// Returns marks the deletion of an object that its controller may create once more: what the
	// controller creates is deleted, too, and the step settles when the object has stayed away.
	Returns bool `json:"returns,omitempty"`

	// Reverts marks an update that puts back some fields of a live object and changes nothing else. It
	// returns the same update of a newer state of the object, if others have changed that since the
	// plan was made. The manager of the plan stays the applier of the fields if it applied the object.
	Reverts func(live *unstructured.Unstructured) (*Step, error) `json:"-"`
	// Described is what the set applies to an object whose fields Reverts puts back: the manager does
	// not become the applier of others, such as defaults. If it is nil, it does.
	Described *unstructured.Unstructured `json:"-"`

	// Desired is the desired object, with its mark, of an apply with a Keeper: what the object keeps
	// of it may not be all of it. Nil for other steps.
	Desired *unstructured.Unstructured `json:"-"`

	// Permit returns an error if the step must not be decided again for a newer state of its object.
	// Nil permits all.
	Permit func(live *unstructured.Unstructured) error `json:"-"`

	// Tag is a value of the dialect that made the plan. Every event about the step carries it.
	Tag any `json:"-"`
}

// HoldsSecret reports whether the object is a Secret or holds values of one.
func (s *Step) HoldsSecret() bool { return s.Sensitive || s.Ref.GroupKind() == secretKind }

// WaitLimit returns the limit that the step itself has of the wait for its operation; 0 is that of
// the run.
func (s *Step) WaitLimit() time.Duration {
	if s.Op.AwaitsDeletion() {
		return s.Gone()
	}
	return s.Timeout
}

// BeingDeleted reports whether the object is to be applied while its deletion is under way, and
// without waiting for the end of that.
func (s *Step) BeingDeleted() bool {
	return s.Op.Applies() && s.Op != Skip && s.Have != nil && s.Have.GetDeletionTimestamp() != nil
}

// AppliesServerSide reports whether the step sends a server-side apply, or creates an object for
// later ones, if it does an operation: a run may find another one than the plan.
func (s *Step) AppliesServerSide(op Op) bool {
	return s.ServerSide && (op == Create || op == Update && !s.FullReplace && len(s.Patch.Data) == 0)
}

// AlreadyDeleting reports whether the object is to be deleted and its deletion is already under
// way.
func (s *Step) AlreadyDeleting() bool {
	return s.Op == Delete && s.Have != nil && s.Have.GetDeletionTimestamp() != nil
}

// Plan is a run as a value: steps in execution order, each of which needs only earlier ones, and
// how objects are written and deleted. Its JSON form can be read back without loss.
type Plan struct {
	Steps    []Step       `json:"steps"`
	Recorded []object.Ref `json:"recorded,omitempty"` // the record at planning time, in order
	// Forgotten are recorded objects that do not exist because their kind does not. They have no
	// step and leave the record.
	Forgotten []object.Ref `json:"forgotten,omitempty"`

	// Unadopted are recorded objects that the set may not have written, and that do not exist or lack
	// its mark. They are no members unless the run writes them.
	Unadopted []object.Ref `json:"unadopted,omitempty"`

	// Unproven are recorded objects that were not ready at the end of the last run, as far as that is
	// recorded. What the status of an unchanged one says may be true for a moment only.
	Unproven []object.Ref `json:"unproven,omitempty"`

	// Namespaces are those outside the plan that were looked for, and whether they exist.
	Namespaces map[string]bool `json:"-"`

	ServerSide  bool   `json:"serverSide,omitempty"`  // objects are written by server-side apply
	Manager     string `json:"manager,omitempty"`     // field manager of every write
	Force       bool   `json:"force,omitempty"`       // take over fields (server-side apply only)
	LastApplied string `json:"lastApplied,omitempty"` // annotation with the applied configuration
	// Conflicts is what happens with fields that others own.
	Conflicts Conflicts `json:"conflicts,omitempty"`
	// Ignore is that of Policy.
	Ignore diff.IgnoreRules `json:"ignore,omitempty"`

	Owner Owner `json:"owner,omitzero"`
	Annotations
	Propagation metav1.DeletionPropagation `json:"propagation,omitempty"`
	AwaitPods   bool                       `json:"awaitPods,omitempty"` // as in Policy

	// OnlyClientSide is that of Policy.
	OnlyClientSide bool `json:"onlyClientSide,omitempty"`

	// Preconditions makes server-side apply conditional: an object is created only if it does not
	// exist, and applied only if it has not changed since it was read. The manager also takes over
	// the fields that it owns by updates, so that it can remove them.
	Preconditions bool `json:"preconditions,omitempty"`

	// Bookkeeping are the annotations in which a tool keeps what it applied, besides LastApplied.
	// Differences do not show them.
	Bookkeeping []string `json:"bookkeeping,omitempty"`

	Decider Decider `json:"-"` // nil for plans that their own fields decide
	Keeper  Keeper  `json:"-"` // that of Policy
	Fit     Fit     `json:"-"` // that of Policy

	// LastAppliedManager is the manager that keeps LastApplied on objects that migrate to server-side
	// apply; without one the annotation is removed.
	LastAppliedManager string `json:"lastAppliedManager,omitempty"`

	// RecreateHint is what users may do about fields that cannot change, with KIND for the kind of the
	// object. Without it the answers of the server to updates are not explained.
	RecreateHint string `json:"recreateHint,omitempty"`

	// RecreateDeleted is that of Policy.
	RecreateDeleted bool `json:"recreateDeleted,omitempty"`

	// Held are the kinds of which no object is deleted to be recreated.
	Held []schema.GroupKind `json:"held,omitempty"`

	// Unplanned are live objects of the set that stay and have no step.
	Unplanned []*unstructured.Unstructured `json:"-"`

	// EncodeStringData is that of Policy.
	EncodeStringData bool `json:"encodeStringData,omitempty"`

	// Destroys is set if nothing is desired: the record is deleted once it is empty.
	Destroys bool `json:"destroys,omitempty"`
}

// Decider decides for a dialect what a plan cannot say before its steps run. Its methods are called
// by several goroutines at once and must not change their arguments.
type Decider interface {
	// Replan returns the step that replaces one whose object is not as it was when the plan was made.
	// Live is the object now, nil if it is gone, and refused the answer to the write. An Unchanged
	// step succeeds without a write.
	Replan(step *Step, live *unstructured.Unstructured, refused error) (*Step, error)

	// Exclude returns the step of a server-side apply with what is in its way because of TooMany.
	Exclude(step *Step) (*Step, error)

	// Recreate returns a step that applies, with Recreate set to the object that is created in place
	// of its own: the run has deleted that.
	Recreate(step *Step) (*Step, error)

	// Amend returns the object for a second write, from the object as the server stored it; nil if
	// none is needed. It is called again, for up to a minute, if others change the object in between.
	Amend(step *Step, stored *unstructured.Unstructured) (*unstructured.Unstructured, error)
}

// Creations returns the number of objects that are created.
func (p *Plan) Creations() int {
	creations := 0
	for i := range p.Steps {
		if p.Steps[i].Op == Create {
			creations++
		}
	}
	return creations
}

// Refs returns the objects of the steps, in order.
func (p *Plan) Refs() []object.Ref {
	refs := make([]object.Ref, 0, len(p.Steps))
	for _, step := range p.Steps {
		if step.Op.IsObject() {
			refs = append(refs, step.Ref)
		}
	}
	return refs
}

// String returns the form that tests compare: a line for each step with its edges, then its reason
// and its differences, indented.
func (p *Plan) String() string {
	var b strings.Builder
	for i, step := range p.Steps {
		fmt.Fprintf(&b, "%d %s", i, step.Op)
		if step.Op.IsObject() {
			fmt.Fprintf(&b, " %s rank %d", step.Ref, step.Rank)
		}
		writeEdges(&b, " needs", step.Needs)
		writeEdges(&b, " after", step.After)
		if step.BeforeRecord {
			b.WriteString(" first")
		}
		if step.Returns {
			b.WriteString(" returns")
		}
		if step.FullReplace {
			b.WriteString(" whole")
		}
		if step.Replace != "" {
			fmt.Fprintf(&b, " replace %s", step.Replace)
		}
		if limit := step.WaitLimit(); limit > 0 {
			fmt.Fprintf(&b, " timeout %s", limit)
		}
		b.WriteString("\n")
		if step.Reason != "" {
			fmt.Fprintf(&b, "    %s\n", step.Reason)
		}
		if step.Sensitive {
			b.WriteString("    sensitive\n")
		}
		for _, s := range step.Substitutions {
			fmt.Fprintf(&b, "    %s\n", s)
		}
		if step.Unknown != "" {
			fmt.Fprintf(&b, "    unknown: %s\n", step.Unknown)
		}
		for line := range strings.Lines(step.Diff.String()) {
			fmt.Fprintf(&b, "    %s\n", strings.TrimSuffix(line, "\n"))
		}
	}
	for _, ref := range p.Forgotten {
		fmt.Fprintf(&b, "forgotten %s\n", ref)
	}
	return b.String()
}

func writeEdges(b *strings.Builder, label string, steps []int) {
	if len(steps) > 0 {
		fmt.Fprintf(b, "%s %s", label, strings.Trim(fmt.Sprint(steps), "[]"))
	}
}
