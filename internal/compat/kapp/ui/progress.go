package ui

import (
	"sync"
	"time"
)

// Item is a step of a run.
type Item struct {
	Word        string // the operation: "create", "update", "delete", "exists" or "noop"
	WaitWord    string // the goal of the wait: "reconcile", "delete" or "noop"
	Description string // the object; empty for a step that only joins others and is never printed
	Needs       []int  // the items that must be "ok", or released, before this one starts
}

// Kind is the kind of an Event.
type Kind int

// The kinds.
const (
	Written Kind = iota // the write succeeded, or there was nothing to write
	Refused             // the write failed for good: Err
	Retried             // the write failed and will be retried: Err
	GivenUp             // the last retry failed: Err
	Seen                // the object is waited for and was observed: State
	Settled             // the wait is over: State is "ok", "fail" or "error"
	Dropped             // the item was skipped, timed out or was cut short; no event follows
)

// Event is a fact about one item. Each item is Written, Refused, GivenUp or Dropped once, and a
// Written item is Settled or Dropped once. The event after a Written is the first state of that
// object, unless that state is not known yet.
type Event struct {
	Kind     Kind
	Step     int    // index of the item
	State    string // "ok", "ongoing", "fail" or "error"
	Message  string // the reason, in one line; may be empty
	Children []Child
	Released bool // the dependents of the item may start although it is not ready
	Last     bool // the run ends with this event; no state is printed after it
	Err      error
}

// Child is an object that a controller created for the object of an item.
type Child struct{ State, Description, Message string }

// Progress prints the events of a run as kapp does. kapp works in rounds: it writes everything that
// may start, then polls everything that it waits for until something is done. The engine starts
// each item as soon as its own needs allow, so Progress keeps events until their round.
//
// Progress prints the writes of a round in the order of the items, and likewise the states that
// follow them at once. The speed of single writes therefore does not change the text.
//
// Progress drops a block of lines that is equal to one of the last minute. Several goroutines may
// call its methods at the same time.
type Progress struct {
	ui *UI

	mu      sync.Mutex
	items   []item
	printed map[string]time.Time // blocks and headers, by their text

	total, written, settled int // items with an object, those written, and those whose wait is over
	waiting, unseen         int // items that are waited for, and those of them with no state printed
	ready                   int // items that may start and are not written
	kept                    int // items whose writes are kept

	queue []int // items for the rounds to come: those that may start, and those whose write is kept
	round []int // the items of the round, in order
	next  int   // the first one in round whose write is not printed
	open  bool  // not all writes of the round are printed

	states  []int     // items whose last state is kept, in the order of the events
	pass    int       // the number of the pass
	began   time.Time // when the pass began; it lasts for a span
	left    int       // items without a state in the pass, which ends when all have one
	older   int       // left counts the items whose last pass is older than this one
	changed bool      // an item was settled in the pass
	wrote   time.Time // when an item was Written, if no event has followed

	trouble bool // something failed; the run may end
	over    bool // no states are printed anymore
}

// item is the state of an Item.
type item struct {
	Item
	dependents []int
	unmet      int  // needs that are neither settled as "ok" nor released
	freed      bool // it may start
	released   bool // its dependents were informed

	queued  bool    // it is in the queue or in the round
	writes  []Event // kept until its round
	written bool    // it was written or refused
	waiting bool
	gone    bool // nothing more is printed

	state   *Event    // the last state, if it is kept
	last    Event     // the last state that was printed
	pass    int       // the pass of last; 0 for none
	printed time.Time // the time of last
	before  time.Time // the time of the state before last
}

// passLength is the duration of a pass. An item has at most two states printed in that time.
const passLength = time.Second

// NewProgress prints the header of the first round and returns the Progress of a run.
func NewProgress(u *UI, items []Item) *Progress {
	p := &Progress{ui: u, items: make([]item, len(items)), printed: map[string]time.Time{}}
	for i, it := range items {
		p.items[i].Item = it
		if it.Description != "" {
			p.total++
		}
		for _, need := range it.Needs {
			p.items[need].dependents = append(p.items[need].dependents, i)
			p.items[i].unmet++
		}
	}
	for i := range p.items {
		if len(p.items[i].Needs) == 0 {
			p.free(i)
		}
	}
	p.begin()
	return p
}

// Take records an event and prints what can be printed now.
func (p *Progress) Take(e Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	it := &p.items[e.Step]
	if it.Description == "" || it.gone {
		return
	}
	p.wrote = time.Time{}
	switch e.Kind {
	case Written, Refused, Retried, GivenUp:
		if it.written {
			return
		}
		if len(it.writes) == 0 {
			p.kept++
		}
		it.writes = append(it.writes, e)
		p.enqueue(e.Step)
	case Dropped:
		if len(it.writes) == 0 {
			p.leave(it)
		} else {
			p.keep(e)
		}
	default:
		p.keep(e)
	}
	if e.Kind == Written {
		p.wrote = p.ui.options.Now()
	}
	p.advance()
}

// Note prints a block of lines that belongs to no round, such as why an object is not ready.
func (p *Progress) Note(block ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.print(block...)
}

// Tick prints states that were too early to print, and repeats states that were printed more than a
// minute ago. The caller calls it about once a second.
func (p *Progress) Tick() {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.ui.options.Now()
	if p.open || !p.wrote.IsZero() && now.Sub(p.wrote) < passLength {
		return
	}
	p.wrote = time.Time{}
	p.advance()
	for i := range p.items {
		it := &p.items[i]
		if it.waiting && !it.printed.IsZero() && now.Sub(it.printed) > repeatAfter {
			p.waitingHeader()
			p.printState(it, it.last)
		}
	}
}

// End prints all that is kept and, after a complete run, the last headers.
func (p *Progress) End(complete bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range p.items {
		it := &p.items[i]
		if it.Description != "" && !it.written && len(it.writes) == 0 {
			p.leave(it)
		}
	}
	p.trouble, p.wrote = true, time.Time{}
	p.advance()
	if complete {
		p.header("applying complete [%d/%d done]", p.written, p.total)
		p.header("waiting complete [%d/%d done]", p.settled, p.total)
	}
}
