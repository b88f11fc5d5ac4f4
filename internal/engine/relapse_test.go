package engine_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-deploy/muster/internal/base/limit"
	"github.com/muster-deploy/muster/internal/testing/enginetest"
)

// A workload that is ready and crashes while others are waited for is waited for again: the run
// does not succeed, and prunes nothing, before it is ready once more.
func TestWorkloadsThatRelapseAreAwaited(t *testing.T) {
	const crash, other = 5 * time.Second, 20 * time.Second
	for name, c := range map[string]struct {
		back         time.Duration // when the pod of the workload is ready again; 0 for never
		took         time.Duration
		again, fails bool
	}{
		"for ever":           {0, 82500 * time.Millisecond, true, true},
		"back after others":  {25 * time.Second, 35 * time.Second, true, false},
		"back a moment ago":  {15 * time.Second, 25 * time.Second, true, false},
		"back for long":      {8 * time.Second, other + 2500*time.Millisecond, false, false},
		"back in the moment": {other, 30 * time.Second, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(&enginetest.Cluster{})
				old := want(thing("ConfigMap/old"))
				if _, err := w.apply(t.Context(), policy(), within(1), old...); err != nil {
					t.Fatal(err)
				}
				w.lines = nil
				began := time.Now()
				go func() {
					time.Sleep(time.Second)
					w.becomeReady("StatefulSet/a", nil)
					w.Put(w.runningPod("StatefulSet/a", time.Now(), 0))
					time.Sleep(crash - time.Second)
					w.becomeReady("StatefulSet/a", map[string]any{"readyReplicas": int64(0),
						"availableReplicas": int64(0)})
					if c.back > 0 {
						time.Sleep(c.back - crash)
						w.Put(w.restarted("StatefulSet/a", 0))
						w.becomeReady("StatefulSet/a", nil)
					}
				}()
				go func() {
					time.Sleep(other)
					w.becomeReady("StatefulSet/b", nil)
				}()
				a, b := thing("StatefulSet/a"), thing("StatefulSet/b")
				a.Object["spec"] = replayed(false, 1).Object["spec"]
				b.Object["spec"] = replayed(false, 1).Object["spec"]
				o := podsRun
				o.Limits.Apply = limit.After(time.Minute)
				summary, err := w.apply(t.Context(), policy(), o, want(a, b)...)
				if err != nil || summary.Failures() > 0 != c.fails {
					t.Errorf("%d failures, error %v", summary.Failures(), err)
				}
				if took := time.Since(began).Truncate(500 * time.Millisecond); took != c.took {
					t.Errorf("the run took %s, want %s", took, c.took)
				}
				waits := 0
				for _, line := range w.lines {
					if strings.HasPrefix(line, "waiting create statefulset.apps/a") {
						waits++
					}
				}
				if again := waits == 2; again != c.again {
					t.Errorf("waited for %d times:\n%s", waits, strings.Join(w.lines, "\n"))
				}
				pruned := slices.ContainsFunc(w.lines, func(line string) bool {
					return strings.HasPrefix(line, "acted delete configmap/old succeeded")
				})
				if pruned == c.fails {
					t.Errorf("pruned: %t:\n%s", pruned, strings.Join(w.lines, "\n"))
				}
			})
		})
	}
}
