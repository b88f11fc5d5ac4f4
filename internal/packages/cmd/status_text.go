package cmd

import (
	"fmt"
	"strings"

	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/view"
)

// plainStatus is the native line for the status of an object, with its causes below.
func plainStatus(m *members, e event.Event) string {
	name := e.Ref.Short()
	if m.remote {
		name = m.of(e.Ref) + ": " + e.Ref.String()
	}
	line := fmt.Sprintf("%s is %s: %s", name, e.Status.State, e.Status.Message)
	return strings.Join(append([]string{line}, view.Causes(e)...), "\n")
}

// liveStatus is the line of kpt live, one for each inventory: it names the inventory, and the namespace even where there is
// none.
func liveStatus(m *members, e event.Event) string {
	kind, name, _ := strings.Cut(e.Ref.Short(), "/")
	var lines []string
	for _, inventory := range m.inventories(e.Ref) {
		lines = append(lines, fmt.Sprintf("%s/%s/%s/%s is %s: %s", inventory.Name, kind, e.Ref.Namespace, name, e.Status.State, e.Status.Message))
	}
	return strings.Join(lines, "\n")
}
