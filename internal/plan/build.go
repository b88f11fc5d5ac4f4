package plan

import (
	"cmp"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-deploy/muster/internal/mutation"
	"github.com/muster-deploy/muster/internal/object"
)

// Build makes the plan that brings what is live to what is desired and removes what is recorded but no longer desired. It is
// the one builder: applying, destroying and dry runs differ in their input alone. An error joins everything that is wrong
// with the input, in the order of the objects, each as an *ObjectError, and then a *CycleError if objects depend on each
// other in a circle; nothing can be done before it is mended.
func Build(in Input) (*Plan, error) {
	b := &builder{in: in, index: make(map[object.Ref]int, len(in.Desired)+len(in.Recorded))}
	b.addDesired()
	b.addRemoved()
	b.connect()
	b.markSensitive()
	b.rejectCycles()
	b.breakCycles()
	if err := errors.Join(b.sortedErrors()...); err != nil {
		return nil, err
	}
	b.clearNeedsBeforeRecord()
	p := &Plan{
		Steps:              b.orderedSteps(),
		Recorded:           in.Recorded,
		ServerSide:         in.Policy.ServerSide,
		Manager:            in.Policy.Manager,
		Force:              in.Policy.Force,
		Propagation:        cmp.Or(in.Policy.Propagation, metav1.DeletePropagationBackground),
		LastApplied:        in.Policy.LastApplied,
		LastAppliedManager: in.Policy.LastAppliedManager,
		Owner:              in.Policy.Owner,
		CreateOnly:         in.Policy.CreateOnly,
		Destroys:           in.Policy.Destroy,
	}
	p.previewAll()
	return p, nil
}

// node is a step on its way into the plan. Needs are indexes of the nodes that have to succeed first, on those of the nodes
// that it depends on, whatever is done to either.
type node struct {
	Step
	needs         []int
	dependsOn     []int
	substitutions []mutation.Substitution
}

type builder struct {
	in    Input
	nodes []node
	index map[object.Ref]int // into nodes
	errs  []error
}

func (b *builder) add(n node) {
	b.index[n.Ref] = len(b.nodes)
	b.nodes = append(b.nodes, n)
}

// addDesired gives every wanted object its step.
func (b *builder) addDesired() {
	for _, d := range b.in.Desired {
		step := Step{Ref: object.RefOf(d.Object), Source: d.Source, Have: b.in.Live[object.RefOf(d.Object)]}
		if _, ok := b.index[step.Ref]; ok {
			b.addError(step, errors.New("it is described more than once"))
			continue
		}
		takes, err := b.in.Policy.substitutions(d.Object)
		b.addError(step, err)
		b.addError(step, b.decideDesired(&step, d.Object, len(takes) > 0))
		step.BeforeRecord = step.Op == Create && step.Ref == b.in.Policy.RecordNamespace
		if step.BeforeRecord && len(takes) > 0 {
			b.addError(step, errors.New("it cannot take values from others: it is created before all of them, to hold the record"))
		}
		b.add(node{Step: step, substitutions: takes})
	}
}

// clearNeedsBeforeRecord lets what comes before the record wait for nothing. Once it exists it has its place among the others, so circles
// through it count all the same.
func (b *builder) clearNeedsBeforeRecord() {
	for i := range b.nodes {
		if b.nodes[i].BeforeRecord {
			b.nodes[i].needs = nil
		}
	}
}

// decideDesired finds out whether the object is created, updated, left as it is or skipped. One that takes values from others
// is only drafted.
func (b *builder) decideDesired(step *Step, obj *unstructured.Unstructured, drafted bool) error {
	policy := b.in.Policy
	if step.skipIfForbidden(obj, policy.Owner, policy.CreateOnly) {
		return nil
	}
	waiting, err := policy.waiting(obj)
	if err != nil {
		return err
	}
	step.Wait, step.Timeout = !waiting.Skip, waiting.Timeout
	want := policy.Owner.mark(obj)
	if drafted {
		step.Draft, step.Want = want, want
		step.Op = Create
		if step.Have != nil {
			step.Op = Update
		}
		return nil
	}
	return writeMode{policy.ServerSide, policy.Manager, policy.LastApplied}.decide(step, want)
}

// skipIfForbidden skips a step whose object, which is there, may not be written or is wanted only as long as it is not there.
func (s *Step) skipIfForbidden(want *unstructured.Unstructured, owner Owner, createOnly []Annotation) bool {
	why, reason := owner.refusal(s.Have, owner.AdoptHint)
	if mark, ok := findAnnotation(want, createOnly); ok && why == "" && s.Have != nil {
		why, reason = ReasonCreateOnly, fmt.Sprintf("annotation prevents apply (%q: %q)", mark.Key, mark.Value)
	}
	if why != "" {
		s.Op, s.Want, s.ReasonCode, s.Reason = Skip, want, why, reason
	}
	return why != ""
}

// addRemoved gives every recorded object that is no longer wanted its step; one that does not exist any more needs none.
func (b *builder) addRemoved() {
	used, applied := b.usedNamespaces(), b.desiredByUID()
	for _, ref := range b.in.Recorded {
		if _, ok := b.index[ref]; ok {
			continue
		}
		live := b.in.Live[ref]
		if live == nil && !b.in.Unserved.Has(ref) {
			continue
		}
		n := node{Step: Step{Ref: ref, Have: live}}
		if i, ok := applied[uidOf(live)]; ok {
			b.decideAlias(&n, i)
		} else {
			b.decideRemoved(&n.Step, used)
		}
		b.add(n)
	}
}

// decideAlias forgets an object that is wanted under another kind, and recorded as that, once it was applied.
func (b *builder) decideAlias(n *node, i int) {
	other := b.nodes[i].Step
	n.ReasonCode, n.ReasonRef = ReasonSameObject, other.Ref
	n.Reason = fmt.Sprintf("it is the same object as %s (UID: %q)", other.Ref, n.Have.GetUID())
	n.Op = Keep
	if other.Op != Skip {
		n.Op, n.needs = Orphan, []int{i}
	}
}

// decideRemoved decides what becomes of an object that is not wanted any more.
func (b *builder) decideRemoved(step *Step, used map[string]bool) {
	policy := b.in.Policy
	if b.in.Unserved.Has(step.Ref) {
		step.Op, step.ReasonCode = Keep, ReasonUnserved
		step.Reason = fmt.Sprintf("the cluster does not know the kind %s now; it stays in the record", step.Ref.GroupKind())
		return
	}
	if mark, ok := findAnnotation(step.Have, policy.Retain); ok {
		step.Op, step.ReasonCode, step.Patch = Orphan, ReasonRetained, policy.Owner.releasePatch(step.Have)
		step.Reason = fmt.Sprintf("annotation prevents deletion (%q: %q)", mark.Key, mark.Value)
		return
	}
	if step.ReasonCode, step.Reason = policy.Owner.refusal(step.Have, policy.Owner.KeepHint); step.ReasonCode != "" {
		step.Op = Keep
		return
	}
	if step.Ref.GroupKind() == NamespaceKind && used[step.Ref.Name] {
		step.Op, step.ReasonCode, step.Reason = Keep, ReasonNamespaceInUse, "namespace still in use: "+step.Ref.Name
		return
	}
	waiting, _ := policy.waiting(step.Have) // nobody can mend the annotation of what is on its way out
	step.Op, step.Wait, step.Timeout = Delete, !waiting.Skip, waiting.Timeout
}

// desiredByUID are the live objects that are wanted, by their UIDs: some kinds are served in several groups.
func (b *builder) desiredByUID() map[types.UID]int {
	uids := map[types.UID]int{}
	for i, n := range b.nodes {
		if uid := uidOf(n.Have); uid != "" {
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

// usedNamespaces are the namespaces that must stay because wanted objects or the record live in them.
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
