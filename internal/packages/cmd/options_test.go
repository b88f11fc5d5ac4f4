package cmd

import (
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-deploy/muster/internal/cli"
)

// TestNoCauses checks that a run looks for causes only if they are printed or end it.
func TestNoCauses(t *testing.T) {
	env := &cli.Env{Args: []string{"muster"}}
	for _, test := range []struct {
		name     string
		variant  variant
		failFast bool
		want     bool
	}{
		{"native", native(env), false, false},
		{"native with --fail-fast", native(env), true, false},
		{"live", live(env, "live"), false, true},
		{"live with --fail-fast", live(env, "live"), true, false},
	} {
		f := applyFlags{failFast: test.failFast}
		if got := f.runOptions(test.variant).NoCauses; got != test.want {
			t.Errorf("%s: %t, want %t", test.name, got, test.want)
		}
	}
}

// TestStallTimeout checks which runs end without progress: native ones, unless the user limits the
// wait for each object, which may be longer.
func TestStallTimeout(t *testing.T) {
	env := &cli.Env{Args: []string{"muster"}}
	for _, test := range []struct {
		name    string
		variant variant
		args    []string
		total   time.Duration
		want    time.Duration
	}{
		{"native", native(env), nil, 0, 15 * time.Minute},
		{"no limit", native(env), []string{"--stall-timeout=0"}, 0, 0},
		{"with a limit for each object", native(env), nil, time.Hour, 0},
		{"with both", native(env), []string{"--stall-timeout=1m"}, time.Hour, time.Minute},
		{"live", live(env, "live"), nil, 0, 0},
	} {
		cmd, limit := &cobra.Command{}, stallLimit{}
		limit.add(cmd, test.variant, "reconcile-timeout")
		if err := cmd.ParseFlags(test.args); err != nil {
			t.Fatal(err)
		}
		f := applyFlags{stall: limit, reconcileTimeout: test.total}
		if got := f.runOptions(test.variant).Limits.Stall; got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
}
