package textdiff

import "math/bits"

const (
	// bound is the product of the numbers of lines up to which the alignment is kapp's. It needs
	// one bit for each cell, 16 MB.
	bound = 1 << 27
	// boundBetween is the bound between two anchors, of which there may be many.
	boundBetween = 1 << 23
)

// fitsExact reports whether two sequences are short enough for subsequence.
func fitsExact(old, new, bound int) bool { return old == 0 || new == 0 || old <= bound/new }

// matrix stores M, where M[i][j] is the length of the longest common subsequence of the last i old
// and the last j new lines. Each cell has one bit: whether M[i][j+1] equals M[i][j].
type matrix struct {
	words int // per row
	bits  []uint64
}

func (m matrix) row(i int) []uint64 { return m.bits[i*m.words : (i+1)*m.words] }

// level reports whether M[i][j] equals M[i][j-1].
func (m matrix) level(i, j int) bool { return m.bits[i*m.words+(j-1)/64]>>((j-1)%64)&1 == 1 }

// rank returns M[i][j].
func (m matrix) rank(i, j int) int {
	row, ones := m.row(i), 0
	for _, word := range row[:j/64] {
		ones += bits.OnesCount64(word)
	}
	if j%64 != 0 {
		ones += bits.OnesCount64(row[j/64] << (64 - j%64))
	}
	return j - ones
}

// newMatrix computes M, a row for each old line, by adding rows as if they were numbers (Hyyrö's
// bit-parallel method).
func (a *aligner) newMatrix(old, new []int32) matrix {
	m := matrix{words: (len(new) + 63) / 64}
	size := (len(old) + 1) * m.words
	if size > len(a.bits) {
		a.bits = make([]uint64, size)
	}
	m.bits = a.bits[:size]
	for w := range m.row(0) {
		m.bits[w] = ^uint64(0)
	}
	where := a.places(new)
	match := make([]uint64, m.words)
	for i := 1; i <= len(old); i++ {
		line := old[len(old)-i]
		for place := where.last[line]; place > 0; place = where.before[place-1] {
			j := len(new) - int(place)
			match[j/64] |= 1 << (j % 64)
		}
		above, row := m.row(i-1), m.row(i)
		var carry, sum uint64
		for w, v := range above {
			u := v & match[w]
			sum, carry = bits.Add64(v, u, carry)
			row[w] = sum | v&^u
		}
		for place := where.last[line]; place > 0; place = where.before[place-1] {
			match[(len(new)-int(place))/64] = 0
		}
	}
	where.clear(new)
	return m
}

// subsequence aligns two short sequences like kapp. It walks M from its last cell. It prefers a
// removal to an addition, and both to a common line, where the common subsequence stays the
// longest. It removes no more lines after an addition if that shortens the subsequence.
func (a *aligner) subsequence(old, new []int32) {
	if len(old) == 0 || len(new) == 0 {
		a.add(Removed, len(old))
		a.add(Added, len(new))
		return
	}
	m := a.newMatrix(old, new)
	i, j := len(old), len(new)
	for i > 0 && j > 0 {
		if m.rank(i, j) == m.rank(i-1, j) {
			a.add(Removed, 1)
			i--
			continue
		}
		for m.level(i, j) {
			a.add(Added, 1)
			j--
		}
		a.add(Same, 1)
		i, j = i-1, j-1
	}
	a.add(Removed, i)
	a.add(Added, j)
}

// chains links the indexes of equal lines in a sequence. Indexes count from one; zero ends a
// chain.
type chains struct {
	last   []int32 // by number: the last index
	before []int32 // by index: the one before it
}

// places links a sequence. The slice by number is shared and must be cleared before the next call.
func (a *aligner) places(ids []int32) chains {
	if a.last == nil {
		a.last = make([]int32, a.kinds)
	}
	c := chains{last: a.last, before: make([]int32, len(ids))}
	for i, id := range ids {
		c.before[i], c.last[id] = c.last[id], int32(i+1)
	}
	return c
}

func (c chains) clear(ids []int32) {
	for _, id := range ids {
		c.last[id] = 0
	}
}
