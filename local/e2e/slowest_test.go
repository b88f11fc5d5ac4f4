package e2e

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"
)

// slowestShown is how many scripts a run prints at its end.
const slowestShown = 10

// durations holds how long each script of this run took.
var durations struct {
	sync.Mutex
	of map[string]time.Duration
}

// recordDuration records how long a script took that began at a time.
func recordDuration(script string, began time.Time) {
	durations.Lock()
	defer durations.Unlock()
	if durations.of == nil {
		durations.of = map[string]time.Duration{}
	}
	durations.of[script] = time.Since(began)
}

// printSlowest prints the slowest scripts, the slowest first.
func printSlowest(w io.Writer) {
	durations.Lock()
	defer durations.Unlock()
	names := make([]string, 0, len(durations.of))
	for name := range durations.of {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(durations.of[b], durations.of[a]), cmp.Compare(a, b))
	})
	if len(names) > 0 {
		fmt.Fprintln(w, "slowest scripts:")
	}
	for _, name := range names[:min(len(names), slowestShown)] {
		fmt.Fprintf(w, "%8.1fs  %s\n", durations.of[name].Seconds(), name)
	}
}
