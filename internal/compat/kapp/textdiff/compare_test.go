package textdiff

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unsafe"
)

// apply gives both texts back, and complains of wrong places.
func apply(t testing.TB, lines []Line) (string, string) {
	t.Helper()
	var old, new []string
	for i, line := range lines {
		if line.Old != len(old) || line.New != len(new) {
			t.Fatalf("record %d has places %d and %d, want %d and %d", i, line.Old, line.New, len(old),
				len(new))
		}
		if line.Op != Added {
			old = append(old, line.Text)
		}
		if line.Op != Removed {
			new = append(new, line.Text)
		}
	}
	return strings.Join(old, "\n"), strings.Join(new, "\n")
}

func checkApplies(t testing.TB, old, new string, anchored bool) []Line {
	t.Helper()
	lines := Compare(old, new, anchored)
	if gotOld, gotNew := apply(t, lines); gotOld != old || gotNew != new {
		t.Fatalf("%d bytes to %d, anchored %v: the records do not give the texts back", len(old),
			len(new), anchored)
	}
	return lines
}

func FuzzCompare(f *testing.F) {
	for _, seed := range [][2]string{{"", ""}, {"a\nb\n", "b\na\n"}, {"\n\n\n", "\n"}, {"a", "a\n"},
		{"a\na\na\nb", "b\na\na"}} {
		f.Add(seed[0], seed[1], uint16(0))
		f.Add(seed[0], seed[1], uint16(300))
	}
	f.Fuzz(func(t *testing.T, old, new string, times uint16) {
		checkApplies(t, old, new, false)
		// long enough for the other ways
		old, new = strings.Repeat(old+"\n", int(times%600)), strings.Repeat(new+"\n", int(times%600))
		checkApplies(t, old, new, true)
		for _, a := range []*aligner{large(old, new), large(old, new)} {
			a.greedy(a.old, a.new)
			checkOps(t, a)
		}
		a := large(old, new)
		a.anchored(true)
		checkOps(t, a)
	})
}

// large prepares what Compare does for large texts.
func large(old, new string) *aligner {
	o, n, kinds := numberLines(old, new)
	return newAligner(o.ids, n.ids, kinds)
}

// checkOps checks that the operations of an aligner lead from its old sequence to its new one.
func checkOps(t testing.TB, a *aligner) {
	t.Helper()
	old, new := a.old, a.new
	for i, op := range a.ops {
		if op == Same && (len(old) == 0 || len(new) == 0 || old[0] != new[0]) {
			t.Fatalf("operation %d calls different lines the same", i)
		}
		if op != Added {
			old = old[1:]
		}
		if op != Removed {
			new = new[1:]
		}
	}
	if len(old)+len(new) > 0 {
		t.Fatalf("%d old and %d new lines are left over", len(old), len(new))
	}
}

// table computes the alignment by the rule, with a table of numbers: what the bits stand for.
func byTable(old, new []int32) []Op {
	m := make([][]int, len(old)+1)
	for i := range m {
		m[i] = make([]int, len(new)+1)
		for j := 1; i > 0 && j <= len(new); j++ {
			m[i][j] = max(m[i-1][j], m[i][j-1])
			if old[len(old)-i] == new[len(new)-j] {
				m[i][j] = m[i-1][j-1] + 1
			}
		}
	}
	var ops []Op
	for i, j := len(old), len(new); i > 0 || j > 0; {
		switch {
		case i > 0 && m[i][j] == m[i-1][j]:
			ops, i = append(ops, Removed), i-1
		case j > 0 && m[i][j] == m[i][j-1]:
			ops, j = append(ops, Added), j-1
		default:
			ops, i, j = append(ops, Same), i-1, j-1
		}
	}
	return ops
}

// random returns a text of a few different lines, and a copy with some of its lines replaced,
// removed or inserted.
func random(r *rand.Rand, lines, kinds int, share float64) (string, string) {
	var old, new []string
	line := func() string { return fmt.Sprint("line ", r.IntN(kinds)) }
	for range lines {
		l := line()
		old = append(old, l)
		switch {
		case r.Float64() > share:
			new = append(new, l)
		case r.IntN(2) == 0:
			new = append(new, line(), line())
		}
	}
	return strings.Join(old, "\n"), strings.Join(new, "\n")
}

func TestSubsequence(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for round := range 300 {
		old, new := random(r, r.IntN(200), 1+r.IntN(40), r.Float64())
		a := large(old, new)
		a.subsequence(a.old, a.new)
		if want := byTable(a.old, a.new); !slices.Equal(a.ops, want) {
			t.Fatalf("round %d: got %v, want %v", round, a.ops, want)
		}
	}
}

// changes counts what is not common.
func changes(ops []Op) int {
	count := 0
	for _, op := range ops {
		if op != Same {
			count++
		}
	}
	return count
}

// TestGreedy compares with the shortest way: within its patience greedy finds one as short, and
// beyond it one that is not much longer.
func TestGreedy(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, share := range []float64{0, 0.01, 0.3, 1} {
		for _, kinds := range []int{1, 2, 5, 1000} {
			old, new := random(r, 3000, kinds, share)
			a := large(old, new)
			a.greedy(a.old, a.new)
			checkOps(t, a)
			best := changes(byTable(a.old, a.new))
			got := changes(a.ops)
			if best <= patience && got != best || got > best+best/2 {
				t.Errorf("share %v of %d kinds: %d changes, the fewest are %d", share, kinds, got, best)
			}
		}
	}
}

// TestAnchored covers an anchored comparison of more than 500 lines: what is between anchors is
// not aligned. With fewer lines the word means nothing.
func TestAnchored(t *testing.T) {
	old, new := "x\nsame\nsame\ny\n", "same\nz\nsame\n"
	for _, c := range []struct {
		anchors  int
		anchored bool
		want     string
	}{
		{300, true, "-x -same -same -y +same +z +same"},
		{300, false, "-x +z -y"},
		{200, true, "-x +z -y"},
	} {
		var before, after strings.Builder
		for i := range c.anchors {
			fmt.Fprintf(&before, "before %d\n", i)
			fmt.Fprintf(&after, "after %d\n", i)
		}
		var got []string
		for _, line := range checkApplies(t, before.String()+old+after.String(),
			before.String()+new+after.String(), c.anchored) {
			if line.Op != Same {
				got = append(got, string(" -+"[line.Op])+line.Text)
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%d anchors, anchored %v: got %v, want %s", c.anchors, c.anchored, got, c.want)
		}
	}
}

// bigSize is the size of large texts, in bytes: unless its lines are long, kapp's way is too slow.
const bigSize = 1 << 20

// big gives texts of about bigSize that differ at both ends.
func big(kind string) (string, string) {
	r := rand.New(rand.NewPCG(5, 6))
	var middle strings.Builder
	switch kind {
	case "one line":
		raw := make([]byte, bigSize*3/4)
		for i := range raw {
			raw[i] = byte(r.Uint32())
		}
		middle.WriteString(base64.StdEncoding.EncodeToString(raw))
	case "base64":
		raw := make([]byte, 57)
		for middle.Len() < bigSize {
			for i := range raw {
				raw[i] = byte(r.Uint32())
			}
			middle.WriteString("  " + base64.StdEncoding.EncodeToString(raw) + "\n")
		}
	case "short lines":
		for i := 0; middle.Len() < bigSize; i++ {
			fmt.Fprintf(&middle, "  k%d: v\n", i)
		}
	case "equal lines":
		for middle.Len() < bigSize {
			middle.WriteString("  - value\n")
		}
	case "nothing alike":
		for i := 0; middle.Len() < bigSize; i++ {
			fmt.Fprintf(&middle, "  k%d: v\n", i)
		}
		return middle.String(), strings.ReplaceAll(middle.String(), "k", "l")
	case "shuffled":
		for i := 0; middle.Len() < bigSize; i++ {
			fmt.Fprintf(&middle, "  k%d: v\n", r.IntN(100))
		}
		lines := strings.Split(middle.String(), "\n")
		r.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
		return middle.String(), strings.Join(lines, "\n")
	}
	return "first: a\n" + middle.String() + "last: a\n", "first: b\n" + middle.String() + "last: b\n"
}

// fewest is the number of changed lines where only the ends differ.
var fewest = map[string]int{"one line": 4, "base64": 4, "short lines": 4, "equal lines": 4}

var kinds = []string{"one line", "base64", "short lines", "equal lines", "nothing alike",
	"shuffled"}

// TestMemory bounds what is allocated for a large text with a change at both ends: ten times its
// size, or eight times and the records where there are many.
func TestMemory(t *testing.T) {
	for _, kind := range kinds {
		old, new := big(kind)
		for _, anchored := range []bool{false, true} {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			lines := Compare(old, new, anchored)
			runtime.ReadMemStats(&after)
			records := uint64(cap(lines)) * uint64(unsafe.Sizeof(Line{}))
			if used := after.TotalAlloc - before.TotalAlloc; used > max(10*bigSize, 8*bigSize+records) {
				t.Errorf("%s, anchored %v: %d KB, of which %d are records", kind, anchored, used>>10,
					records>>10)
			}
			if gotOld, gotNew := apply(t, lines); gotOld != old || gotNew != new {
				t.Errorf("%s, anchored %v: the records do not give the texts back", kind, anchored)
			}
			changed := strings.Count(FormatChanges(lines), "\n")
			if fewest[kind] > 0 && changed != fewest[kind] && !(anchored && kind == "equal lines") {
				t.Errorf("%s, anchored %v: %d changed lines, want %d", kind, anchored, changed, fewest[kind])
			}
		}
	}
}

func BenchmarkCompare(b *testing.B) {
	for _, kind := range kinds {
		old, new := big(kind)
		b.Run(strings.ReplaceAll(kind, " ", "-"), func(b *testing.B) {
			b.SetBytes(int64(len(old)))
			b.ReportAllocs()
			for b.Loop() {
				Compare(old, new, false)
			}
		})
	}
	old, new := random(rand.New(rand.NewPCG(7, 8)), 10000, 2000, 0.3)
	b.Run("exact-10000-lines", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			Compare(old, new, false)
		}
	})
}
