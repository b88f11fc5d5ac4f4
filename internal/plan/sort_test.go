package plan_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/testing/golden"
)

// TestSort sorts the steps of the section steps. A line is an operation and, but for joins, the
// name of a config map; then the words rank, needs and after, each with its numbers.
func TestSort(t *testing.T) {
	golden.Run(
		t,
		"testdata/lay/*.txtar",
		func(t *testing.T, files map[string]string) map[string]string {
			steps := parseSteps(t, files["steps"])
			given := slices.Clone(steps)
			p, err := plan.Sort(steps)
			if diff := cmp.Diff(given, steps); diff != "" {
				t.Errorf("the steps given were changed (-before +after):\n%s", diff)
			}
			if err != nil {
				return map[string]string{"error": err.Error()}
			}
			expectSound(t, p)
			return map[string]string{"plan": p.String()}
		},
	)
}

func parseSteps(t *testing.T, text string) []plan.Step {
	t.Helper()
	var steps []plan.Step
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		step := plan.Step{Op: plan.Op(words[0])}
		words = words[1:]
		if step.Op.IsObject() {
			step.Ref = object.Ref{Kind: "ConfigMap", Name: words[0]}
			words = words[1:]
		}
		word := ""
		for _, w := range words {
			number, err := strconv.Atoi(w)
			switch {
			case err != nil:
				word = w
			case word == "rank":
				step.Rank = number
			case word == "needs":
				step.Needs = append(step.Needs, number)
			case word == "after":
				step.After = append(step.After, number)
			default:
				t.Fatalf("no word %q in %s", word, line)
			}
		}
		steps = append(steps, step)
	}
	return steps
}

// TestSortShuffled sorts steps in random orders: all edges lead to the same objects as before, and
// none forward.
func TestSortShuffled(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 2))
		order := r.Perm(30)
		steps := make([]plan.Step, len(order))
		want := map[string][]string{}
		for k, i := range order { // object k stands at i and waits for objects before k
			name := fmt.Sprint("o", k)
			steps[i] = plan.Step{
				Op:   plan.Create,
				Ref:  object.Ref{Kind: "ConfigMap", Name: name},
				Rank: r.IntN(3),
			}
			for range min(k, r.IntN(4)) {
				j := r.IntN(k)
				steps[i].Needs = append(steps[i].Needs, order[j])
				want[name] = append(want[name], fmt.Sprint("o", j))
			}
			slices.Sort(want[name])
			want[name] = slices.Compact(want[name])
		}
		p, err := plan.Sort(steps)
		if err != nil {
			t.Fatal(err)
		}
		for k, step := range p.Steps {
			var got []string
			for _, j := range step.Needs {
				if j >= k {
					t.Fatalf("seed %d: step %d needs step %d", seed, k, j)
				}
				got = append(got, p.Steps[j].Ref.Name)
			}
			slices.Sort(got)
			if diff := cmp.Diff(want[step.Ref.Name], got); diff != "" {
				t.Fatalf("seed %d: %s needs (-want +got):\n%s", seed, step.Ref, diff)
			}
		}
	}
}

// BenchmarkSort sorts steps of which each waits for a join of half of them. The time of a step must
// not grow with their number.
func BenchmarkSort(b *testing.B) {
	for _, count := range []int{1_000, 20_000} {
		b.Run(fmt.Sprint(count), func(b *testing.B) {
			steps := make([]plan.Step, count+1)
			steps[count] = plan.Step{Op: plan.Guard}
			for i := range count {
				steps[i] = plan.Step{Op: plan.Create, Ref: object.Ref{Kind: "ConfigMap", Name: fmt.Sprint(i)}}
				if i%2 == 0 {
					steps[i].Needs = []int{count}
				} else {
					steps[count].After = append(steps[count].After, i)
				}
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := plan.Sort(steps); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*count), "ns/step")
		})
	}
}
