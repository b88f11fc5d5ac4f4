package plan

import (
	"slices"

	"github.com/muster-deploy/muster/internal/graph"
)

// rounds splits nodes into the groups that run one after the other: a single one, or one for each
// wave.
func (b *builder) rounds(members []int) [][]int {
	if len(members) == 0 {
		return nil
	}
	if !b.in.Policy.Waves {
		return [][]int{members}
	}
	waves := b.waves()
	byWave := make([][]int, len(b.nodes)+1)
	for _, i := range members {
		byWave[waves[i]] = append(byWave[waves[i]], i)
	}
	rounds := byWave[:0]
	for _, round := range byWave {
		if len(round) > 0 {
			rounds = append(rounds, round)
		}
	}
	return rounds
}

// waves numbers the nodes: 0 without dependencies, otherwise one more than the highest of its
// dependencies. Nodes in a cycle, of which some are deleted and some kept, come last together.
func (b *builder) waves() []int {
	n, next := len(b.nodes), func(i int) []int { return b.nodes[i].dependsOn }
	waves := slices.Repeat([]int{n}, n)
	for _, i := range graph.Sort(n, next, func(x, y int) bool { return x < y }) {
		waves[i] = 0
		for _, j := range next(i) {
			waves[i] = max(waves[i], waves[j]+1)
		}
	}
	return waves
}

// appendRounds appends the steps of rounds with a barrier between each and the next.
func (b *builder) appendRounds(steps []Step, rounds [][]int, position []int) []Step {
	for k, round := range rounds {
		start := len(steps)
		steps = b.appendOrdered(steps, round, position)
		if k > 0 {
			for i := start; i < len(steps); i++ {
				steps[i].After = append(steps[i].After, start-1)
			}
		}
		if k == len(rounds)-1 {
			break
		}
		barrier := Step{Op: Barrier}
		for i := start; i < len(steps); i++ {
			barrier.After = append(barrier.After, i)
		}
		steps = append(steps, barrier)
	}
	return steps
}

// Rounds returns the steps of objects, grouped by the barriers and guards between them. Steps of
// one round may run at the same time.
func (p *Plan) Rounds() [][]int {
	var rounds [][]int
	var round []int
	for i, step := range p.Steps {
		if step.Op.IsObject() {
			round = append(round, i)
		} else if len(round) > 0 {
			rounds, round = append(rounds, round), nil
		}
	}
	if len(round) > 0 {
		rounds = append(rounds, round)
	}
	return rounds
}
