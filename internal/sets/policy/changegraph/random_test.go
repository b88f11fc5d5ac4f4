package changegraph

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// naive makes all edges one by one, as the rules are defined: it is what Build is compared with.
func naive(nodes []Node) ([][]int, error) {
	waits := make([][]int, len(nodes))
	var reaches func(from, to int) bool
	reaches = func(from, to int) bool {
		return slices.ContainsFunc(
			waits[from],
			func(next int) bool { return next == to || reaches(next, to) },
		)
	}
	for _, optional := range []bool{false, true} {
		type use struct {
			node int
			rule Rule
		}
		var uses []use
		for i, n := range nodes {
			for _, rule := range n.Rules {
				if rule.Action == n.Op && rule.Optional == optional {
					uses = append(uses, use{i, rule})
				}
			}
		}
		slices.SortStableFunc(uses, func(x, y use) int { return y.rule.Weight - x.rule.Weight })
		for _, u := range uses {
			for j, n := range nodes {
				if n.Op != u.rule.Target || !slices.Contains(n.Groups, u.rule.Group) {
					continue
				}
				from, to := u.node, j
				if u.rule.Before {
					from, to = to, from
				}
				if !optional || from != to && !reaches(to, from) {
					waits[from] = append(waits[from], to)
				}
			}
		}
		if err := naiveCycle(nodes, waits); err != nil {
			return nil, err
		}
	}
	return waits, nil
}

func naiveCycle(nodes []Node, waits [][]int) error {
	done, path := map[int]bool{}, map[int]bool{}
	var visit func(i int) string
	visit = func(i int) string {
		if done[i] {
			return ""
		}
		if path[i] {
			return fmt.Sprintf("[%s] (found repeated: %s)", nodes[i].Name, nodes[i].Name)
		}
		path[i] = true
		for _, j := range waits[i] {
			if text := visit(j); text != "" {
				return fmt.Sprintf("[%s] -> %s", nodes[i].Name, text)
			}
		}
		delete(path, i)
		done[i] = true
		return ""
	}
	for i := range nodes {
		if text := visit(i); text != "" {
			return errors.New("Detected cycle while ordering changes: " + text)
		}
	}
	return nil
}

// closure returns, for every change, the changes that must be done before it.
func closure(nodes int, waits [][]int) []string {
	all := make([]string, nodes)
	for i := range nodes {
		seen := map[int]bool{}
		var visit func(int)
		visit = func(v int) {
			for _, w := range waits[v] {
				if !seen[w] {
					seen[w] = true
					visit(w)
				}
			}
		}
		visit(i)
		var names []string
		for j := range nodes {
			if seen[j] {
				names = append(names, fmt.Sprint(j))
			}
		}
		all[i] = fmt.Sprintf("%d: %s", i, strings.Join(names, " "))
	}
	return all
}

// random makes up changes: few groups, so that optional rules often meet, and required rules that
// rarely form a cycle.
func random(r *rand.Rand) []Node {
	ops := []Op{Upsert, Upsert, Upsert, Delete, Delete, Noop}
	groups := 1 + r.IntN(8)
	required := r.IntN(5)
	nodes := make([]Node, 1+r.IntN(24))
	for i := range nodes {
		nodes[i] = Node{Name: fmt.Sprint("n", i), Op: ops[r.IntN(len(ops))]}
		for range r.IntN(3) {
			nodes[i].Groups = append(nodes[i].Groups, fmt.Sprint("g", r.IntN(groups)))
		}
		for range r.IntN(4) {
			rule := Rule{
				Action: ops[r.IntN(5)],
				Target: ops[r.IntN(5)],
				Before: r.IntN(2) == 0,
				Group:  fmt.Sprint("g", r.IntN(groups)),
			}
			if rule.Optional = r.IntN(10) >= required; rule.Optional {
				rule.Weight = 100 + r.IntN(3)
			} else {
				rule.Weight = []int{0, 0, 100, 101}[r.IntN(4)]
			}
			nodes[i].Rules = append(nodes[i].Rules, rule)
		}
	}
	return nodes
}

// TestSameAsNaive compares what waits for what, directly or not, and the text of cycles.
func TestSameAsNaive(t *testing.T) {
	rounds := 6_000
	if testing.Short() {
		rounds = 1_000
	}
	cycles, joins, optional := 0, 0, 0
	for seed := range rounds {
		nodes := random(rand.New(rand.NewPCG(uint64(seed), 1)))
		want, wantErr := naive(nodes)
		got, err := Build(nodes, Options{})
		if fmt.Sprint(err) != fmt.Sprint(wantErr) {
			t.Fatalf("seed %d: error\n%v\nwant\n%v\nof %+v", seed, err, wantErr, nodes)
		}
		if err != nil {
			cycles++
			continue
		}
		if diff := cmp.Diff(closure(len(nodes), want), closure(len(nodes), got.Needs)); diff != "" {
			t.Fatalf("seed %d: (-naive +got)\n%s\nof %+v", seed, diff, nodes)
		}
		if len(got.Needs) > got.Nodes {
			joins++
		}
		b := &builder{nodes: nodes, index: map[target][2]int{}}
		b.collect()
		if slices.Max(components(len(nodes), b.sets)) > 0 {
			optional++
		}
	}
	t.Logf(
		"of %d graphs %d have a cycle; of the others %d have a join and %d rules that give way",
		rounds,
		cycles,
		joins,
		optional,
	)
	if least := rounds / 20; cycles < least || joins < least || optional < least {
		t.Error("the graphs that were made up are too much alike")
	}
}
