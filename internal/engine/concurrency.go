package engine

import "time"

// The limits of how many writes are under way at once.
const (
	leastAtOnce = 4
	mostAtOnce  = 128

	worth     = 1.1             // how much faster more at once has to make a run
	holdFor   = 8               // windows for which nothing is tried after what was tried did not help
	easeEvery = 2 * time.Second // many writes may be throttled at once; this counts as one event
)

// pace decides how many writes are under way at once: DefaultConcurrency at first, more as long as
// that makes the run faster, which it does where answers take their time on the way, and half as
// many when the server says that it is too much. Nothing is changed while there is less to write
// than may be.
type writeLimit struct {
	fixed bool // as many as the options say
	limit int

	throttled int64     // 429 responses so far
	eased     time.Time // when that counted last

	begun  time.Time // of the window in which writes are counted
	count  int
	rate   float64 // of the window before, in writes per second; 0 if nothing is being tried
	before int     // how many were under way in it
	hold   int     // windows to wait
}

// over records the end of a write. Throttled is the number of 429 responses so far; busy means that
// there were as many writes as the limit allows.
func (p *writeLimit) over(now time.Time, throttled int64, busy bool) {
	switch {
	case p.fixed:
	case throttled > p.throttled:
		if p.throttled = throttled; now.Sub(p.eased) >= easeEvery {
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

// ease reduces the limit: to the one before the last increase, or by half.
func (p *writeLimit) ease() {
	if p.rate > 0 {
		p.limit = p.before
		return
	}
	p.limit = max(leastAtOnce, p.limit/2)
}

// decide adapts the limit to the rate of writes in a window.
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
