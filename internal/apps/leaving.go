package apps

import (
	"slices"

	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
)

// withoutLeaving returns the live objects without those that are created again once they are gone:
// those with an input that are being deleted, themselves or with their namespace or the definition
// of their kind. Objects that belong to others are left to them.
func (d *Deployment) withoutLeaving(existing []liveObject) []liveObject {
	live := make(map[object.Ref]liveObject, len(existing))
	for _, obj := range existing {
		live[object.RefOf(obj)] = obj
	}
	isLeaving := plan.Leaving(live)
	d.run.leaving = map[object.Ref]liveObject{}
	for _, r := range d.selected {
		ref := object.RefOf(r.Unstructured)
		if isLeaving(ref) && !isExternal(r.Unstructured) && d.live.foreign[live[ref]] == "" {
			d.run.leaving[ref] = live[ref]
		}
	}
	return slices.DeleteFunc(slices.Clone(existing), func(obj liveObject) bool {
		return d.run.leaving[object.RefOf(obj)] == obj
	})
}
