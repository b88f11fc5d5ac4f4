package cmd

import (
	"testing"

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
