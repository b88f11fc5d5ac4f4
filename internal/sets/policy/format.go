package policy

import (
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/owner"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/sets/policy/config"
)

// Format is what a policy has to know of the format in which the record of a set is kept.
type Format struct {
	// Shape adds to a policy how the objects of the set are marked, and what they keep of what was
	// applied to them.
	Shape func(*plan.Policy)
	// Owners returns the owners of a live object other than the set. Applied is as in plan.Owner.
	Owners func(live, applied *unstructured.Unstructured) []owner.Owner
	// AdviceOn returns what users may do about an object of another owner, which has the name of its
	// record; empty for nothing beyond taking it over. Nil: nothing.
	AdviceOn func(owner.Owner) string
	// Config are the rules of Config documents among the manifests, after the built-in ones.
	Config *config.Config
}

// FindOthers returns the function of a policy that finds the owners of objects other than the set.
// Find returns the owner with the name of its record; nil leaves the IDs that the objects carry. It
// is called by one goroutine at a time.
func (f Format) FindOthers(
	find func(o owner.Owner, namespace string) owner.Owner,
) func(live, applied *unstructured.Unstructured) plan.Others {
	var finding sync.Mutex
	return func(live, applied *unstructured.Unstructured) plan.Others {
		found := f.Owners(live, applied)
		finding.Lock()
		defer finding.Unlock()
		for i := range found {
			if find != nil {
				found[i] = find(found[i], live.GetNamespace())
			}
		}
		all := plan.Others{Text: owner.Text(found)}
		if len(found) > 0 && f.AdviceOn != nil {
			all.Advice = f.AdviceOn(found[0])
		}
		all.Labels, all.Annotations = owner.MarksOf(found)
		return all
	}
}
