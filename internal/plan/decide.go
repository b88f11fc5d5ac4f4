package plan

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/diff"
)

// writeMode is how objects are written, which decides what a change is.
type writeMode struct {
	serverSide  bool
	manager     string
	lastApplied string // the annotation that keeps the applied configuration; empty keeps none
}

// decide finds out whether the object of a step is created, updated or as it is wanted already, and what is sent.
func (w writeMode) decide(step *Step, want *unstructured.Unstructured) error {
	step.Patch, step.Diff = diff.Patch{}, nil
	if w.serverSide {
		return w.decideServerSide(step, want)
	}
	return decideClientSide(step, want, w.lastApplied)
}

// decideClientSide finds out, by client-side apply, whether an object is created, updated or left as it is. It changes want,
// which is to be marked and belongs to the step. The annotation keeps what is applied; empty keeps nothing.
func decideClientSide(step *Step, want *unstructured.Unstructured, annotation string) error {
	if annotation != "" {
		if err := setLastApplied(want, annotation); err != nil {
			return err
		}
	}
	if step.Have == nil {
		step.Op, step.Want = Create, diff.PruneNulls(want)
		return nil
	}
	patch, result, err := diff.ThreeWay(readLastApplied(step.Have, annotation), want, step.Have)
	if err != nil {
		return fmt.Errorf("compute the change: %w", err)
	}
	if len(patch.Data) == 0 {
		step.Op, step.Want = Unchanged, step.Have
		return nil
	}
	step.Op, step.Want, step.Patch = Update, result, patch
	step.Diff = diff.Between(step.Have, result, diff.Options{IgnoreAnnotations: []string{annotation}})
	return nil
}

// decideServerSide leaves an object as it is if the manager applied just this, and nothing of a client-side apply is left.
func (w writeMode) decideServerSide(step *Step, want *unstructured.Unstructured) error {
	step.Op, step.Want = Create, want
	if step.Have == nil {
		return nil
	}
	same, err := diff.AppliedBy(want, step.Have, w.manager)
	if err != nil {
		return fmt.Errorf("compare with what was applied: %w", err)
	}
	step.Op = Update
	if same && (w.lastApplied == "" || diff.ClientSideManagers(step.Have, w.lastApplied).Len() == 0) {
		step.Op, step.Want = Unchanged, step.Have
	}
	return nil
}

func annotate(obj *unstructured.Unstructured, key, value string) {
	annotations := obj.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[key] = value
	obj.SetAnnotations(annotations)
}

// setLastApplied stores the object itself, as JSON with a newline as kubectl writes it, in its annotation.
func setLastApplied(obj *unstructured.Unstructured, key string) error {
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

// readLastApplied reads what was applied last; nil when it was not kept or cannot be read, which makes the merge cautious:
// nothing is taken for removed.
func readLastApplied(live *unstructured.Unstructured, key string) *unstructured.Unstructured {
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
