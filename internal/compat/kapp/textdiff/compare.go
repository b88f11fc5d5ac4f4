// Package textdiff compares two texts line by line and writes the difference in kapp's form.
//
// Up to a bound the alignment is kapp's: a longest common subsequence between equal heads and
// tails, with removals before additions where both are possible. Larger texts are aligned at the
// lines that occur once on both sides, in time and memory close to linear. The package knows
// nothing of objects.
package textdiff

// Op is the side that a line belongs to.
type Op byte

const (
	Same    Op = iota // both sides
	Removed           // the old text only
	Added             // the new text only
)

// Line is one record of a comparison. Old and New are line numbers from zero: the number of the
// line on its own side, and on the other side that of the next line. Text has no newline and
// shares memory with the compared texts.
type Line struct {
	Op       Op
	Text     string
	Old, New int
}

// anchoredFrom is the number of lines above which an anchored comparison differs from an exact
// one.
const anchoredFrom = 500

// Compare aligns two texts of less than 2 GB. The lines that are not Added, joined with newlines,
// are the old text, and those that are not Removed the new one. As in kapp, a newline at the end
// of a text adds an empty last line, and an empty text has no lines. With anchored, texts of more
// than 500 lines are aligned only at lines that occur once on both sides.
func Compare(old, new string, anchored bool) []Line {
	o, n, kinds := numberLines(old, new)
	a := newAligner(o.ids, n.ids, kinds)
	if anchored && max(len(o.ids), len(n.ids)) > anchoredFrom {
		a.anchored(false)
	} else {
		a.align()
	}
	return a.lines(o, n)
}

// aligner collects the operations that turn one sequence of lines into another. Equal lines have
// equal numbers.
type aligner struct {
	old, new []int32
	kinds    int // number of different lines
	ops      []Op

	bits []uint64 // of the last matrix, reused
	last []int32  // of chains, reused
}

func newAligner(old, new []int32, kinds int) *aligner {
	return &aligner{old: old, new: new, kinds: kinds, ops: make([]Op, 0, len(old)+len(new))}
}

// lines returns the operations with their texts and line numbers.
func (a *aligner) lines(old, new *sequence) []Line {
	out := make([]Line, 0, len(a.ops))
	o, n := 0, 0
	for _, op := range a.ops {
		line := Line{Op: op, Old: o, New: n}
		switch op {
		case Same:
			line.Text = old.line(o)
			o, n = o+1, n+1
		case Removed:
			line.Text = old.line(o)
			o++
		case Added:
			line.Text = new.line(n)
			n++
		}
		out = append(out, line)
	}
	return out
}

// add appends an operation several times.
func (a *aligner) add(op Op, times int) {
	for range times {
		a.ops = append(a.ops, op)
	}
}

// align aligns like kapp up to the bound, and at anchors above it.
func (a *aligner) align() {
	head, tail := commonEnds(a.old, a.new)
	o, n := a.old[head:len(a.old)-tail], a.new[head:len(a.new)-tail]
	if !fitsExact(len(o), len(n), bound) {
		a.anchored(true)
		return
	}
	a.add(Same, head)
	a.subsequence(o, n)
	a.add(Same, tail)
}

// commonEnds counts the equal lines at the head and the tail. The tail leaves at least one line on
// each side, even if it is equal: kapp's alignment depends on it.
func commonEnds(old, new []int32) (head, tail int) {
	for head < len(old) && head < len(new) && old[head] == new[head] {
		head++
	}
	o, n := len(old)-1, len(new)-1
	for o > head && n > head && old[o] == new[n] {
		o, n, tail = o-1, n-1, tail+1
	}
	return head, tail
}
