package edit

import (
	"go.yaml.in/yaml/v3"

	"github.com/muster-deploy/muster/internal/base/jsonvalue"
)

// pair is an item of a list and the wanted item that it becomes. The last pair is behind both
// lists.
type pair struct {
	old, new int
	added    int // number of wanted items before it that are new
}

// moves reports whether an item gets another place.
func (p pair) moves() bool { return p.old != p.new }

// align returns which items of a list become which wanted ones, in their order: as many as possible
// that are equal or have the same name. As many others in a row as there are wanted ones become
// those, if none of them has a name.
func align(n *yaml.Node, want []any) []pair {
	have := make([]any, len(n.Content))
	for i, item := range n.Content {
		have[i], _ = valueOf(item)
	}
	longest := make([][]int, len(have)+1) // of what follows, by places in both lists
	for i := range longest {
		longest[i] = make([]int, len(want)+1)
	}
	for i := len(have) - 1; i >= 0; i-- {
		for j := len(want) - 1; j >= 0; j-- {
			longest[i][j] = max(longest[i+1][j], longest[i][j+1])
			if becomes(have[i], want[j]) {
				longest[i][j] = max(longest[i][j], longest[i+1][j+1]+1)
			}
		}
	}
	return withUnnamed(pairsOf(have, want, longest), have, want)
}

// pairsOf returns the pairs of the longest row of items that become wanted ones.
func pairsOf(have, want []any, longest [][]int) (pairs []pair) {
	for i, j, added := 0, 0, 0; ; {
		switch {
		case i == len(have):
			return append(pairs, pair{i, len(want), added + len(want) - j})
		case j == len(want):
			return append(pairs, pair{len(have), j, added})
		case becomes(have[i], want[j]) && longest[i][j] == longest[i+1][j+1]+1:
			pairs = append(pairs, pair{i, j, added})
			i, j, added = i+1, j+1, 0
		case longest[i+1][j] == longest[i][j]:
			i++
		default:
			j, added = j+1, added+1
		}
	}
}

// withUnnamed adds pairs of items that change their values where as many go as are new.
func withUnnamed(pairs []pair, have, want []any) (all []pair) {
	done := 0
	for _, p := range pairs {
		first := p.new - p.added
		same := p.old-done == p.added
		for i := range p.added {
			same = same && unnamed(have[done+i]) && unnamed(want[first+i])
		}
		if same {
			for i := range p.added {
				all = append(all, pair{done + i, first + i, 0})
			}
			p.added = 0
		}
		all = append(all, p)
		done = p.old + 1
	}
	return all
}

// unnamed reports whether an item is a value without a name.
func unnamed(item any) bool {
	fields, _ := item.(map[string]any)
	for _, name := range names {
		if _, ok := fields[name]; ok {
			return false
		}
	}
	return true
}

// names are the fields by which the items of lists of Kubernetes differ.
var names = []string{"name", "key", "mountPath", "devicePath", "containerPort", "port", "ip", "uid"}

// becomes reports whether an item is equal to a wanted one or has the same name.
func becomes(have, want any) bool {
	if jsonvalue.Equal(have, want) {
		return true
	}
	old, _ := have.(map[string]any)
	new, _ := want.(map[string]any)
	for _, name := range names {
		if value, ok := old[name]; ok && new != nil {
			return jsonvalue.Equal(value, new[name])
		}
	}
	return false
}
