package textdiff

// patience limits the removals and additions that greedy looks ahead. A section with more
// differences is aligned in parts.
const patience = 256

// greedy aligns sequences without anchors that are too long for subsequence, as when a few lines
// repeat many times. It is Myers' method in parts of at most patience steps, each from the
// furthest point of the last.
func (a *aligner) greedy(old, new []int32) {
	s := search{}
	for len(old) > 0 && len(new) > 0 {
		end, steps := s.forward(old, new)
		a.ops = s.path(a.ops, end, steps)
		old, new = old[end.old:], new[end.new:]
	}
	a.add(Removed, len(old))
	a.add(Added, len(new))
}

// search stores how far each diagonal got in each number of steps: far[d][d+k] is the old index on
// the diagonal where old minus new is k.
type search struct {
	far  [patience + 1][]int32
	back []Op
}

// forward searches until both sequences end, or for patience steps. It returns the end and the
// number of steps.
func (s *search) forward(old, new []int32) (pair, int) {
	var best pair
	for d := 0; ; d++ {
		if s.far[d] == nil {
			s.far[d] = make([]int32, 2*d+1)
		}
		best = pair{}
		for k := -d; k <= d; k += 2 {
			x := s.enter(d, k)
			y := x - k
			if x > len(old) || y > len(new) {
				s.far[d][d+k] = int32(x) // outside the sequences
				continue
			}
			for x < len(old) && y < len(new) && old[x] == new[y] {
				x, y = x+1, y+1
			}
			s.far[d][d+k] = int32(x)
			if x == len(old) && y == len(new) {
				return pair{int32(x), int32(y)}, d
			}
			if x+y > int(best.old+best.new) {
				best = pair{int32(x), int32(y)}
			}
		}
		if d == patience {
			return best, d
		}
	}
}

// enter returns the old index at which step d enters a diagonal: from above by an addition, or
// from the left by a removal, whichever is further.
func (s *search) enter(d, k int) int {
	if d == 0 {
		return 0
	}
	if s.fromAbove(d, k) {
		return int(s.far[d-1][d-1+k+1])
	}
	return int(s.far[d-1][d-1+k-1]) + 1
}

func (s *search) fromAbove(d, k int) bool {
	return k == -d || k != d && s.far[d-1][d-1+k-1] < s.far[d-1][d-1+k+1]
}

// path appends the operations that lead to an end in the given number of steps.
func (s *search) path(ops []Op, end pair, steps int) []Op {
	s.back = s.back[:0]
	x, k := int(end.old), int(end.old-end.new)
	for d := steps; d >= 0; d-- {
		for begin := s.enter(d, k); x > begin; x-- {
			s.back = append(s.back, Same)
		}
		if d == 0 {
			break
		}
		if s.fromAbove(d, k) {
			s.back, k = append(s.back, Added), k+1
		} else {
			s.back, k, x = append(s.back, Removed), k-1, x-1
		}
	}
	for i := len(s.back) - 1; i >= 0; i-- {
		ops = append(ops, s.back[i])
	}
	return ops
}
