package cluster

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/base/suggest"
)

// similar returns kinds that may be meant by one that does not exist, at most three: those of the
// same name in other groups, as for a kind that has moved; else those whose names differ from it
// least, by at most a quarter of the letters.
func (k *kindTable) similar(gk schema.GroupKind) []schema.GroupVersionKind {
	type candidate struct {
		schema.GroupVersionKind
		distance int
	}
	var found []candidate
	for other, kind := range k.known {
		distance := suggest.Distance(strings.ToLower(gk.Kind), strings.ToLower(other.Kind))
		if distance <= (len(gk.Kind)-1)/4 {
			found = append(found, candidate{other.WithVersion(kind.Resource.Version), distance})
		}
	}
	elsewhere := func(c candidate) int {
		if c.Group == gk.Group {
			return 0
		}
		return 1
	}
	slices.SortFunc(found, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(elsewhere(a), elsewhere(b)),
			cmp.Compare(a.Group, b.Group), cmp.Compare(a.Kind, b.Kind))
	})
	var kinds []schema.GroupVersionKind
	for _, c := range found {
		nearest := c.distance == found[0].distance && elsewhere(c) == elsewhere(found[0])
		if nearest && len(kinds) < 3 {
			kinds = append(kinds, c.GroupVersionKind)
		}
	}
	return kinds
}
