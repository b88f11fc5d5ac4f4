package ui

import (
	"slices"
	"time"

	"github.com/muster-deploy/muster/internal/base/plaintext"
)

// advance prints events up to the first one that has not come yet: a write of the round, or the
// state that follows a write.
func (p *Progress) advance() {
	for !p.open || p.printWrites() {
		if !p.wrote.IsZero() {
			return
		}
		p.printStates()
		if p.begin() {
			continue
		}
		if p.left == 0 && p.changed && p.waiting > 0 {
			p.beginPass()
		}
		return
	}
}

// free lets an item start.
func (p *Progress) free(i int) {
	it := &p.items[i]
	switch {
	case it.freed:
		return
	case it.Description == "":
		p.release(it)
	case !it.written && !it.gone:
		p.ready++
		p.enqueue(i)
	}
	it.freed = true
}

// release lets the dependents of an item start that need nothing else.
func (p *Progress) release(it *item) {
	if it.released {
		return
	}
	it.released = true
	for _, i := range it.dependents {
		if p.items[i].unmet--; p.items[i].unmet == 0 {
			p.free(i)
		}
	}
}

func (p *Progress) enqueue(i int) {
	if it := &p.items[i]; !it.queued {
		it.queued = true
		p.queue = append(p.queue, i)
	}
}

// begin begins a round with the items of the queue that may start, and reports whether there are
// any.
func (p *Progress) begin() bool {
	if p.kept == 0 && (p.trouble || p.left > 0) {
		return false
	}
	p.collect()
	if len(p.round) == 0 && p.kept > 0 {
		p.free(p.queue[0]) // the run started it, whatever its needs
		p.collect()
	}
	if len(p.round) == 0 {
		return false
	}
	p.open, p.next = true, 0
	p.header("applying %d changes [%d/%d done]", p.ready, p.written, p.total)
	return true
}

// collect moves items from the queue to the round.
func (p *Progress) collect() {
	queue := p.queue
	p.queue, p.round = nil, nil
	for _, i := range queue {
		switch it := &p.items[i]; {
		case it.freed && !it.gone:
			p.round = append(p.round, i)
		case !it.gone:
			p.queue = append(p.queue, i)
		}
	}
	slices.Sort(p.round)
}

// printWrites prints the writes of the round in order, and reports whether all are printed.
func (p *Progress) printWrites() bool {
	for ; p.next < len(p.round); p.next++ {
		it := &p.items[p.round[p.next]]
		if it.gone {
			continue
		}
		if len(it.writes) == 0 {
			return false
		}
		for _, e := range it.writes {
			p.printWrite(it, e)
		}
		it.queued, it.writes = false, nil
		p.kept--
	}
	p.open = false
	if p.waiting > 0 {
		p.beginPass()
	}
	return true
}

func (p *Progress) printWrite(it *item, e Event) {
	block := []string{it.Word + " " + it.Description}
	switch {
	case e.Kind == Retried || e.Kind == GivenUp:
		block = append(block, p.ui.Paint(Faint, " ^ ")+"Retryable error: "+
			plaintext.Printable(e.Err.Error()))
	case e.Kind == Written && e.Message != "":
		block = append(block, p.ui.Paint(Faint, " ^ ")+plaintext.Printable(e.Message))
	}
	p.print(block...)
	if e.Kind == Retried {
		return
	}
	it.written = true
	p.written++
	p.ready--
	if e.Kind == Written {
		it.waiting = true
		p.waiting++
		p.unseen++
		return
	}
	p.trouble, p.over = true, p.over || e.Last
}

// beginPass begins to wait. After a failure the run may be about to end, so the next state does it.
func (p *Progress) beginPass() {
	if p.began = (time.Time{}); !p.trouble {
		p.newPass()
	}
}

// newPass begins a pass, which ends when each new item has a state or, if there are no new items,
// when each item that is waited for has one.
func (p *Progress) newPass() {
	p.pass++
	p.began, p.changed = p.ui.options.Now(), false
	if p.left, p.older = p.unseen, 1; p.left == 0 {
		p.left, p.older = p.waiting, p.pass
	}
	p.waitingHeader()
}

// look counts an item as one that has a state in this pass.
func (p *Progress) look(it *item) {
	if it.pass == 0 {
		p.unseen--
	}
	if it.pass < p.older {
		p.left--
	}
	it.pass = p.pass
}

// keep records a state of an item until it can be printed.
func (p *Progress) keep(e Event) {
	it := &p.items[e.Step]
	switch {
	case it.state == nil:
		p.states = append(p.states, e.Step)
	case it.state.Kind != Seen:
		return
	default:
		e.Released = e.Released || it.state.Released
	}
	it.state = &e
}

// printStates prints the states that are kept: those of the round in the order of the items, then
// all others. An object that changes quickly has two states printed in a second.
func (p *Progress) printStates() {
	now := p.ui.options.Now()
	states := append(p.round, p.states...)
	p.round, p.states = nil, nil
	for _, i := range states {
		it := &p.items[i]
		switch e := it.state; {
		case e == nil:
		case len(it.writes) > 0, e.Kind == Seen && !e.Released && now.Sub(it.before) < passLength:
			p.states = append(p.states, i)
		case e.Kind == Dropped:
			p.leave(it)
		default:
			it.state = nil
			p.report(it, *e, now)
		}
	}
}

// report prints a state. A second state of an item begins a new pass, as does a late one.
func (p *Progress) report(it *item, e Event, now time.Time) {
	if !it.waiting || p.over {
		return
	}
	if it.pass == p.pass || now.Sub(p.began) >= passLength {
		p.newPass()
	}
	p.look(it)
	it.last = e
	p.printState(it, e)
	p.over = p.over || e.Last
	if e.Kind == Settled {
		it.waiting, it.gone, it.last, p.changed = false, true, Event{}, true
		p.trouble = p.trouble || e.State != "ok"
		p.waiting--
		p.settled++
	}
	if e.Released || e.Kind == Settled && e.State == "ok" {
		p.release(it)
	}
}

// leave ends an item of which nothing more is printed.
func (p *Progress) leave(it *item) {
	it.gone, p.trouble = true, true
	if it.waiting {
		it.waiting = false
		p.waiting--
		p.look(it)
	}
	if it.freed && !it.written {
		p.ready--
	}
}
