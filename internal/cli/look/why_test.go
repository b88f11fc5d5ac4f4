package look

import (
	"testing"
	"time"

	"github.com/muster-deploy/muster/internal/lock"
)

// A run that has not renewed its lock for as long as locks last is not called one in progress.
func TestRunText(t *testing.T) {
	now := time.Unix(1e9, 0)
	holder := lock.Holder{
		User: "ann", Host: "laptop", Command: "apply", Since: now.Add(-2 * time.Minute),
	}
	for _, tc := range []struct {
		renewed time.Duration
		want    string
	}{
		{-time.Second, "a run is in progress: ann@laptop (apply, since 2m)"}, // another clock
		{lock.Duration, "a run is in progress: ann@laptop (apply, since 2m)"},
		{time.Minute, "a run was killed or is cut off: ann@laptop (apply, since 2m); it renewed its " +
			"lock 60s ago"},
	} {
		got := runText(&lock.Info{Holder: holder, Renewed: now.Add(-tc.renewed)}, now)
		if got != tc.want {
			t.Errorf("renewed %s ago: %s", tc.renewed, got)
		}
	}
}
