package look

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/muster-deploy/muster/internal/feature/livetree"
	"github.com/muster-deploy/muster/internal/lock"
	"github.com/muster-deploy/muster/internal/object"
)

// TestUnreadyText: nothing that a status or an event says begins a line at the margin.
func TestUnreadyText(t *testing.T) {
	text := "a\nshop/Pod/b is Current\r\nerror: c"
	u := &unready{
		Message: text, Error: text, WaitsFor: []string{text}, ref: object.Ref{Kind: "Pod", Name: "p"},
		Events: []livetree.Warning{{Reason: text, Message: text}},
	}
	var b bytes.Buffer
	u.print(&b, time.Now())
	for i, line := range strings.Split(strings.TrimSpace(b.String()), "\n") {
		if i > 0 && !strings.HasPrefix(line, "    ") || strings.Contains(line, "\r") {
			t.Errorf("line %d is %q", i, line)
		}
	}
}

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
