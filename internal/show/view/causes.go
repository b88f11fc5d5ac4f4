package view

import (
	"fmt"
	"strings"

	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/plan"
)

// Goal returns the word for the state that a step waits for.
func Goal(op plan.Op) string {
	if op.AwaitsDeletion() {
		return "gone"
	}
	return "ready"
}

// Causes returns an indented block that says why an object is not ready: a line for each cause,
// with the end of a log below. A cause that repeats the status of the event is left out.
func Causes(e event.Event) []string {
	var lines []string
	for _, c := range e.Causes {
		line := "    "
		switch {
		case c.Object == e.Ref && c.Message == e.Status.Message:
			continue
		case c.Count > 1:
			line += fmt.Sprintf("%d %ss: ", c.Count, strings.ToLower(c.Object.Kind))
		case c.Object != e.Ref:
			line += c.Object.Short() + ": "
		}
		lines = append(lines, line+c.Message)
		for _, line := range c.Log {
			lines = append(lines, "      | "+line)
		}
	}
	return lines
}
