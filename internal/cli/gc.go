package cli

import (
	"os"
	"runtime"
	"runtime/debug"
)

// gcPercent is lower than Go's default, 100: a run with thousands of objects then needs a fifth
// less memory, and a tenth more time at most.
const gcPercent = 50

// firstPercent lets the first collection wait until the heap has 16 MB: the runtime begins at 4 MB
// for 100 percent. A run with a few hundred objects would spend a fifth of its CPU on earlier ones.
const firstPercent = 400

// limitGarbage sets the target percentage of the garbage collector, unless GOGC does.
func limitGarbage() {
	if os.Getenv("GOGC") != "" {
		return
	}
	debug.SetGCPercent(firstPercent)
	runtime.SetFinalizer(new([2]*byte), func(any) { debug.SetGCPercent(gcPercent) })
}
