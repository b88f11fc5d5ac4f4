package look

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/muster-deploy/muster/internal/feature/livetree"
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
