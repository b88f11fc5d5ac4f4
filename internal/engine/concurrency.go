package engine

import "time"

// The limits of how many writes are under way at once.
const (
	leastAtOnce = 4
	mostAtOnce  = 128

	worth     = 1.1             // how much faster more at once has to make a run
	holdFor   = 8               // windows for which nothing is tried after what was tried did not help
	easeEvery = 2 * time.Second // the server says of everything that is under way that it is too much: that counts once
)

// pace decides how many writes are under way at once: DefaultConcurrency at first, more as long as that makes the run faster, which
// it does where answers take their time on the way, and half as many when the server says that it is too much. Nothing is
// changed while there is less to write than may be.
type writeLimit struct {
	fixed bool // as many as the options say
	limit int

	told  int64     // how often the server had said that it is too much
	eased time.Time // when that counted last

	begun  time.Time // of the window in which writes are counted
	count  int
	rate   float64 // of the window before, in writes per second; 0 if nothing is being tried
	before int     // how many were under way in it
	hold   int     // windows to wait
}

// over takes in that a write is over. Told is how often the server has said so far that it is too much, and busy is whether there were
// as many writes as may be.
func (p *writeLimit) over(now time.Time, told int64, busy bool) {
	switch {
	case p.fixed:
	case told > p.told:
		if p.told = told; now.Sub(p.eased) >= easeEvery {
			p.eased = now
			p.ease()
		}
		p.count, p.rate, p.hold = 0, 0, holdFor
	case !busy:
		p.count = 0
	case p.count == 0:
		p.begun, p.count = now, 1
	case p.count < 2*p.limit || !now.After(p.begun):
		p.count++
	default:
		p.decide(float64(p.count) / now.Sub(p.begun).Seconds())
		p.count = 0
	}
}

// ease has fewer under way: what there were before more was tried, or else half as many.
func (p *writeLimit) ease() {
	if p.rate > 0 {
		p.limit = p.before
		return
	}
	p.limit = max(leastAtOnce, p.limit/2)
}

// decide takes in how many writes per second there were in a window.
func (p *writeLimit) decide(rate float64) {
	switch {
	case p.hold > 0:
		p.hold--
	case p.rate > 0 && rate < worth*p.rate:
		p.limit, p.rate, p.hold = p.before, 0, holdFor
	case p.limit < mostAtOnce:
		p.rate, p.before, p.limit = rate, p.limit, min(mostAtOnce, p.limit*3/2)
	}
}
