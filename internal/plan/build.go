package plan

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-deploy/muster/internal/mutation"
	"github.com/muster-deploy/muster/internal/object"
)

// Build returns the plan that brings the live objects to the desired state and removes recorded
// objects that are no longer desired. Applying, destroying and dry runs differ only in their input.
//
// The error joins an *ObjectError for every invalid object, in the order of the objects, and a
// *CycleError if desired objects depend on each other in a cycle.
func Build(in Input) (*Plan, error) {
	b := &builder{
		in: in, index: make(map[object.Ref]int, len(in.Desired)+len(in.Recorded)),
		autoscalers: in.autoscalersByTarget(),
	}
	if in.Policy.RecreateDeleted {
		b.leaving = Leaving(in.Live)
	}
	b.addDesired()
	b.addRemoved()
	b.connect()
	b.keepOwners()
	b.markSensitive()
	b.rejectCycles()
	b.breakCycles()
	if err := errors.Join(b.sortedErrors()...); err != nil {
		return nil, err
	}
	b.clearNeedsBeforeRecord()
	b.addSoftEdges()
	p := &Plan{
		Steps:              b.orderedSteps(),
		Recorded:           in.Recorded,
		Forgotten:          b.forgotten,
		Unadopted:          b.unadopted(),
		Unproven:           in.Unproven,
		ServerSide:         in.Policy.ServerSide,
		Manager:            in.Policy.Manager,
		Force:              in.Policy.Force,
		Propagation:        cmp.Or(in.Policy.Propagation, metav1.DeletePropagationBackground),
		AwaitPods:          in.Policy.AwaitPods,
		LastApplied:        in.Policy.LastApplied,
		LastAppliedManager: in.Policy.LastAppliedManager,
		Keeper:             in.Policy.Keeper,
		Fit:                in.Policy.Fit,
		Bookkeeping:        in.Policy.Bookkeeping,
		Preconditions:      in.Policy.ServerSide && in.Policy.Preconditions,
		Owner:              in.Policy.Owner,
		Annotations:        in.Policy.Annotations,
		Destroys:           in.Policy.Destroy,
		RecreateHint:       in.Policy.RecreateHint,
		Conflicts:          in.Policy.Conflicts,
		Ignore:             in.Policy.Ignore,
		EncodeStringData:   in.Policy.EncodeStringData,
		RecreateDeleted:    in.Policy.RecreateDeleted,
		Held:               in.Policy.Held,
		OnlyClientSide:     in.Policy.OnlyClientSide,
	}
	if err := p.setRecreated(); err != nil {
		return nil, err
	}
	p.previewAll()
	return p, nil
}

// node is a step that is being planned. Needs holds the nodes that must succeed first, after those
// that must have settled, unless the order of rounds contradicts; dependsOn holds the nodes it
// depends on, whatever happens to either.
type node struct {
	Step
	needs         []int
	after         []int
	dependsOn     []int
	substitutions []mutation.Substitution
}

type builder struct {
	in    Input
	nodes []node
	index map[object.Ref]int // into nodes
	errs  []error
	lower map[object.Ref]int // the first nodes by their kinds in lower case, once they are needed

	autoscalers map[object.Ref]*unstructured.Unstructured // by what they scale
	forgotten   []object.Ref                              // of kinds that do not exist
	leaving     func(object.Ref) bool                     // nil without Policy.RecreateDeleted
}

func (b *builder) add(n node) {
	b.index[n.Ref] = len(b.nodes)
	b.nodes = append(b.nodes, n)
}

// addDesired adds a step for every desired object.
func (b *builder) addDesired() {
	for _, d := range b.in.Desired {
		step := Step{
			Ref:    object.RefOf(d.Object),
			Source: d.Source,
			Have:   b.in.Live[object.RefOf(d.Object)],
		}
		if _, ok := b.index[step.Ref]; ok {
			b.addError(step, errors.New("it is described more than once"))
			continue
		}
		takes, err := b.in.Policy.substitutions(d.Object)
		b.addError(step, err)
		b.addError(step, b.decideDesired(&step, d.Object, len(takes) > 0))
		step.BeforeRecord = step.Op == Create && step.Ref == b.in.Policy.RecordNamespace
		if step.BeforeRecord && len(takes) > 0 {
			b.addError(step, errors.New("it cannot take values from others: "+
				"it is created before all of them, to hold the record"))
		}
		b.add(node{Step: step, substitutions: takes})
	}
}

// clearNeedsBeforeRecord clears the needs of the step that runs before the record is saved. It runs
// after the search for cycles, which follows these needs as well.
func (b *builder) clearNeedsBeforeRecord() {
	for i := range b.nodes {
		if b.nodes[i].BeforeRecord {
			b.nodes[i].needs = nil
		}
	}
}

// errDeployed is the error of an external object that belongs to the set.
var errDeployed = errors.New("others are to create it, but the set has deployed it and would " +
	"delete it: first let it leave the set, by an apply without it that leaves it in the cluster")

// decideDesired decides whether the object is created, updated, unchanged, skipped or awaited. An
// object that takes values from others only gets a draft.
func (b *builder) decideDesired(step *Step, obj *unstructured.Unstructured, drafted bool) error {
	policy := b.in.Policy
	if reason := policy.excluded(obj, false); reason != "" {
		step.Op, step.Want, step.ReasonCode, step.Reason = Skip, obj, ReasonExcluded, reason
		return nil
	}
	external := policy.external(obj)
	if !external && b.leaves(step, obj) {
		step.SetLeaving()
	}
	if !external && step.skipIfForbidden(obj, policy.Owner, policy.Annotations) {
		return nil
	}
	waiting, err := policy.waiting(obj)
	if err != nil {
		return err
	}
	step.Wait, step.Timeouts = !waiting.Skip, waiting.Timeouts
	if external {
		if step.Have != nil && policy.Owner.Marks() && policy.Owner.Owns(step.Have) {
			return errDeployed
		}
		step.Op, step.Want = AwaitCreated, obj
		return nil
	}
	if step.Have != nil && policy.Replacement != nil {
		if step.Replace, err = policy.Replacement(obj); err != nil {
			return err
		}
	}
	if by := b.autoscalers[step.Ref]; by != nil && b.in.changesReplicas(obj, step.Have) {
		step.leaveReplicas(obj, by)
	}
	want := policy.Owner.marked(obj)
	if drafted {
		step.Draft, step.Want, step.ServerSide = want, want, policy.ServerSide
		step.Op = Create
		if step.Have != nil {
			step.Op = Update
		}
		return nil
	}
	err = policy.writeMode().decide(step, want)
	if err == nil && step.Op == Unchanged && b.in.Unwritten.Has(step.Ref) {
		err = policy.writeMode().completeWrite(step)
	}
	return err
}

// skipIfForbidden skips a step whose object exists and may not be written, or is only ever created.
func (s *Step) skipIfForbidden(
	want *unstructured.Unstructured, owner Owner, marks Annotations,
) bool {
	why, reason := owner.refusal(s.Have, want, owner.AdoptHint, owner.ForeignHint)
	if mark, ok := findAnnotation(want, marks.CreateOnly); ok && why == "" && s.Have != nil {
		why, reason = ReasonCreateOnly, fmt.Sprintf("annotation prevents apply (%q: %q)", mark.Key,
			mark.Value)
	}
	if why != "" {
		s.Op, s.Want, s.ReasonCode, s.Reason = Skip, want, why, reason
	}
	return why != ""
}

// addRemoved adds a step for every recorded object that is no longer desired and still exists.
func (b *builder) addRemoved() {
	used, applied := b.usedNamespaces(), b.desiredByUID()
	for _, ref := range b.in.Recorded {
		if _, ok := b.index[ref]; ok {
			continue
		}
		live, hidden := b.in.Live[ref], b.in.Unserved.Has(ref)
		if hidden && b.in.NoKind.Has(ref) {
			b.forgotten = append(b.forgotten, ref)
			continue
		}
		if live == nil && !hidden {
			continue
		}
		n := node{Step: Step{Ref: ref, Have: live}}
		if i, ok := applied[uidOf(live)]; ok {
			b.decideAlias(&n, i)
		} else if live != nil && b.in.Staying.Has(ref) {
			n.Op, n.Want, n.ReasonCode = Unchanged, live, ReasonFormer
		} else {
			b.decideRemoved(&n.Step, used)
			b.leaveUnadopted(&n.Step)
		}
		b.add(n)
	}
}

// leaveUnadopted leaves an object in the cluster that would be deleted, although a run that was
// interrupted has not adopted it.
func (b *builder) leaveUnadopted(step *Step) {
	owner := b.in.Policy.Owner
	if step.Op != Delete || !b.in.Unwritten.Has(step.Ref) || owner.Owns(step.Have) {
		return
	}
	step.Op, step.Wait, step.ReasonCode = Orphan, false, ReasonUnadopted
	step.Reason = fmt.Sprintf("it was never adopted: a run that was to do so was interrupted, and it "+
		"has no %s", owner.markText())
	step.Patch = owner.releasePatch(step.Have)
}

// unadopted returns the recorded objects of which neither the record nor a mark says that the set
// has written them.
func (b *builder) unadopted() []object.Ref {
	var refs []object.Ref
	for _, ref := range b.in.Recorded {
		live := b.in.Live[ref]
		if b.in.Unwritten.Has(ref) && (live == nil || !b.in.Policy.Owner.Owns(live)) {
			refs = append(refs, ref)
		}
	}
	return refs
}

// decideAlias decides about an object that is desired under another kind. The record drops the old
// reference once the new one was applied.
func (b *builder) decideAlias(n *node, i int) {
	other := b.nodes[i].Step
	n.ReasonCode, n.ReasonRef = ReasonSameObject, other.Ref
	n.Reason = fmt.Sprintf("it is the same object as %s (UID: %q)", other.Ref, n.Have.GetUID())
	n.Op = Keep
	if other.Op != Skip && !other.Op.External() {
		n.Op, n.needs = Orphan, []int{i}
	}
}

// decideRemoved decides what happens to an object that is no longer desired.
func (b *builder) decideRemoved(step *Step, used map[string]bool) {
	policy := b.in.Policy
	if step.Have == nil {
		step.Op, step.ReasonCode = Keep, ReasonUnserved
		step.Reason = fmt.Sprintf("the cluster does not know the kind %s now; it stays in the record",
			step.Ref.GroupKind())
		if doubt := b.in.Doubts[step.Ref.GroupKind()]; doubt != nil {
			step.Reason += fmt.Sprintf(" (%v)", doubt)
		}
		return
	}
	if reason := policy.excluded(step.Have, true); reason != "" {
		step.Op, step.ReasonCode, step.Reason = Keep, ReasonExcluded, reason
		return
	}
	if policy.NoPrune {
		step.Op, step.ReasonCode = Keep, ReasonNotPruned
		step.Reason = "nothing is pruned in this run; it stays in the cluster and in the record"
		return
	}
	if step.keepIfForbidden(policy.Owner, policy.Annotations) {
		return
	}
	if p, ok := b.in.Protect[step.Ref]; ok {
		step.Op, step.ReasonCode, step.Reason = Keep, ReasonProtected, p.Reason
		if p.Release {
			step.Op, step.Patch = Orphan, policy.Owner.releasePatch(step.Have)
		}
		return
	}
	if step.Ref.GroupKind() == NamespaceKind && used[step.Ref.Name] {
		step.Op, step.ReasonCode = Keep, ReasonNamespaceInUse
		step.Reason = "namespace still in use: " + step.Ref.Name
		return
	}
	if slices.Contains(policy.Held, step.Ref.GroupKind()) {
		step.holdBack(step.Ref)
		return
	}
	waiting, _ := policy.waiting(step.Have) // an invalid annotation must not block the deletion
	step.Op, step.Wait, step.Timeouts = Delete, !waiting.Skip, waiting.Timeouts
}

// keepIfForbidden sets the operation of a step that would delete its object if the live object says
// that it must stay: because of an annotation of its own, or because it belongs to others.
func (s *Step) keepIfForbidden(owner Owner, marks Annotations) bool {
	if mark, ok := findAnnotation(s.Have, marks.Retain); ok {
		s.Op, s.ReasonCode, s.Patch = Orphan, ReasonRetained, owner.releasePatch(s.Have)
		s.Reason = fmt.Sprintf("annotation prevents deletion (%q: %q)", mark.Key, mark.Value)
		return true
	}
	// What has lost the mark since then was taken out of the set.
	owner.Unmarked = nil
	if owner.Label != "" && !owner.Owns(s.Have) { // a record alone lets nothing be deleted
		owner.Adoption, owner.Adopts = AdoptNone, nil
	}
	s.ReasonCode, s.Reason = owner.refusal(s.Have, nil, owner.KeepHint, "")
	switch {
	case s.ReasonCode == "":
		return false
	case s.ReasonCode == ReasonForeign && owner.DropForeign:
		s.Op, s.Patch = Orphan, owner.releasePatch(s.Have)
	default:
		s.Op = Keep
	}
	return true
}

// desiredByUID returns the nodes of the live desired objects by UID. Some kinds are served in
// several groups, so that two references may name one object.
func (b *builder) desiredByUID() map[types.UID]int {
	uids := map[types.UID]int{}
	for i, n := range b.nodes {
		if uid := cmp.Or(uidOf(n.Have), uidOf(n.Leaving)); uid != "" {
			uids[uid] = i
		}
	}
	return uids
}

func uidOf(obj *unstructured.Unstructured) types.UID {
	if obj == nil {
		return ""
	}
	return obj.GetUID()
}

// usedNamespaces returns the namespaces that must stay because desired objects or the record are in
// them.
func (b *builder) usedNamespaces() map[string]bool {
	used := map[string]bool{}
	for _, d := range b.in.Desired {
		used[d.Object.GetNamespace()] = true
	}
	if !b.in.Policy.Destroy {
		used[b.in.Policy.RecordNamespace.Name] = true
	}
	delete(used, "")
	return used
}
