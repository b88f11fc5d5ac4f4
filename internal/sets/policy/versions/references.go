package versions

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/sets/policy/resource"
)

// references are the objects that may refer to drafts. Only the rules know which fields are
// references. Here it is enough that the name of a draft occurs somewhere as a value, so that the
// rules are asked about few pairs of objects.
type references struct {
	holders []*unstructured.Unstructured // drafts first, in their order
	targets [][]int                      // by holder: indexes of drafts, ascending
	sources [][]int                      // by draft: indexes of drafts that may refer to it
}

// targetsOf returns the targets of a draft.
func (r *references) targetsOf(draft int) []int { return r.targets[draft] }

// markOutdated marks the drafts with references to a draft, because these get another target.
func (r *references) markOutdated(all []*Draft, target int) {
	for _, source := range r.sources[target] {
		all[source].outdated = true
	}
}

// findReferences searches all new objects for names of drafts.
func findReferences(all []*Draft, rest []*unstructured.Unstructured) *references {
	byName := map[string][]int{}
	every := make([]int, len(all))
	r := &references{sources: make([][]int, len(all))}
	for i, d := range all {
		byName[d.base] = append(byName[d.base], i)
		every[i] = i
		r.holders = append(r.holders, d.Object)
	}
	r.holders = append(r.holders, rest...)
	r.targets = make([][]int, len(r.holders))
	if len(all) == 0 {
		return r
	}
	for i, obj := range r.holders {
		if hasExplicitRefs(obj) {
			r.targets[i] = every
		} else {
			targets := namesIn(obj.Object, byName, nil)
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

// hasExplicitRefs reports whether an object refers to versions by annotations.
func hasExplicitRefs(obj *unstructured.Unstructured) bool {
	for key := range resource.Annotations(obj) {
		if key == resource.AnnVersionedExplicit ||
			strings.HasPrefix(key, resource.AnnVersionedExplicit+".") {
			return true
		}
	}
	return false
}

// namesIn appends the drafts whose names are among the values below a value.
func namesIn(value any, byName map[string][]int, found []int) []int {
	switch value := value.(type) {
	case string:
		found = append(found, byName[value]...)
	case map[string]any:
		for _, member := range value {
			found = namesIn(member, byName, found)
		}
	case []any:
		for _, item := range value {
			found = namesIn(item, byName, found)
		}
	}
	return found
}
