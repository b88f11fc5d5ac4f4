package engine

import (
	"testing"
	"time"
)

// More at once is given up where it makes nothing faster, and a burst of refusals counts once.
func TestPaceDecides(t *testing.T) {
	now := time.Unix(0, 0)
	p := &writeLimit{limit: DefaultConcurrency}
	met := map[int]int{}
	for range 20000 { // a server that has no more to give
		now = now.Add(time.Millisecond)
		p.over(now, 0, true)
		met[p.limit]++
	}
	if len(met) != 2 || met[48] > met[32]/4 {
		t.Errorf("under way at once, for so many writes: %v", met)
	}
	expect := func(want int) {
		t.Helper()
		if p.limit != want {
			t.Errorf("%d at once, want %d", p.limit, want)
		}
	}
	p = &writeLimit{limit: 32}
	for printed := range int64(20) {
		now = now.Add(10 * time.Millisecond)
		p.over(now, printed+1, true)
	}
	expect(16)
	for printed := range int64(5) {
		now = now.Add(easeEvery)
		p.over(now, printed+21, true)
	}
	expect(leastAtOnce)
	for range 1000 {
		now = now.Add(time.Second / time.Duration(p.limit))
		p.over(now, 25, false)
	}
	expect(leastAtOnce)
	for range 10000 { // each takes a second, however many there are
		now = now.Add(time.Second / time.Duration(p.limit))
		p.over(now, 25, true)
	}
	expect(mostAtOnce)
	p = &writeLimit{limit: 5, fixed: true}
	p.over(now, 7, true)
	expect(5)
}
