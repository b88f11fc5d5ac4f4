package cluster

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
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
		distance := editDistance(strings.ToLower(gk.Kind), strings.ToLower(other.Kind))
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

// editDistance returns how many letters have to be inserted, removed, replaced, or exchanged with
// the next one, to make one ASCII text of the other.
func editDistance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		for j := range rows[i] {
			switch {
			case i == 0 || j == 0:
				rows[i][j] = i + j
			case a[i-1] == b[j-1]:
				rows[i][j] = rows[i-1][j-1]
			default:
				rows[i][j] = 1 + min(rows[i-1][j], rows[i][j-1], rows[i-1][j-1])
			}
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}
