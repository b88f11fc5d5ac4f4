package plan

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-deploy/muster/internal/diff"
	"github.com/muster-deploy/muster/internal/object"
)

// Build makes the plan that brings what is live to what is desired and removes what is recorded but no longer desired. It is
// the one builder: applying, destroying and dry runs differ in their input alone. An error joins everything that is wrong
// with the input, in the order of the objects; nothing can be done before it is mended.
func Build(in Input) (*Plan, error) {
	b := &builder{in: in, index: make(map[object.Ref]int, len(in.Desired)+len(in.Recorded))}
	b.desired()
	b.removed()
	b.connect()
	if err := errors.Join(b.errs...); err != nil {
		return nil, err
	}
	if err := b.findCycle(); err != nil {
		return nil, err
	}
	return &Plan{
		Steps:       b.sorted(),
		Recorded:    in.Recorded,
		ServerSide:  in.Policy.ServerSide,
		Manager:     in.Policy.Manager,
		Force:       in.Policy.Force,
		Propagation: cmp.Or(in.Policy.Propagation, metav1.DeletePropagationBackground),
		Destroys:    in.Policy.Destroy,
	}, nil
}

// node is a step on its way into the plan; needs are indexes of other nodes.
type node struct {
	Step
	needs []int
}

type builder struct {
	in    Input
	nodes []node
	index map[object.Ref]int // into nodes
	errs  []error
}

func (b *builder) add(step Step) {
	b.index[step.Ref] = len(b.nodes)
	b.nodes = append(b.nodes, node{Step: step})
}

// desired gives every wanted object its step.
func (b *builder) desired() {
	for _, d := range b.in.Desired {
		step := Step{Ref: object.RefOf(d.Object), Source: d.Source, Have: b.in.Live[object.RefOf(d.Object)]}
		if _, ok := b.index[step.Ref]; ok {
			b.errs = append(b.errs, fmt.Errorf("%s is described more than once", step.Ref))
			continue
		}
		if err := b.decide(&step, d.Object); err != nil {
			b.errs = append(b.errs, named(step, err))
			continue
		}
		step.First = step.Op == Create && step.Ref == b.in.Policy.Home
		b.add(step)
	}
}

// decide finds out whether the object is created, updated, left as it is or skipped.
func (b *builder) decide(step *Step, obj *unstructured.Unstructured) error {
	policy := b.in.Policy
	if reason := policy.Owner.forbids(step.Have); reason != "" {
		step.Op, step.Want, step.Reason = Skip, obj, reason
		return nil
	}
	waiting, err := policy.waiting(obj)
	if err != nil {
		return err
	}
	step.Wait, step.Timeout = !waiting.Skip, waiting.Timeout
	want := policy.Owner.mark(obj)
	if policy.ServerSide {
		return decideServerSide(step, want, policy.Manager)
	}
	if policy.LastApplied != "" {
		if err := keepConfiguration(want, policy.LastApplied); err != nil {
			return err
		}
	}
	if step.Have == nil {
		step.Op, step.Want = Create, diff.PruneNulls(want)
		return nil
	}
	patch, result, err := diff.ThreeWay(configuration(step.Have, policy.LastApplied), want, step.Have)
	if err != nil {
		return fmt.Errorf("compute the change: %w", err)
	}
	if len(patch.Data) == 0 {
		step.Op, step.Want = Unchanged, step.Have
		return nil
	}
	step.Op, step.Want, step.Patch = Update, result, patch
	step.Diff = diff.Between(step.Have, result, diff.Options{IgnoreAnnotations: []string{policy.LastApplied}})
	return nil
}

func decideServerSide(step *Step, want *unstructured.Unstructured, manager string) error {
	step.Op, step.Want = Create, want
	if step.Have == nil {
		return nil
	}
	same, err := diff.AppliedBy(want, step.Have, manager)
	if err != nil {
		return fmt.Errorf("compare with what was applied: %w", err)
	}
	step.Op = Update
	if same {
		step.Op, step.Want = Unchanged, step.Have
	}
	return nil
}

// removed gives every recorded object that is no longer wanted its step; one that does not exist any more needs none, nor
// does one that is wanted under another name of its kind.
func (b *builder) removed() {
	used, applied := b.usedNamespaces(), b.appliedObjects()
	for _, ref := range b.in.Recorded {
		if _, ok := b.index[ref]; ok {
			continue
		}
		live := b.in.Live[ref]
		step := Step{Ref: ref, Have: live}
		switch {
		case b.in.Unserved.Has(ref):
			step.Op, step.Reason = Keep, fmt.Sprintf("the cluster does not know the kind %s now; it stays in the record", ref.GroupKind())
		case live == nil || applied[live.GetUID()]:
			continue
		case ref.GroupKind() == namespaceKind && used[ref.Name]:
			step.Op, step.Reason = Keep, "namespace still in use: "+ref.Name
		case b.in.Policy.retains(live) != "":
			step.Op, step.Reason = Orphan, b.in.Policy.retains(live)
			step.Patch = b.in.Policy.Owner.release(live)
		case b.in.Policy.Owner.forbids(live) != "":
			step.Op, step.Reason = Keep, b.in.Policy.Owner.forbids(live)
		default:
			waiting, _ := b.in.Policy.waiting(live) // nobody can mend the annotation of what is on its way out
			step.Op, step.Wait, step.Timeout = Delete, !waiting.Skip, waiting.Timeout
		}
		b.add(step)
	}
}

// appliedObjects are the live objects that are wanted, by their UIDs: some kinds are served in several groups.
func (b *builder) appliedObjects() map[types.UID]bool {
	uids := map[types.UID]bool{}
	for _, n := range b.nodes {
		if n.Have != nil && n.Have.GetUID() != "" {
			uids[n.Have.GetUID()] = true
		}
	}
	return uids
}

// usedNamespaces are the namespaces that must stay because wanted objects or the record live in them.
func (b *builder) usedNamespaces() map[string]bool {
	used := map[string]bool{}
	for _, d := range b.in.Desired {
		used[d.Object.GetNamespace()] = true
	}
	if !b.in.Policy.Destroy {
		used[b.in.Policy.Home.Name] = true
	}
	delete(used, "")
	return used
}

// retains says why a live object must not be deleted, or nothing.
func (p Policy) retains(live *unstructured.Unstructured) string {
	for _, a := range p.Retain {
		if live.GetAnnotations()[a.Key] == a.Value {
			return fmt.Sprintf("annotation prevents deletion (%q: %q)", a.Key, a.Value)
		}
	}
	return ""
}

// forbids says why an object must be left alone, or nothing. An object that does not exist is free.
func (o Owner) forbids(live *unstructured.Unstructured) string {
	if o.Annotation == "" || live == nil || o.Adoption == AdoptAll {
		return ""
	}
	owner := live.GetAnnotations()[o.Annotation]
	switch {
	case owner == o.ID:
		return ""
	case owner != "":
		return fmt.Sprintf("it belongs to another inventory (%s: %s)", o.Annotation, owner)
	case o.Adoption == AdoptUnowned:
		return ""
	default:
		reason := fmt.Sprintf("it exists and belongs to no inventory (no %s annotation)", o.Annotation)
		if o.Hint != "" {
			reason += "; " + o.Hint
		}
		return reason
	}
}

// mark gives a copy of the object that says to whom it belongs.
func (o Owner) mark(obj *unstructured.Unstructured) *unstructured.Unstructured {
	marked := obj.DeepCopy()
	if o.Annotation != "" {
		annotate(marked, o.Annotation, o.ID)
	}
	return marked
}

// release is the patch that takes our mark off an object; zero when it does not carry it. It fails on an object that
// was replaced in the meantime.
func (o Owner) release(live *unstructured.Unstructured) diff.Patch {
	if o.Annotation == "" || live.GetAnnotations()[o.Annotation] != o.ID {
		return diff.Patch{}
	}
	data, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid":         live.GetUID(),
		"annotations": map[string]any{o.Annotation: nil},
	}})
	if err != nil {
		panic(fmt.Sprintf("marshal a map of strings: %v", err)) // cannot happen
	}
	return diff.Patch{Type: types.MergePatchType, Data: data}
}

func annotate(obj *unstructured.Unstructured, key, value string) {
	annotations := obj.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[key] = value
	obj.SetAnnotations(annotations)
}

// keepConfiguration stores the object itself, as JSON with a newline as kubectl writes it, in its annotation.
func keepConfiguration(obj *unstructured.Unstructured, key string) error {
	annotations := obj.GetAnnotations()
	delete(annotations, key)
	obj.SetAnnotations(annotations)
	data, err := obj.MarshalJSON()
	if err != nil {
		return fmt.Errorf("keep the configuration: %w", err)
	}
	annotate(obj, key, string(data))
	return nil
}

// configuration reads what was applied last; nil when it was not kept or cannot be read, which makes the merge cautious:
// nothing is taken for removed.
func configuration(live *unstructured.Unstructured, key string) *unstructured.Unstructured {
	text, ok := live.GetAnnotations()[key]
	if !ok {
		return nil
	}
	obj := &unstructured.Unstructured{}
	if err := obj.UnmarshalJSON([]byte(text)); err != nil {
		return nil
	}
	return obj
}

// named puts the object's identity and origin before an error.
func named(step Step, err error) error {
	if step.Source == "" {
		return fmt.Errorf("%s: %w", step.Ref, err)
	}
	return fmt.Errorf("%s (%s): %w", step.Ref, step.Source, err)
}
