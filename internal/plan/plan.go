// Package plan decides what to do with a set of objects and in what order.
//
// In go the objects that are wanted, the objects as they are, what the record lists, and policy; out comes a Plan: one
// step per object, in execution order, with the steps that each has to wait for. Nothing here reads a clock, a file or a
// server, and nothing knows the annotations of a particular tool: a dialect hands those in as policy.
package plan

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/diff"
	"github.com/muster-deploy/muster/internal/mutation"
	"github.com/muster-deploy/muster/internal/object"
)

// Op is what a step does.
type Op string

// The operations. Barrier and Guard concern no object: they join many steps into one, so that others can come after all
// of them. A Barrier settles when those before it have; a Guard moreover fails when one of them failed, or could not
// start because of another one.
const (
	Create       Op = "create"
	Update       Op = "update"
	Unchanged    Op = "unchanged"
	Delete       Op = "delete"
	Orphan       Op = "orphan" // leave the object in the cluster and forget it
	Keep         Op = "keep"   // leave the object in the cluster and in the record
	Skip         Op = "skip"   // do not apply the object
	AwaitCreated Op = "appear" // somebody else creates the object: wait until it is there
	AwaitDeleted Op = "vanish" // somebody else deletes the object: wait until it is gone
	Barrier      Op = "barrier"
	Guard        Op = "guard"
)

// IsObject reports whether the operation concerns an object, and does not only join steps.
func (o Op) IsObject() bool { return o != Barrier && o != Guard }

// Applies reports whether the operation belongs to bringing an object to its wanted state.
func (o Op) Applies() bool {
	return o == Create || o == Update || o == Unchanged || o == Skip
}

// Removes reports whether the operation concerns an object that is no longer wanted.
func (o Op) Removes() bool {
	return o == Delete || o == Orphan || o == Keep
}

// Writes reports whether the operation sends a change to the cluster.
func (o Op) Writes() bool {
	return o == Create || o == Update || o == Delete || o == Orphan
}

// AwaitsDeletion reports whether the operation is over when the object is gone.
func (o Op) AwaitsDeletion() bool { return o == Delete || o == AwaitDeleted }

// External reports whether the operation concerns an object that is not the set's own, which is waited for alone.
func (o Op) External() bool { return o == AwaitCreated || o == AwaitDeleted }

// Replacement says when an object is deleted and created anew instead of being updated.
type Replacement string

// The replacements. The zero value is never.
const (
	ReplaceInvalid Replacement = "invalid" // when the server refuses the update as invalid
	ReplaceAlways  Replacement = "always"
)

// ReasonCode is the machine-readable form of Step.Reason.
type ReasonCode string

// The reasons. Some of them name another object, Step.ReasonRef.
const (
	ReasonForeign        ReasonCode = "foreign"  // it belongs to another set
	ReasonUnowned        ReasonCode = "unowned"  // it exists and belongs to no set
	ReasonCreateOnly     ReasonCode = "frozen"   // it exists, and an annotation of the wanted object wants no changes
	ReasonRetained       ReasonCode = "retained" // an annotation of the live object wants no deletion
	ReasonNamespaceInUse ReasonCode = "in use"   // it is a namespace in which wanted objects or the record live
	ReasonUnserved       ReasonCode = "unserved" // its kind is not served now
	ReasonDependency     ReasonCode = "needed"   // By, which is wanted, depends on it
	ReasonContains       ReasonCode = "housing"  // By, which is left in the cluster, cannot be without it
	ReasonSameObject     ReasonCode = "same"     // By, which is wanted, is the same object under another kind
	ReasonCycle          ReasonCode = "circular" // it is deleted without regard to its dependency on By, which depends on it in turn
)

// Step is what happens to one object. Its zero Needs, After and Rank mean that it may start at once.
type Step struct {
	Ref        object.Ref                 `json:"ref"`
	Op         Op                         `json:"op"`
	Reason     string                     `json:"reason,omitempty"` // why skipped, kept, orphaned or deleted out of order; shown to the user verbatim
	ReasonCode ReasonCode                 `json:"why,omitempty"`    // the same as data
	ReasonRef  object.Ref                 `json:"by,omitzero"`      // the object that is the reason
	Source     string                     `json:"source,omitempty"` // the file and document that describe the object
	Want       *unstructured.Unstructured `json:"want,omitempty"`   // as it will be sent or, for an update, as it will become
	Have       *unstructured.Unstructured `json:"have,omitempty"`   // as it was read; nil when absent
	Diff       diff.Diff                  `json:"diff,omitempty"`
	Patch      diff.Patch                 `json:"patch,omitzero"` // what is sent for an update or an orphan; zero with server-side apply

	FullReplace bool        `json:"whole,omitempty"`   // an update sends all of Want in place of Have, if nobody has changed that meanwhile
	Replace     Replacement `json:"replace,omitempty"` // when an update deletes Have, waits until it is gone, and creates Anew

	Recreate *unstructured.Unstructured `json:"anew,omitempty"` // what is created in place of Have; nil is Want

	Releases bool `json:"frees,omitempty"` // an update lets go of the object, so that it is well if that is gone

	// An object that takes values from others is completed when the step runs: Draft is the object without them. Op, Want,
	// Diff and Patch then are what is foreseen, from the objects as they are planned; Unknown says why nothing can be
	// foreseen, with Want as the draft.
	Draft         *unstructured.Unstructured `json:"draft,omitempty"`
	Substitutions []mutation.Substitution    `json:"substitutions,omitempty"`
	Unknown       string                     `json:"unknown,omitempty"`

	// Sensitive marks an object that takes values from a Secret, from one that does, or did so when it was written last: it
	// holds what would tell the content of the Secret, so that nothing of its own content is shown.
	Sensitive bool `json:"discreet,omitempty"`

	Needs []int `json:"needs,omitempty"` // steps that must succeed first, else this one is skipped; ascending
	After []int `json:"after,omitempty"` // steps that must have settled first, whatever their outcome; ascending
	Rank  int   `json:"rank"`            // held back while a step of a lower rank could be written or is being written

	BeforeRecord bool `json:"first,omitempty"` // done before the record is saved, because the record will live inside
	Wait         bool `json:"wait,omitempty"`  // settles when the object is ready or, for a delete, gone; else once it is written

	Timeout time.Duration `json:"timeout,omitempty"` // how long the object is waited for, in nanoseconds; 0 as long as the run waits
}

// HoldsSecret reports whether the object is a Secret or holds values of one.
func (s *Step) HoldsSecret() bool { return s.Sensitive || s.Ref.GroupKind() == secretKind }

// BeingDeleted reports whether the object is to be applied although somebody is deleting it.
func (s *Step) BeingDeleted() bool {
	return s.Op.Applies() && s.Op != Skip && s.Have != nil && s.Have.GetDeletionTimestamp() != nil
}

// AlreadyDeleting reports whether the object is to be deleted and somebody has seen to that already.
func (s *Step) AlreadyDeleting() bool {
	return s.Op == Delete && s.Have != nil && s.Have.GetDeletionTimestamp() != nil
}

// Plan is the whole of a run, as a value: steps in execution order, each needing only earlier ones, and how objects are
// written and deleted. It goes to JSON and back unchanged.
type Plan struct {
	Steps    []Step       `json:"steps"`
	Recorded []object.Ref `json:"recorded,omitempty"` // what the record listed when the plan was made, in its order

	ServerSide  bool                       `json:"serverSide,omitempty"`  // objects are written by server-side apply
	Manager     string                     `json:"manager,omitempty"`     // field manager of every write
	Force       bool                       `json:"force,omitempty"`       // take over fields of other managers (server-side only)
	LastApplied string                     `json:"lastApplied,omitempty"` // annotation that keeps the applied configuration
	Owner       Owner                      `json:"owner,omitzero"`        // which objects may be written
	CreateOnly  []Annotation               `json:"createOnly,omitempty"`  // what marks objects that are left as they are once they exist
	Propagation metav1.DeletionPropagation `json:"propagation,omitempty"`

	// Preconditions is for server-side apply: an object is created only if it is not there, and applied only if nobody has changed it since
	// it was read; what the manager owns by updates is its own to take away from then on.
	Preconditions bool `json:"exact,omitempty"`

	LastAppliedManager string `json:"keeper,omitempty"`   // manager that keeps that annotation on objects which go over to server-side apply
	Destroys           bool   `json:"destroys,omitempty"` // nothing is wanted: the record goes too, once nothing is left in it
}

// Refs gives the objects of the steps, in order.
func (p *Plan) Refs() []object.Ref {
	refs := make([]object.Ref, 0, len(p.Steps))
	for _, step := range p.Steps {
		if step.Op.IsObject() {
			refs = append(refs, step.Ref)
		}
	}
	return refs
}

// String is the form that tests compare: a line per step with its edges, then its reason and its differences, indented.
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
		if step.FullReplace {
			b.WriteString(" whole")
		}
		if step.Replace != "" {
			fmt.Fprintf(&b, " replace %s", step.Replace)
		}
		if step.Timeout > 0 {
			fmt.Fprintf(&b, " timeout %s", step.Timeout)
		}
		b.WriteString("\n")
		if step.Reason != "" {
			fmt.Fprintf(&b, "    %s\n", step.Reason)
		}
		if step.Sensitive {
			b.WriteString("    discreet\n")
		}
		for _, s := range step.Substitutions {
			fmt.Fprintf(&b, "    %s\n", s)
		}
		if step.Unknown != "" {
			fmt.Fprintf(&b, "    not foreseen: %s\n", step.Unknown)
		}
		for line := range strings.Lines(step.Diff.String()) {
			fmt.Fprintf(&b, "    %s\n", strings.TrimSuffix(line, "\n"))
		}
	}
	return b.String()
}

func writeEdges(b *strings.Builder, label string, steps []int) {
	if len(steps) > 0 {
		fmt.Fprintf(b, "%s %s", label, strings.Trim(fmt.Sprint(steps), "[]"))
	}
}
