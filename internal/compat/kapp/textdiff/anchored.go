package textdiff

import "slices"

// pair is an index in the old sequence and one in the new.
type pair struct{ old, new int32 }

// anchored aligns at anchors: lines that occur once on both sides, as many as have the same order
// on both. Each anchor is extended by the equal lines around it. Lines between anchors are removed
// and added, or aligned if refine is true.
func (a *aligner) anchored(refine bool) {
	var done pair
	for _, anchor := range a.anchors() {
		if anchor.old < done.old {
			continue // inside the last extended anchor
		}
		begin, end := anchor, anchor
		for begin.old > done.old && begin.new > done.new && a.old[begin.old-1] == a.new[begin.new-1] {
			begin.old, begin.new = begin.old-1, begin.new-1
		}
		for int(end.old) < len(a.old) && int(end.new) < len(a.new) && a.old[end.old] == a.new[end.new] {
			end.old, end.new = end.old+1, end.new+1
		}
		a.between(a.old[done.old:begin.old], a.new[done.new:begin.new], refine)
		a.add(Same, int(end.old-begin.old))
		done = end
	}
}

// between aligns the lines between two anchors.
func (a *aligner) between(old, new []int32, refine bool) {
	switch {
	case !refine:
		a.add(Removed, len(old))
		a.add(Added, len(new))
	case fitsExact(len(old), len(new), boundBetween):
		a.subsequence(old, new)
	default:
		a.greedy(old, new)
	}
}

// anchors returns the longest increasing sequence of lines that are unique on both sides
// (Szymanski's method), and the end of both texts.
func (a *aligner) anchors() []pair {
	places := a.unique()
	// tails[k] is the smallest new index at the end of an increasing sequence of k+1 pairs.
	// lengths has the length, less one, of the longest sequence that ends at each pair.
	tails := make([]int32, 0, len(places))
	lengths := make([]int32, len(places))
	for i, p := range places {
		k, _ := slices.BinarySearch(tails, p.new)
		if k == len(tails) {
			tails = append(tails, 0)
		}
		tails[k] = p.new
		lengths[i] = int32(k)
	}
	out := make([]pair, len(tails)+2)
	out[len(out)-1] = pair{int32(len(a.old)), int32(len(a.new))}
	wanted := len(tails) - 1
	for i := len(places) - 1; i >= 0 && wanted >= 0; i-- {
		if int(lengths[i]) == wanted {
			out[wanted+1] = places[i]
			wanted--
		}
	}
	return out
}

// unique returns the lines that occur once on both sides, in the order of the old text.
func (a *aligner) unique() []pair {
	const none, many = 0, -1
	at := make([]int32, a.kinds) // index in the new text plus one
	for i, id := range a.new {
		if at[id] == none {
			at[id] = int32(i + 1)
		} else {
			at[id] = many
		}
	}
	seen := make([]bool, a.kinds)
	for _, id := range a.old {
		if seen[id] {
			at[id] = many
		}
		seen[id] = true
	}
	found := 0
	for _, id := range a.old {
		if at[id] > none {
			found++
		}
	}
	out := make([]pair, 0, found)
	for i, id := range a.old {
		if at[id] > none {
			out = append(out, pair{int32(i), at[id] - 1})
		}
	}
	return out
}
