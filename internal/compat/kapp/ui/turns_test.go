package ui

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// run is a run of an engine that starts whatever may start, in any order, and does not work in
// rounds.
type run struct {
	random  *rand.Rand
	items   []Item
	state   []string // "", "writing", "waiting", "ok", "bad"
	written map[int]bool
	settled map[int]bool
	trouble bool
}

func randomRun(seed uint64, trouble bool) *run {
	r := &run{
		random:  rand.New(rand.NewPCG(seed, 1)),
		written: map[int]bool{},
		settled: map[int]bool{},
		trouble: trouble,
	}
	for i := range 2 + r.random.IntN(40) {
		it := Item{
			Word:        "create",
			WaitWord:    "reconcile",
			Description: fmt.Sprintf("configmap/c%d (v1) namespace: demo", i),
		}
		if r.random.IntN(8) == 0 {
			it.Description = ""
		}
		for range r.random.IntN(3) {
			if i > 0 {
				it.Needs = append(it.Needs, r.random.IntN(i))
			}
		}
		r.items = append(r.items, it)
	}
	r.state = make([]string, len(r.items))
	return r
}

// next makes one event, or none when nothing more can happen.
func (r *run) next() (e Event, ok bool) {
	for _, i := range r.random.Perm(len(r.items)) {
		e = Event{Step: i}
		switch r.state[i] {
		case "":
			worst := "ok"
			for _, need := range r.items[i].Needs {
				if r.state[need] != "ok" && worst != "bad" {
					worst = r.state[need]
				}
			}
			switch {
			case worst == "bad":
				r.state[i], e.Kind = "bad", Dropped
				return e, true
			case worst != "ok":
				continue
			case r.items[i].Description == "":
				r.state[i] = "ok"
			default:
				r.state[i] = "writing"
			}
			return r.next()
		case "writing":
			return r.write(e), true
		case "waiting":
			return r.wait(e), true
		}
	}
	return Event{}, false
}

func (r *run) write(e Event) Event {
	switch n := r.random.IntN(20); {
	case n < 4:
		e.Kind, e.Err = Retried, errors.New("passes")
	case n == 4 && r.trouble:
		r.state[e.Step], e.Kind, e.Err = "bad", Refused, errors.New("refused")
		r.written[e.Step] = true
	default:
		r.state[e.Step], e.Kind = "waiting", Written
		r.written[e.Step] = true
	}
	return e
}

func (r *run) wait(e Event) Event {
	e.State = "ok"
	switch n := r.random.IntN(20); {
	case n < 6:
		e.Kind, e.State, e.Message = Seen, "ongoing", fmt.Sprint("step ", n)
	case n == 6 && r.trouble:
		r.state[e.Step], e.Kind = "bad", Dropped
	case n == 7 && r.trouble:
		r.state[e.Step], e.Kind, e.State = "bad", Settled, "fail"
		r.settled[e.Step] = true
	default:
		r.state[e.Step], e.Kind = "ok", Settled
		r.settled[e.Step] = true
	}
	return e
}

// TestAnyOrder makes many runs. Whatever the order of events, each write and each end is printed
// once, no item before its needs, and no end before the write.
func TestAnyOrder(t *testing.T) {
	for seed := range uint64(600) {
		r := randomRun(seed, seed%2 == 1)
		var out strings.Builder
		now := time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC)
		u := New(Options{Out: &out, Err: io.Discard, Now: func() time.Time { return now }})
		p := NewProgress(u, r.items)
		cut := -1
		for {
			e, ok := r.next()
			if !ok {
				break
			}
			if r.trouble && r.random.IntN(200) == 0 {
				cut = e.Step // the run ends here, and no event of the item follows
				break
			}
			p.Take(e)
			now = now.Add(time.Duration(r.random.IntN(300)) * time.Millisecond)
		}
		p.End(!r.trouble)
		u.Quiet()
		u.Close(nil)
		if r.check(t, cut, out.String()); t.Failed() {
			t.Fatalf("seed %d:\n%s", seed, out.String())
		}
	}
}

// check compares the lines with what happened to all items but one.
func (r *run) check(t *testing.T, but int, text string) {
	t.Helper()
	place := func(i int, words ...string) (at, count int) {
		for _, word := range words {
			line := ": " + word + " " + r.items[i].Description + "\n"
			if n := strings.Count(text, line); n > 0 {
				return strings.LastIndex(text, line), n
			}
		}
		return -1, 0
	}
	for i, it := range r.items {
		if it.Description == "" || i == but {
			continue
		}
		write, _ := place(i, "create")
		end, ends := place(i, "ok: reconcile", "fail: reconcile")
		if r.written[i] && write < 0 || r.settled[i] != (ends == 1) || ends > 1 ||
			ends == 1 && end < write {
			t.Errorf("item %d is written at %d and ends %d times, at %d", i, write, ends, end)
		}
		for _, need := range it.Needs {
			if at, _ := place(need, "ok: reconcile"); r.written[i] && r.items[need].Description != "" &&
				at > write {
				t.Errorf("item %d is written before item %d ends", i, need)
			}
		}
	}
	if strings.Contains(text, " 0 changes") {
		t.Error("a header has no changes")
	}
	if complete := strings.Contains(text, "waiting complete"); complete == r.trouble {
		t.Errorf("complete is %v", complete)
	}
}
