package ui

import (
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// simulation is a run of an engine that writes several items at once and starts every item as soon
// as its needs allow. An item is ready once it is written, unless it is slow.
type simulation struct {
	random  *rand.Rand
	items   []Item
	slow    map[int]bool
	started map[int]bool
	done    map[int]bool
	writing []int
	waiting []int
	now     time.Time
}

// randomItems returns a graph of items, of which some only join others.
func randomItems(random *rand.Rand) []Item {
	var items []Item
	for i := range 2 + random.IntN(30) {
		it := Item{Word: "create", WaitWord: "reconcile", Description: fmt.Sprintf("configmap/c%d", i)}
		if i > 0 && random.IntN(8) == 0 {
			it.Description = ""
		}
		for range random.IntN(3) {
			if i > 0 {
				it.Needs = append(it.Needs, random.IntN(i))
			}
		}
		items = append(items, it)
	}
	return items
}

// print runs the items and returns the text without the times.
func (s *simulation) print() string {
	var out strings.Builder
	s.now = time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC)
	u := New(Options{Out: &out, Err: io.Discard, Now: func() time.Time { return s.now }})
	p := NewProgress(u, s.items)
	for s.start(); len(s.writing)+len(s.waiting) > 0; s.start() {
		s.pass(p, 3*time.Second)
		if n := s.random.IntN(len(s.writing) + len(s.waiting)); n < len(s.writing) {
			s.write(p, take(&s.writing, n))
		} else {
			i := take(&s.waiting, n-len(s.writing))
			s.done[i] = true
			p.Take(Event{Kind: Settled, Step: i, State: "ok"})
		}
	}
	p.End(true)
	u.Quiet()
	u.Close(nil)
	var text strings.Builder
	for line := range strings.Lines(out.String()) {
		_, line, _ = strings.Cut(line, "M: ")
		text.WriteString(line)
	}
	return text.String()
}

// start starts whatever may start, up to five at once.
func (s *simulation) start() {
	for i := 0; i < len(s.items); i++ {
		ready := !s.started[i] && len(s.writing) < 5
		for _, need := range s.items[i].Needs {
			ready = ready && s.done[need]
		}
		switch {
		case !ready:
		case s.items[i].Description == "":
			s.started[i], s.done[i] = true, true
			i = -1
		default:
			s.started[i] = true
			s.writing = append(s.writing, i)
		}
	}
}

// write ends a write. The engine judges the answer before anything else happens.
func (s *simulation) write(p *Progress, i int) {
	p.Take(Event{Kind: Written, Step: i})
	s.pass(p, 900*time.Millisecond)
	if s.slow[i] {
		s.waiting = append(s.waiting, i)
		p.Take(Event{Kind: Seen, Step: i, State: "ongoing"})
		return
	}
	s.done[i] = true
	p.Take(Event{Kind: Settled, Step: i, State: "ok"})
}

// pass lets time pass, and the clock tick.
func (s *simulation) pass(p *Progress, most time.Duration) {
	s.now = s.now.Add(time.Duration(s.random.Int64N(int64(most))))
	if s.random.IntN(3) == 0 {
		p.Tick()
	}
}

func take(from *[]int, n int) int {
	i := (*from)[n]
	*from = append((*from)[:n:n], (*from)[n+1:]...)
	return i
}

// expected returns the text of kapp for items that are ready once they are written.
func expected(items []Item) string {
	rounds := make([]int, len(items)) // the round in which the dependents of an item start
	last, total := 0, 0
	for i, it := range items {
		for _, need := range it.Needs {
			rounds[i] = max(rounds[i], rounds[need])
		}
		if it.Description != "" {
			rounds[i]++
			total++
		}
		last = max(last, rounds[i])
	}
	var b strings.Builder
	done := 0
	for round := 1; round <= last; round++ {
		var creates, oks []string
		for i, it := range items {
			if it.Description != "" && rounds[i] == round {
				creates = append(creates, "create "+it.Description+"\n")
				oks = append(oks, "ok: reconcile "+it.Description+"\n")
			}
		}
		fmt.Fprintf(
			&b,
			"---- applying %d changes [%d/%d done] ----\n%s",
			len(creates),
			done,
			total,
			strings.Join(creates, ""),
		)
		fmt.Fprintf(
			&b,
			"---- waiting on %d changes [%d/%d done] ----\n%s",
			len(oks),
			done,
			total,
			strings.Join(oks, ""),
		)
		done += len(oks)
	}
	fmt.Fprintf(&b, "---- applying complete [%d/%d done] ----\n", total, total)
	fmt.Fprintf(&b, "---- waiting complete [%d/%d done] ----\n", total, total)
	return b.String()
}

// TestReadyWhenWritten prints many runs of objects that are ready once they are written. The text
// depends on the graph only, and not on the order in which the writes end.
func TestReadyWhenWritten(t *testing.T) {
	for seed := range uint64(300) {
		items := randomItems(rand.New(rand.NewPCG(seed, 1)))
		want := expected(items)
		for order := range uint64(5) {
			s := newSimulation(items, rand.New(rand.NewPCG(seed, order)))
			if got := s.print(); got != want {
				t.Fatalf("graph %d, order %d: got\n%s\nwant\n%s", seed, order, got, want)
			}
		}
	}
}

// TestReadyBesideSlow prints runs in which some objects become ready late. All others are printed
// as reconciled in the round in which they were written.
func TestReadyBesideSlow(t *testing.T) {
	for seed := range uint64(600) {
		random := rand.New(rand.NewPCG(seed, 2))
		s := newSimulation(randomItems(random), random)
		for i := range s.items {
			s.slow[i] = random.IntN(4) == 0
		}
		text := s.print()
		for i, it := range s.items {
			if it.Description == "" || s.slow[i] {
				continue
			}
			_, after, _ := strings.Cut(text, "create "+it.Description+"\n")
			if round, _, _ := strings.Cut(after, "---- applying"); !strings.Contains(
				round,
				"ok: reconcile "+it.Description+"\n",
			) {
				t.Fatalf("graph %d: item %d is reconciled in another round:\n%s", seed, i, text)
			}
		}
	}
}

func newSimulation(items []Item, random *rand.Rand) *simulation {
	return &simulation{
		random:  random,
		items:   items,
		slow:    map[int]bool{},
		started: map[int]bool{},
		done:    map[int]bool{},
	}
}
