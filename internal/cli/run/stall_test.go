package run

import (
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-deploy/muster/internal/base/limit"
)

// TestStallTimeout checks which runs end without progress: all, unless the user limits the wait for
// each object, which may be longer.
func TestStallTimeout(t *testing.T) {
	for _, test := range []struct {
		name  string
		args  []string
		total time.Duration
		want  time.Duration
	}{
		{"default", nil, 0, 15 * time.Minute},
		{"no limit", []string{"--stall-timeout=0"}, 0, 0},
		{"with a limit for each object", nil, time.Hour, 0},
		{"with both", []string{"--stall-timeout=1m"}, time.Hour, time.Minute},
	} {
		cmd, stall := &cobra.Command{}, stallLimit{}
		stall.add(cmd, "reconcile-timeout")
		if err := cmd.ParseFlags(test.args); err != nil {
			t.Fatal(err)
		}
		if got := stall.value(test.total); got != limit.OfFlag(test.want) {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
}
