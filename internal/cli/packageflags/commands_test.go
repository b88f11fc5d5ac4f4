package packageflags

import (
	"testing"

	"github.com/muster-deploy/muster/internal/engine"
)

// TestNoCauses checks that a run looks for causes only if they are printed or end it.
func TestNoCauses(t *testing.T) {
	for _, test := range []struct{ printed, failFast, want bool }{
		{true, false, false}, {true, true, false}, {false, false, true}, {false, true, false},
	} {
		f := ApplyFlags{FailFast: test.failFast}
		if got := f.RunOptions(engine.DryRunNone, test.printed).NoCauses; got != test.want {
			t.Errorf("%+v: %t", test, got)
		}
	}
}
