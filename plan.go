package muster

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/muster-deploy/muster/internal/diff"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/sets"
	"github.com/muster-deploy/muster/internal/sets/operation"
	"github.com/muster-deploy/muster/internal/sets/policy"
)

// DefaultManager is the field manager of what is written unless PlanOptions name another.
const DefaultManager = "muster"

// PlanOptions shape a plan. The zero value is useful.
type PlanOptions struct {
	ServerSide   bool   // write by server-side apply
	FieldManager string // empty means DefaultManager; an app is always written as kapp
	// Conflicts is what happens with fields that others own and to which an update gives another
	// value: fail, take-from-humans, yield-to-controllers or take-all. Empty overwrites them.
	Conflicts string
	// Ignore are fields that the set leaves to others once their object exists: an update keeps their
	// live values. A creation sends them as described.
	Ignore []IgnoreRule
	// Adopt are objects that may be taken over although others deployed them. Objects that exist and
	// belong to nobody are not touched either unless they are among them.
	Adopt []Object
	// Recreate are kinds, as KIND or KIND.GROUP, whose objects may be deleted and created again if
	// a field that cannot be changed differs; * is all kinds whose objects hold no data.
	Recreate []string
	NoPrune  bool // objects that left the set stay in the cluster and in the record
	// MaxPrune is the largest number of objects that may be pruned, or a percentage of those that
	// the record has; empty is any number.
	MaxPrune string
	// AllowDelete are kinds of objects that hold other objects or data, as KIND or KIND.GROUP, or *
	// for all, and may be deleted nevertheless: Namespace, CustomResourceDefinition,
	// PersistentVolumeClaim and PersistentVolume.
	AllowDelete []string
	AllowEmpty  bool // a set without objects may prune all that it has deployed
	// Validate is what is done about fields that the server does not know, values of wrong types, and
	// namespaces that neither exist nor are in the set. Empty is ValidateStrict: the error is a
	// *ValidationError, and nothing is written. ValidateWarn passes them to Source.Notice.
	Validate string
}

// options returns the options for the packages of the program.
func (o PlanOptions) options(now time.Time) (policy.Options, error) {
	conflicts := plan.Conflicts(o.Conflicts)
	switch {
	case conflicts == "":
		conflicts = plan.NoteConflicts
	case !slices.Contains(plan.ConflictModes, conflicts):
		return policy.Options{}, fmt.Errorf("invalid conflicts %q: use one of %q", conflicts,
			plan.ConflictModes)
	}
	if o.FieldManager == "" {
		o.FieldManager = DefaultManager
	}
	if _, err := o.validation(); err != nil {
		return policy.Options{}, err
	}
	ignore, err := ignoreRules(o.Ignore)
	if err != nil {
		return policy.Options{}, err
	}
	return policy.Options{
		ServerSide: o.ServerSide, FieldManager: o.FieldManager, Conflicts: conflicts,
		Ignore: ignore, InventoryPolicy: "strict", Adopted: refsOf(o.Adopt),
		Ordering: "graph", Recreate: o.Recreate, Recreation: true, LeaveReplicas: true,
		NoPrune: o.NoPrune, AllowEmpty: o.AllowEmpty, AppAnnotations: true,
		Hold: true, AllowDelete: o.AllowDelete, Now: now,
	}, nil
}

// check returns an error if a plan prunes more than the options allow.
func (o PlanOptions) check(op *sets.Operation) error {
	if err := op.CheckEmpty(); err != nil {
		return err
	}
	if o.MaxPrune == "" {
		return nil
	}
	limit := plan.PruneLimit{}
	if err := limit.Set(o.MaxPrune); err != nil {
		return fmt.Errorf("invalid limit of what is pruned: %w", err)
	}
	if err := limit.Check(op.Plan.Pruned(), len(op.Plan.Recorded)); err != nil {
		return &PruneLimitError{Pruned: objectsOf(removed(op.Plan)), Err: err}
	}
	return nil
}

// removed returns the objects that a plan deletes.
func removed(p *plan.Plan) (refs []object.Ref) {
	for i := range p.Steps {
		if p.Steps[i].Op == plan.Delete {
			refs = append(refs, p.Steps[i].Ref)
		}
	}
	return refs
}

// PruneLimitError reports a plan that would prune more objects than PlanOptions.MaxPrune.
type PruneLimitError struct {
	Pruned []Object
	Err    error
}

func (e *PruneLimitError) Error() string { return e.Err.Error() }

// Unwrap returns what the limit says.
func (e *PruneLimitError) Unwrap() error { return e.Err }

// Action is what a plan does with an object.
type Action string

// The actions.
const (
	Create    Action = "create"
	Update    Action = "update"
	Delete    Action = "delete"
	Release   Action = "release" // it stays in the cluster, without its marks, and leaves the record
	Unchanged Action = "unchanged"
	Leave     Action = "leave" // neither written nor deleted: the reason says why
)

// actionOf returns the action of an operation.
func actionOf(op plan.Op) Action {
	switch op {
	case plan.Create:
		return Create
	case plan.Update:
		return Update
	case plan.Delete:
		return Delete
	case plan.Orphan:
		return Release
	case plan.Unchanged, plan.Observe, plan.AwaitCreated, plan.AwaitDeleted:
		return Unchanged
	default:
		return Leave
	}
}

// Step is what a plan does with one object.
type Step struct {
	Object Object
	Action Action
	Reason string   // why it is left, or deleted out of order
	Source string   // file and document of the object; empty if it is to be deleted
	Fields []string // of an update, the paths of the fields that change, without their values
	// Diff are the changes of an update, a line each. Of objects that hold values of Secrets it has
	// only the paths.
	Diff []string
}

// String returns the step in one line.
func (s Step) String() string {
	text := fmt.Sprintf("%s %s", s.Action, s.Object)
	if len(s.Fields) > 0 {
		text += ": " + strings.Join(s.Fields, ", ")
	}
	if s.Reason != "" {
		text += " (" + s.Reason + ")"
	}
	return text
}

// Plan is what an apply or a destroy would do.
type Plan struct {
	// Digest identifies what the plan changes. It is the same as long as a new plan would change the
	// same, and does not hold values of Secrets.
	Digest string
	Steps  []Step // in the order of execution
}

// newPlan returns the plan of an operation.
func newPlan(ctx context.Context, op *sets.Operation) (*Plan, error) {
	p := &Plan{}
	if !op.Plan.Destroys {
		saved, err := op.Save(ctx, "")
		if err != nil {
			return nil, err
		}
		if p.Digest, err = saved.Digest(); err != nil {
			return nil, err
		}
	}
	for i := range op.Plan.Steps {
		if step := &op.Plan.Steps[i]; step.Op.IsObject() {
			p.Steps = append(p.Steps, Step{
				Object: Object(step.Ref), Action: actionOf(step.Op), Reason: step.Reason,
				Source: step.Source,
			}.withChanges(op.Plan, step))
		}
	}
	return p, nil
}

// withChanges returns the step with what changes of an object that is updated. Values of Secrets
// are left out.
func (s Step) withChanges(p *plan.Plan, of *plan.Step) Step {
	if of.Op != plan.Update || of.Have == nil || of.Want == nil {
		return s
	}
	changes := diff.Between(of.Have, of.Want, diff.Options{
		IgnoreAnnotations: append([]string{p.LastApplied}, p.Bookkeeping...),
	})
	for _, change := range changes {
		s.Fields = append(s.Fields, change.Path)
		if line := string(change.Kind) + " " + change.Path; of.HoldsSecret() {
			s.Diff = append(s.Diff, line)
		} else {
			s.Diff = append(s.Diff, change.String())
		}
	}
	return s
}

// Text returns the plan for people: a line for each object that changes or is left, with the
// changes of its fields below it, and the summary. It has no values of Secrets.
func (p *Plan) Text() string {
	var text strings.Builder
	for _, step := range p.Steps {
		if step.Action == Unchanged {
			continue
		}
		fmt.Fprintf(&text, "%s %s", step.Action, step.Object)
		if step.Reason != "" {
			fmt.Fprintf(&text, " (%s)", step.Reason)
		}
		text.WriteString("\n")
		for _, line := range step.Diff {
			fmt.Fprintf(&text, "    %s\n", line)
		}
	}
	return text.String() + p.Summary() + "\n"
}

// Count returns the number of steps with one of some actions.
func (p *Plan) Count(actions ...Action) (n int) {
	for _, step := range p.Steps {
		if slices.Contains(actions, step.Action) {
			n++
		}
	}
	return n
}

// Changes reports whether the plan changes an object.
func (p *Plan) Changes() bool { return p.Count(Create, Update, Delete, Release) > 0 }

// Summary returns what the plan does in one line, as in: 2 to create, 1 to update, 1 to prune.
func (p *Plan) Summary() string {
	var parts []string
	for _, part := range []struct {
		action Action
		text   string
	}{{Create, "to create"}, {Update, "to update"}, {Delete, "to prune"}, {Release, "to release"}} {
		if n := p.Count(part.action); n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, part.text))
		}
	}
	if len(parts) == 0 {
		return "nothing to change"
	}
	return strings.Join(parts, ", ")
}

// Plan returns what an apply of the set would do. It changes nothing, and takes no lock.
func (s *Set) Plan(ctx context.Context, o PlanOptions) (*Plan, error) {
	_, p, err := s.plan(ctx, o, policy.Comparison{})
	return p, err
}

// plan returns the operation that applies the set, and its plan.
func (s *Set) plan(
	ctx context.Context, o PlanOptions, c policy.Comparison,
) (*sets.Operation, *Plan, error) {
	op, err := s.prepareApply(ctx, ApplyOptions{PlanOptions: o}, operation.SkipDefinition, c)
	if err != nil {
		return nil, nil, err
	}
	if err := op.MakePlan(ctx); err != nil {
		return nil, nil, err
	}
	if err := o.check(op); err != nil {
		return nil, nil, err
	}
	if err := s.validate(ctx, op, o, false); err != nil {
		return nil, nil, err
	}
	p, err := newPlan(ctx, op)
	return op, p, err
}

// prepareApply returns the operation that applies the set.
func (s *Set) prepareApply(
	ctx context.Context, o ApplyOptions, definition operation.DefinitionPolicy,
	c policy.Comparison,
) (*sets.Operation, error) {
	options, err := o.options(time.Now())
	if err != nil {
		return nil, err
	}
	options.Comparison = c
	return s.set.PrepareApply(ctx, s.cluster.client, operation.ApplyOptions{
		Options: options, Definition: definition, Notice: s.request.Notice,
	})
}
