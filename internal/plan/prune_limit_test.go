package plan_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/muster-deploy/muster/internal/plan"
)

// A limit is a number of objects or a share of the set; without one all may be pruned.
func TestPruneLimit(t *testing.T) {
	for _, tc := range []struct {
		limit         string
		pruned, total int
		exceeded      bool
	}{
		{"", 10, 10, false}, {"0", 0, 10, false}, {"0", 1, 10, true}, {"2", 2, 10, false},
		{"2", 3, 10, true}, {"0%", 1, 10, true}, {"10%", 1, 10, false}, {"10%", 2, 10, true},
		{"33%", 1, 3, true}, {"34%", 1, 3, false}, {"100%", 3, 3, false}, {"50%", 0, 0, false},
	} {
		var l plan.PruneLimit
		if tc.limit != "" {
			if err := l.Set(tc.limit); err != nil || l.String() != tc.limit {
				t.Fatalf("%q: limit %q, error %v", tc.limit, l.String(), err)
			}
		}
		var pruned []string
		for i := range tc.pruned {
			pruned = append(pruned, fmt.Sprintf("object-%d", i))
		}
		if err := l.Check(pruned, tc.total); (err != nil) != tc.exceeded {
			t.Errorf("%q, %d of %d: error %v", tc.limit, tc.pruned, tc.total, err)
		}
	}
	for _, text := range []string{"", "-1", "x", "%", "101%", "1.5", "5 %"} {
		if err := new(plan.PruneLimit).Set(text); err == nil {
			t.Errorf("%q is a limit", text)
		}
	}
}

// The error names at most six objects.
func TestPruneLimitError(t *testing.T) {
	exceeded := &plan.PruneLimitError{Pruned: strings.Fields("a b c d e f g"), Total: 9, Limit: "1"}
	want := "7 of 9 objects would be pruned, more than --max-prune=1 allows; nothing was applied or " +
		"deleted:\n- a\n- b\n- c\n- d\n- e\n- and 2 more\n" +
		"check that no manifest is missing, or raise --max-prune"
	if text := exceeded.Error(); text != want {
		t.Errorf("got %s", text)
	}
}
