package engine

import (
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
)

// deletedHolders are the namespaces and definitions that a run has deleted to create them again:
// all objects that they held went with them. Workers use it concurrently; nil has none.
type deletedHolders struct {
	mu      sync.Mutex
	holders []*unstructured.Unstructured
}

// add adds an object that the run has deleted.
func (d *deletedHolders) add(obj *unstructured.Unstructured) {
	kind := obj.GroupVersionKind().GroupKind()
	if d == nil || kind != plan.NamespaceKind && kind != plan.DefinitionKind {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.holders = append(d.holders, obj)
}

// of returns the deleted object with which another one went.
func (d *deletedHolders) of(ref object.Ref) (holder object.Ref, ok bool) {
	if d == nil {
		return object.Ref{}, false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, obj := range d.holders {
		if plan.Holds(obj, ref) {
			return object.RefOf(obj), true
		}
	}
	return object.Ref{}, false
}

// recreateHeld returns the step that creates the object of a step again, which went with its
// namespace or definition.
func recreateHeld(p *plan.Plan, step *plan.Step, holder object.Ref) (*plan.Step, error) {
	next := *step
	if p.Decider != nil {
		again, err := p.Decider.Recreate(step)
		if err != nil {
			return nil, fmt.Errorf("it was deleted with %s, which this run recreates: %w", holder, err)
		}
		next = *again
	} else {
		manifest, err := p.Manifest(step)
		if err != nil {
			return nil, fmt.Errorf("it was deleted with %s, which this run recreates: %w", holder, err)
		}
		next.Recreate = manifest
	}
	next = *recreateStep(&next)
	next.Reason = fmt.Sprintf("it was deleted with %s, which was recreated", holder)
	next.ReasonCode = ""
	return &next, nil
}
