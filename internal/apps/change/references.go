package change

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/apps/resource"
)

// references say which objects may refer to which drafts. Where they may is for the rules to know; here it is enough that
// the name of a draft stands somewhere as a value. So rules are asked about few of the pairs of objects.
type references struct {
	holders []*unstructured.Unstructured // drafts first, in their order
	targets [][]int                      // by holder: indexes of drafts, ascending
	sources [][]int                      // by draft: indexes of drafts that may refer to it
}

// of gives the targets of a draft.
func (r *references) of(draft int) []int { return r.targets[draft] }

// touch notes that references to a draft have another target than before.
func (r *references) touch(all []*draft, target int) {
	for _, source := range r.sources[target] {
		all[source].stale = true
	}
}

// referrers looks through all new objects for names of drafts.
func referrers(all []*draft, rest []*unstructured.Unstructured) *references {
	byName := map[string][]int{}
	every := make([]int, len(all))
	r := &references{sources: make([][]int, len(all))}
	for i, d := range all {
		byName[d.base] = append(byName[d.base], i)
		every[i] = i
		r.holders = append(r.holders, d.obj)
	}
	r.holders = append(r.holders, rest...)
	r.targets = make([][]int, len(r.holders))
	if len(all) == 0 {
		return r
	}
	for i, obj := range r.holders {
		if explicit(obj) {
			r.targets[i] = every
		} else {
			targets := named(obj.Object, byName, nil)
			slices.Sort(targets)
			r.targets[i] = slices.Compact(targets)
		}
		for _, target := range r.targets[i] {
			if i < len(all) {
				r.sources[target] = append(r.sources[target], i)
			}
		}
	}
	return r
}

// explicit reports whether an object refers to versions by annotations.
func explicit(obj *unstructured.Unstructured) bool {
	for key := range annotations(obj) {
		if key == resource.AnnVersionedExplicit || strings.HasPrefix(key, resource.AnnVersionedExplicit+".") {
			return true
		}
	}
	return false
}

// named collects the drafts whose names are among the values below a value.
func named(value any, byName map[string][]int, found []int) []int {
	switch value := value.(type) {
	case string:
		found = append(found, byName[value]...)
	case map[string]any:
		for _, member := range value {
			found = named(member, byName, found)
		}
	case []any:
		for _, item := range value {
			found = named(item, byName, found)
		}
	}
	return found
}
