package textdiff

import (
	"hash/maphash"
	"math/bits"
	"strings"
)

// sequence is a text as lines: where each ends, and a number that equal lines share, on both sides of a comparison.
type sequence struct {
	text string
	ends []int32 // the place behind the last byte of each line, which holds a newline for all but the last
	ids  []int32
}

// line gives the text of a line.
func (s *sequence) line(i int) string {
	if i == 0 {
		return s.text[:s.ends[0]]
	}
	return s.text[s.ends[i-1]+1 : s.ends[i]]
}

// table numbers the lines of two texts. It holds places and no copies of lines: a map of strings would need several times the
// memory.
type lineTable struct {
	seed  maphash.Seed
	slots []int32 // open addressing: number of a line, plus one; the size is a power of two
	first []int32 // by number: the first such line; those of the second text are counted on from those of the first
	texts []*sequence
}

// split numbers the lines of two texts, and gives how many different lines there are.
func numberLines(old, new string) (*sequence, *sequence, int) {
	countOld, countNew := count(old), count(new)
	expected := max(countOld, countNew)
	t := &lineTable{seed: maphash.MakeSeed(), first: make([]int32, 0, expected), slots: make([]int32, 1<<bits.Len(uint(expected+expected/2)))}
	o, n := t.add(old, countOld), t.add(new, countNew)
	return o, n, len(t.first)
}

// count is the number of lines of a text.
func count(text string) int {
	if text == "" {
		return 0
	}
	return strings.Count(text, "\n") + 1
}

// add numbers the lines of one text, of which there are so many.
func (t *lineTable) add(text string, lines int) *sequence {
	s := &sequence{text: text, ends: make([]int32, 0, lines), ids: make([]int32, lines)}
	t.texts = append(t.texts, s)
	for i := range s.ids {
		begin := 0
		if i > 0 {
			begin = int(s.ends[i-1]) + 1
		}
		end := strings.IndexByte(text[begin:], '\n') + begin
		if i == lines-1 {
			end = len(text)
		}
		s.ends = append(s.ends, int32(end))
		s.ids[i] = t.number(text[begin:end], i)
	}
	return s
}

// number gives the number of a line, which is the line i of the last text.
func (t *lineTable) number(line string, i int) int32 {
	at := t.slot(line)
	if t.slots[at] != 0 {
		return t.slots[at] - 1
	}
	if len(t.texts) == 2 {
		i += len(t.texts[0].ids)
	}
	t.first = append(t.first, int32(i))
	t.slots[at] = int32(len(t.first))
	if 4*len(t.first) > 3*len(t.slots) {
		t.slots = make([]int32, 2*len(t.slots))
		for id := range t.first {
			t.slots[t.slot(t.text(int32(id)))] = int32(id) + 1
		}
	}
	return int32(len(t.first) - 1)
}

// slot gives the place of a line in the table, which is free if the line is new.
func (t *lineTable) slot(line string) int {
	mask := len(t.slots) - 1
	at := int(maphash.String(t.seed, line)) & mask
	for t.slots[at] != 0 && t.text(t.slots[at]-1) != line {
		at = (at + 1) & mask
	}
	return at
}

func (t *lineTable) text(id int32) string {
	i := int(t.first[id])
	if old := len(t.texts[0].ids); i >= old {
		return t.texts[1].line(i - old)
	}
	return t.texts[0].line(i)
}
