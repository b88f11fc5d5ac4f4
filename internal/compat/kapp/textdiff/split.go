package textdiff

import (
	"hash/maphash"
	"math/bits"
	"strings"
)

// sequence is a text as lines: the end of each, and a number that equal lines of both texts share.
type sequence struct {
	text string
	ends []int32 // index after the last byte of each line, without its newline
	ids  []int32
}

// line returns the text of a line.
func (s *sequence) line(i int) string {
	if i == 0 {
		return s.text[:s.ends[0]]
	}
	return s.text[s.ends[i-1]+1 : s.ends[i]]
}

// lineTable assigns numbers to the lines of two texts. It stores indexes and no copies of lines: a
// map of strings would need several times the memory.
type lineTable struct {
	seed  maphash.Seed
	slots []int32 // open addressing: number of a line plus one; the size is a power of two
	first []int32 // by number: the first such line; lines of the second text follow those of the first
	texts []*sequence
}

// numberLines assigns numbers to the lines of two texts and returns the number of different lines.
func numberLines(old, new string) (*sequence, *sequence, int) {
	countOld, countNew := count(old), count(new)
	expected := max(countOld, countNew)
	t := &lineTable{seed: maphash.MakeSeed(), first: make([]int32, 0, expected),
		slots: make([]int32, 1<<bits.Len(uint(expected+expected/2)))}
	o, n := t.add(old, countOld), t.add(new, countNew)
	return o, n, len(t.first)
}

// count returns the number of lines of a text.
func count(text string) int {
	if text == "" {
		return 0
	}
	return strings.Count(text, "\n") + 1
}

// add assigns numbers to the lines of one text.
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

// number returns the number of a line, which is line i of the last text.
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

// slot returns the slot of a line, which is free if the line is new.
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
