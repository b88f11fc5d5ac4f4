package view

import (
	"strings"
	"time"

	"github.com/muster-deploy/muster/internal/diff"
	"github.com/muster-deploy/muster/internal/plan"
)

// Owner returns the owner of a field with its class and the time of its last change: "kubectl-edit"
// (human) since 2026-01-02T15:04:05Z.
func Owner(o diff.FieldOwner) string {
	text := `"` + o.Manager + `" (` + string(plan.ClassOf(o.Manager))
	if o.Subresource != "" {
		text += ", " + o.Subresource
	}
	text += ")"
	if !o.Since.IsZero() {
		text += " since " + o.Since.UTC().Format(time.RFC3339)
	}
	return text
}

// Owners returns the owners of a field, separated by commas.
func Owners(owners []diff.FieldOwner) string {
	texts := make([]string, len(owners))
	for i, o := range owners {
		texts[i] = Owner(o)
	}
	return strings.Join(texts, ", ")
}

// Contests returns a line for each field of an update that others own. Unchanged means that the
// update changes nothing, so that only fields that are left to their owners have a line.
func Contests(step *plan.Step, unchanged bool) (lines []string) {
	for _, c := range step.Contested {
		switch {
		case c.Left:
			lines = append(lines, c.Field+" is left to "+Owners(c.Owners))
		case !unchanged:
			lines = append(lines, c.Field+" changed by "+Owners(c.Owners))
		}
	}
	return lines
}
