package plan

// rounds divides nodes into the parts that are done one after the other: all at once, or by waves.
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

// waves numbers the nodes: those that depend on nothing, then those that depend on these alone, and so on, whatever is done
// to them. Nodes that depend on each other, of which some go and some stay, come last together.
func (b *builder) waves() []int {
	waves := make([]int, len(b.nodes))
	open := make([]int, len(b.nodes)) // dependencies that have no number yet
	dependants := make([][]int, len(b.nodes))
	var ready []int
	for i, n := range b.nodes {
		open[i] = len(n.dependsOn)
		for _, j := range n.dependsOn {
			dependants[j] = append(dependants[j], i)
		}
		if open[i] == 0 {
			ready = append(ready, i)
		}
	}
	for len(ready) > 0 {
		i := ready[0]
		ready = ready[1:]
		for _, k := range dependants[i] {
			waves[k] = max(waves[k], waves[i]+1)
			if open[k]--; open[k] == 0 {
				ready = append(ready, k)
			}
		}
	}
	for i := range waves {
		if open[i] > 0 {
			waves[i] = len(b.nodes)
		}
	}
	return waves
}

// appendRounds appends rounds with a barrier between each and the next.
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

// Rounds gives the steps that concern objects, parted by the steps that join others. Those of one round may be under way
// at the same time; a round of a plan in waves begins when the one before has settled.
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
