package cmd

import (
	"fmt"
	"strings"

	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/packages"
	"github.com/muster-deploy/muster/internal/view"
)

// statusLine formats the status of an object, with its causes in the next lines.
func statusLine(m *packages.StatusTargets, e event.Event) string {
	name := e.Ref.Short()
	if m.Remote {
		name = inventoryPaths(m, e.Ref) + ": " + e.Ref.String()
	}
	line := fmt.Sprintf("%s is %s: %s", name, e.Status.State, e.Status.Message)
	return strings.Join(append([]string{line}, view.Causes(e)...), "\n")
}

// inventoryPaths returns the namespaces and names of the inventories of an object.
func inventoryPaths(m *packages.StatusTargets, ref object.Ref) string {
	names := make([]string, len(m.Owners[ref]))
	for i, inv := range m.Owners[ref] {
		names[i] = inv.Namespace + "/" + inv.Name
	}
	return strings.Join(names, ", ")
}
