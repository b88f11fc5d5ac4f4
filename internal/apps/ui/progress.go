package ui

import (
	"fmt"
	"sync"
	"time"
)

// Item is a step of a run, as its lines name it.
type Item struct {
	Word        string // what is done: "create", "update", "delete", "exists" or "noop"
	WaitWord    string // what is waited for: "reconcile", "delete" or "noop"
	Description string // the object; empty for a step that only joins others, which is never told
	Needs       []int  // the items that must have settled well, or been released, before it may start
}

// Kind tells what happened to an item.
type Kind int

// The kinds.
const (
	Written Kind = iota // the write is over, or there was none to do
	Refused             // the write failed for good: Err
	Retried             // the write failed and is tried again: Err
	GivenUp             // the write failed again, and the time for trying is up: Err
	Seen                // the object is waited for and is in a State
	Settled             // the object came to its last State: "ok", or "fail" or "error"
	Left                // nothing more will happen: it was skipped, took too long, or the run ended before
)

// Event is one fact about one item. An item is Written, Refused, GivenUp or Left once, and Settled or Left once after it was Written.
type Event struct {
	Kind     Kind
	Step     int    // index of the item
	State    string // "ok", "ongoing", "fail" or "error"
	Message  string // why, in one line; may be empty
	Children []Child
	Released bool // those that need the item may start although it is not ready
	Last     bool // the run ends with it, so that nothing is told of waiting any more
	Err      error
}

// Child is an object that another one was made for, while that one is waited for.
type Child struct{ State, Description, Message string }

// Progress prints the lines of a run as kapp does, which works in turns: a round writes all that may start, then passes look at
// all that is waited for until one of them is done. Events that come out of turn are held back until it is theirs. A block that is
// the same as one of the last minute is dropped. Its methods may be called at the same time by several goroutines.
type Progress struct {
	ui *UI

	mu    sync.Mutex
	items []item
	told  map[string]time.Time // blocks and headers, by their text

	total, written, settled int // items with an object; of them those that were written, and those that were waited for
	waiting, ready          int // those that are waited for now, and those that may start

	startable []int // those that may start, and some that have started
	open      bool  // a round is under way
	pending   int   // those of the round that have not been written
	fresh     bool  // what is held back for the round was not told yet
	succeeded bool  // one of the round was written

	pass    int       // the number of the pass
	left    int       // those that were not seen in the pass
	news    bool      // the pass looks for those that were never seen; of the others nothing needs to be new
	unseen  int       // those that are waited for and were never seen
	began   time.Time // when the pass began
	changed bool      // something settled in the pass

	writes []Event // held back, in order
	seen   []int   // items whose last sight is held back, in order; -1 for one that moved to the end

	trouble bool // something did not go well, so that the run may end
	ending  bool // nothing is written any more but what is held back
	over    bool // nothing is told of waiting any more
}

// item is what the printer knows of an Item.
type item struct {
	Item
	dependants []int
	unmet      int       // needs that have not settled well
	freed      bool      // it may start
	passed     bool      // its dependants know that it has settled well, or was released
	pending    bool      // the round waits for its write
	written    bool      // it was written or refused
	gone       bool      // nothing more is to be told of it
	waiting    bool      // it is waited for
	deferred   int       // how many of its writes are held back
	pass       int       // the last one in which it was seen
	held       Event     // its last sight, while held back
	heldAt     int       // its place among those held back; -1 for none
	last       Event     // its last sight
	told       time.Time // when it was told
	before     time.Time // when it was told the time before
	later      *Event    // its last sight, where that is told later
}

// NewProgress begins the lines of a run with these items.
func NewProgress(u *UI, items []Item) *Progress {
	p := &Progress{ui: u, items: make([]item, len(items)), told: map[string]time.Time{}}
	for i, it := range items {
		p.items[i].Item = it
		p.items[i].heldAt = -1
		if it.Description != "" {
			p.total++
		}
		for _, need := range it.Needs {
			p.items[need].dependants = append(p.items[need].dependants, i)
			p.items[i].unmet++
		}
	}
	for i := range p.items {
		if len(p.items[i].Needs) == 0 {
			p.free(i)
		}
	}
	if p.ready > 0 {
		p.begin()
	}
	return p
}

// Take prints what an event gives to print now.
func (p *Progress) Take(e Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	it := &p.items[e.Step]
	if it.Description == "" || it.gone {
		return
	}
	switch e.Kind {
	case Written, Refused, Retried, GivenUp:
		switch {
		case it.written:
			return
		case it.pending:
			p.write(e)
		default:
			it.deferred++
			p.writes = append(p.writes, e)
		}
	case Left:
		p.leave(e)
	default:
		if p.postpone(it, e) {
			return
		}
		p.hold(e)
	}
	p.settle()
}

// postpone keeps a sight for later if the item was told of twice within the last second: objects that change quickly, as while
// their pods start, are not told of at every step.
func (p *Progress) postpone(it *item, e Event) bool {
	it.later = nil
	if e.Kind != Seen || e.Released || it.before.IsZero() || p.ui.options.Now().Sub(it.before) >= span {
		return false
	}
	it.later = &e
	return true
}

// Tick tells what was postponed, and again what was not told for a minute. It is called every second or so.
func (p *Progress) Tick() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open || p.waiting == 0 {
		return
	}
	now := p.ui.options.Now()
	for i := range p.items {
		it := &p.items[i]
		if later := it.later; later != nil && now.Sub(it.before) >= span {
			it.later = nil
			p.hold(*later)
		}
	}
	p.settle()
	for i := range p.items {
		it := &p.items[i]
		if it.waiting && !it.told.IsZero() && now.Sub(it.told) > memory {
			p.header("waiting on %d changes [%d/%d done]", p.waiting, p.settled, p.total)
			p.show(it, it.last)
		}
	}
}

// End tells what is held back still and, where all has settled well, that the run is complete.
func (p *Progress) End(complete bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ending, p.trouble = true, true
	if p.open {
		for _, i := range p.startable {
			p.items[i].pending = false
		}
		p.close()
	}
	p.settle()
	if complete {
		p.header("applying complete [%d/%d done]", p.written, p.total)
		p.header("waiting complete [%d/%d done]", p.settled, p.total)
	}
}

func (p *Progress) header(format string, values ...any) {
	p.tell("---- " + fmt.Sprintf(format, values...) + " ----")
}
