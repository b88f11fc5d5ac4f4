package main

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// keepBusy starts a computation for each of count processors, beside those that this process uses
// anyway. The function that it returns ends them; the end of this process does, too.
func keepBusy(count int, compute func(ended *atomic.Bool)) (idle func()) {
	runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + count)
	var ended atomic.Bool
	var all sync.WaitGroup
	for range count {
		all.Go(func() { compute(&ended) })
	}
	return func() {
		ended.Store(true)
		all.Wait()
		runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) - count)
	}
}

// compute uses all the time that the system grants to one processor, and never waits.
func compute(ended *atomic.Bool) {
	for !ended.Load() {
	}
}
