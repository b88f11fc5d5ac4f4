package ui

import (
	"slices"
	"time"
)

// span is how long a pass lasts at most: what is seen later belongs to the next one.
const span = time.Second

// free lets an item start. One that only joins others has settled with that.
func (p *Progress) free(i int) {
	for free := []int{i}; len(free) > 0; {
		i, free = free[len(free)-1], free[:len(free)-1]
		it := &p.items[i]
		if it.freed {
			continue
		}
		it.freed = true
		if it.Description != "" {
			if !it.written && !it.gone {
				p.ready++
				p.startable = append(p.startable, i)
			}
			continue
		}
		free = append(free, p.passing(it)...)
	}
}

// passing tells the dependants of an item that it has settled well or was released, and gives those that may start by that.
func (p *Progress) passing(it *item) []int {
	if it.passed {
		return nil
	}
	it.passed = true
	var free []int
	for _, i := range it.dependants {
		if p.items[i].unmet--; p.items[i].unmet == 0 {
			free = append(free, i)
		}
	}
	return free
}

// begin begins a round with all that may start.
func (p *Progress) begin() {
	rest := p.startable[:0]
	p.pending = 0
	for _, i := range p.startable {
		it := &p.items[i]
		if it.written || it.gone {
			continue
		}
		rest = append(rest, i)
		if it.pending = it.deferred > 0 || !p.ending; it.pending {
			p.pending++
		}
	}
	p.startable = rest
	p.open, p.fresh, p.succeeded = true, true, false
	p.header("applying %d changes [%d/%d done]", p.pending, p.written, p.total)
}

// close ends a round and begins a pass. Where nothing came of the round but errors that pass, the next one is its repetition. A
// run that has met with trouble may end here, so that a pass begins with the next sight only.
func (p *Progress) close() {
	p.open, p.left = false, 0
	switch {
	case p.waiting > 0 && !p.trouble:
		p.look()
	case p.waiting == 0 && !p.succeeded && p.ready > 0 && !p.ending:
		p.begin()
	}
}

// look begins a pass. If there is anything that was never seen the pass is over once that was seen: all else has been told of, and
// is told of only if it is in another state by now.
func (p *Progress) look() {
	p.pass++
	p.left, p.changed = p.waiting, false
	if p.news = p.unseen > 0; p.news {
		p.left = p.unseen
	}
	p.began = p.ui.options.Now()
	p.header("waiting on %d changes [%d/%d done]", p.waiting, p.settled, p.total)
}

// write tells of a write of the round.
func (p *Progress) write(e Event) {
	it := &p.items[e.Step]
	it.pending = false
	p.pending--
	block := []string{it.Word + " " + it.Description}
	switch {
	case e.Kind == Retried || e.Kind == GivenUp:
		block = append(block, p.ui.Paint(Faint, " ^ ")+"Retryable error: "+e.Err.Error())
	case e.Kind == Written && e.Message != "":
		block = append(block, p.ui.Paint(Faint, " ^ ")+e.Message)
	}
	if e.Kind != Retried {
		it.written = true
		p.written++
		p.ready--
	}
	p.trouble, p.over = p.trouble || e.Kind == Refused || e.Kind == GivenUp, p.over || e.Last
	if e.Kind == Written {
		it.waiting, p.succeeded = true, true
		p.waiting++
		p.unseen++
	}
	p.tell(block...)
	if p.pending == 0 {
		p.close()
	}
}

// leave takes an item out of what is counted.
func (p *Progress) leave(e Event) {
	it := &p.items[e.Step]
	if it.deferred > 0 {
		p.hold(e)
		return
	}
	it.gone, p.trouble = true, true
	if it.waiting {
		if it.pass != p.pass && p.left > 0 && p.awaits(it) {
			p.left--
		}
		it.waiting = false
		p.waiting--
		p.meet(it)
	}
	if it.freed && !it.written {
		p.ready--
	}
	if it.pending {
		it.pending = false
		if p.pending--; p.pending == 0 && p.open {
			p.close()
		}
	}
}

// hold keeps the last sight of an item until it is its turn, after what is held already.
func (p *Progress) hold(e Event) {
	it := &p.items[e.Step]
	if it.heldAt >= 0 {
		if it.held.Kind != Seen {
			return // nothing comes after the last
		}
		e.Released = e.Released || it.held.Released
		p.seen[it.heldAt] = -1
	}
	it.held, it.heldAt = e, len(p.seen)
	p.seen = append(p.seen, e.Step)
}

// settle gives everything that is held back its turn, as far as it has come.
func (p *Progress) settle() {
	for !p.open || p.fresh {
		if !p.open {
			p.release()
		}
		if !p.open {
			p.writes = slices.DeleteFunc(p.writes, func(e Event) bool { return p.items[e.Step].written || p.items[e.Step].gone })
			if len(p.writes) == 0 {
				return
			}
			p.free(p.writes[0].Step) // if the run knows better than the needs
			p.begin()
		}
		p.fresh = false
		writes := p.writes
		p.writes = nil
		for _, e := range writes {
			if it := &p.items[e.Step]; p.open && it.pending {
				it.deferred--
				p.write(e)
			} else {
				p.writes = append(p.writes, e)
			}
		}
	}
}

// release reports the sights that are held back, until one begins a round.
func (p *Progress) release() {
	seen := p.seen
	p.seen = nil
	for _, i := range seen {
		if i < 0 {
			continue
		}
		it := &p.items[i]
		e := it.held
		it.heldAt = -1
		switch {
		case p.open || it.deferred > 0 || !it.waiting && !it.written && !it.gone:
			p.hold(e)
		case it.waiting && e.Kind == Left:
			p.leave(e)
		case it.waiting && !p.over:
			p.report(e)
		}
	}
}

// awaits reports whether the pass is not over before the item was seen.
func (p *Progress) awaits(it *item) bool { return !p.news || it.pass == 0 }

// meet counts an item among those that were seen before.
func (p *Progress) meet(it *item) {
	if it.pass == 0 {
		p.unseen--
	}
}

// report tells in which state an item was seen. What is seen twice, after all were seen, or late belongs to the next pass.
func (p *Progress) report(e Event) {
	it := &p.items[e.Step]
	if it.pass == p.pass || p.left == 0 || p.ui.options.Now().Sub(p.began) >= span {
		p.look()
	}
	if p.awaits(it) {
		p.left--
	}
	p.meet(it)
	it.pass, it.last = p.pass, e
	p.show(it, e)
	p.over = p.over || e.Last
	if e.Kind == Settled {
		it.waiting, it.gone, p.changed = false, true, true
		it.last = Event{}
		p.trouble = p.trouble || e.State != "ok"
		p.waiting--
		p.settled++
	}
	if e.Released || e.Kind == Settled && e.State == "ok" {
		for _, i := range p.passing(it) {
			p.free(i)
		}
	}
	if p.left > 0 || !p.changed || p.trouble {
		return
	}
	switch {
	case p.ready > 0:
		p.begin()
	case p.waiting > 0:
		p.look()
	}
}
