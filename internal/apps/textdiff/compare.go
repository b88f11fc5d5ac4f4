// Package textdiff compares two texts line by line and writes the difference in kapp's form.
//
// Up to a bound the alignment is kapp's: equal head and tail are set aside, and of the rest a longest common subsequence is
// taken, in which a removal comes before an addition where either would do. Larger texts are aligned at the lines that occur
// once on both sides, and time and memory stay close to linear in the size of the texts. The package knows nothing of objects.
package textdiff

// Op says on which side a line stands.
type Op byte

const (
	Same    Op = iota // on both sides
	Removed           // in the old text alone
	Added             // in the new text alone
)

// Line is one record of a comparison. Old and New count from zero: the place of the line on its own side, and on the other the
// place of the next line there that has not been told yet. Text has no newline and shares the memory of the compared texts.
type Line struct {
	Op       Op
	Text     string
	Old, New int
}

// anchoredFrom is the number of lines above which an anchored comparison differs from the other.
const anchoredFrom = 500

// Compare aligns two texts. The lines that are not Added, joined with newlines, are the old text, those that are not Removed
// the new one. A newline at the end of a text gives an empty last line, as kapp has it; an empty text has no lines at all.
// The texts have less than 2 GB. With anchored, texts of more than 500 lines are aligned at nothing but the lines that occur once on both sides and what
// surrounds these.
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

// aligner collects the operations that lead from one sequence of lines to another. Equal lines have equal numbers.
type aligner struct {
	old, new []int32
	kinds    int // how many numbers there are
	ops      []Op

	bits []uint64 // of the last matrix, used again
	last []int32  // of chains, used again
}

func newAligner(old, new []int32, kinds int) *aligner {
	return &aligner{old: old, new: new, kinds: kinds, ops: make([]Op, 0, len(old)+len(new))}
}

// lines gives the operations with their texts and places.
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

// add appends an operation a number of times.
func (a *aligner) add(op Op, times int) {
	for range times {
		a.ops = append(a.ops, op)
	}
}

// align is the comparison that is not anchored: kapp's up to the bound, and above it at anchors.
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

// ends counts the equal lines at the head and at the tail. The tail leaves one line on each side that the head has not taken,
// even if it is equal: kapp's alignment depends on it.
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
